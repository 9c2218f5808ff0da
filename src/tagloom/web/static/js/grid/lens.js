/** The lens on one tag: photos by its likelihood, one key to accept, one to reject. */

import { lensPath } from "../ui/bar.js";
import { decide, markPaint } from "../ui/decide.js";
import { button, h, meter } from "../ui/dom.js";
import { count, percent } from "../ui/format.js";
import { stateOfPhoto } from "./cell.js";
import { acceptAbove, openAbove } from "./lens-above.js";
import { tagMenu } from "./tag-menu.js";
import { firstPaint, PhotoList } from "./photo-list.js";
import { go, setQuery } from "../ui/router.js";
import { TagSide } from "./side.js";
import { store } from "../net/state.js";
import { TagBox } from "../ui/tags.js";
import { remember } from "../ui/theme.js";
import { openWhy } from "../photo/why.js";

const VIEWS = [
  ["unreviewed", "Undecided"],
  ["has", "Accepted"],
  ["rejected", "Rejected"],
  ["conflicts", "Conflicts"],
  ["any", "All"],
];
const SORTS = [
  ["score", "Most likely"],
  ["uncertainty", "Least certain"],
];

/** One tag, all photos. */
export class LensPage {
  tag = null;
  #state = "unreviewed";
  #sort = "score";
  #stacks = false;

  constructor() {
    this.list = new PhotoList();
    this.list.showsTag = true;
    this.side = new TagSide();
    this.heading = h("h1");
    this.counts = h("p", { class: "muted num" });
    this.above = h("p", { class: "muted num" });
    this.#makeBar();
    this.list.addEventListener("chosen", () => this.#drawAbove());
    this.list.addEventListener("loaded", () => this.#loaded());
    this.page = h(
      "section",
      { class: "page", "aria-label": "Tag lens", "data-testid": "lens" },
      this.#head(),
      this.list.parts,
    );
    this.without = this.#makeWithout();
    this.element = h("div", { class: "with-side" }, this.side.element, this.page, this.without);
    store.addEventListener("learned", ({ detail }) => this.#learned(detail));
    store.addEventListener("project", () => this.#drawCounts());
    store.addEventListener("cells", () => this.element.isConnected && this.#drawAbove());
  }

  /** What to do while there is no tag. */
  #makeWithout() {
    const teach = button("Teach the first tag", () => go("/teach", { query: { mode: "new" } }), {
      kind: "primary",
      icon: "teach",
      testid: "teach-first",
    });
    const text = "Lens shows the photos of one tag, the likeliest first. There is no tag yet.";
    const more = "Name one and mark five photos that show it. tagloom then finds the others.";
    return h(
      "section",
      { class: "page", "aria-label": "Tag lens", "data-testid": "lens-empty", hidden: true },
      h(
        "div",
        { class: "empty" },
        h("h1", { text: "Lens" }),
        h("p", { text }),
        h("p", { class: "muted", text: more }),
        teach,
      ),
    );
  }

  get title() {
    if (this.tag === null) return "Lens";
    return `${store.tagText(this.tag)} – lens`;
  }

  #head() {
    const picker = new TagBox({
      label: "Go to tag",
      placeholder: "Another tag…",
      testid: "lens-tag",
      pick: (tag) => go(`/tag/${tag}`),
    });
    this.views = this.#segment("Which photos", "state", VIEWS);
    this.sorts = this.#segment("Order", "sort", SORTS);
    this.stacks = h("input", { type: "checkbox", on: { change: () => this.#set({ stacks: this.stacks.checked }) } });
    const rename = button("Rename, merge …", () => tagMenu(this.tag), { kind: "plain" });
    const title = h("div", { class: "lens-title" }, this.heading, rename, this.counts);
    const stacks = h("label", { class: "check" }, this.stacks, "Stacks");
    const spacer = h("span", { class: "spacer" });
    const bar = h("div", { class: "filters" }, this.views, this.sorts, stacks, spacer, picker.element);
    return h("header", { class: "lens-head" }, title, bar);
  }

  #segment(label, name, choices) {
    const buttons = choices.map(([value, text]) => {
      const node = button(text, () => this.#set({ [name]: value }), { kind: "choice" });
      node.dataset.value = value;
      return node;
    });
    return h("div", { class: "segment", role: "group", "aria-label": label }, buttons);
  }

  #makeBar() {
    this.list.bar.append(
      this.above,
      button("Accept all above", () => this.actions.acceptAbove(), { key: "A", testid: "accept-above" }),
      button("Reject", () => this.actions.reject(), { icon: "cross", key: "r", testid: "reject" }),
      button("Accept", () => this.actions.accept(), { icon: "check", key: "a", kind: "primary", testid: "accept" }),
    );
    this.list.empty.append(
      h("p", { "data-empty": true }),
      button("Show all photos", () => this.#set({ state: "any" })),
    );
  }

  /** @param {import("../ui/router.js").Place} place */
  enter({ id, query }) {
    const photo = store.lastPhoto;
    store.lastPhoto = null;
    this.page.hidden = id === null;
    this.without.hidden = id !== null;
    if (id === null) return this.#enterWithout();
    const { state = "unreviewed", sort = "score", stacks } = query;
    const isSame = id === this.tag && state === this.#state && sort === this.#sort && Boolean(stacks) === this.#stacks;
    if (isSame && this.list.isShown) {
      if (photo) this.list.focusPhoto(photo);
      else this.list.grid.takeFocus();
      return;
    }
    this.tag = id;
    remember("tagloom-lens", String(id));
    this.#set({ state, sort, stacks: Boolean(stacks) }, photo);
  }

  #enterWithout() {
    this.tag = this.side.current = null;
    // A tag may have come from elsewhere since.
    if (store.listed.length) return go(lensPath(), { replace: true });
    this.without.querySelector("button").focus();
    firstPaint();
  }

  #set(change, select = null) {
    this.#state = change.state ?? this.#state;
    this.#sort = change.sort ?? this.#sort;
    this.#stacks = change.stacks ?? this.#stacks;
    this.stacks.checked = this.#stacks;
    setQuery({
      state: this.#state === "unreviewed" ? null : this.#state,
      sort: this.#sort === "score" ? null : this.#sort,
      stacks: this.#stacks ? 1 : null,
    });
    press(this.views, this.#state);
    press(this.sorts, this.#sort);
    this.side.current = this.tag;
    this.#drawCounts();
    return this.list.load(
      { sort: this.#sort, tag: this.tag, state: this.#state, stacks: this.#stacks ? 1 : null },
      { focus: true, select },
    );
  }

  #loaded() {
    this.list.empty.querySelector("[data-empty]").textContent =
      this.#state === "unreviewed"
        ? `Every photo has been decided for “${store.tagText(this.tag)}”.`
        : "There is no such photo for this tag.";
    this.#drawAbove();
  }

  #learned({ tags }) {
    if (this.tag === null || (tags && !tags.includes(this.tag))) return;
    // The first numbers of a new tag: nothing is ranked yet, so nothing can move under the cursor.
    const isFirst = !this.list.grid.values?.some((value) => Number.isFinite(value));
    if (isFirst && this.element.isConnected) this.list.refresh();
    else this.list.markStale();
  }

  #drawCounts() {
    if (this.tag === null) return;
    const tag = store.tags.get(this.tag);
    this.heading.textContent = store.tagText(this.tag);
    const { n_yes: yes = 0, n_no: no = 0, n_suggested: open = 0 } = tag ?? {};
    const done = yes + no;
    this.counts.replaceChildren(
      `${count(yes)} accepted, ${count(no)} rejected, ${count(open)} suggested`,
      meter(done / Math.max(1, done + open)),
    );
  }

  #drawAbove() {
    const { grid } = this.list;
    if (!this.list.isShown || this.#sort !== "score" || !grid.values) return this.above.replaceChildren();
    const { n, sum } = openAbove(grid);
    const isProbability = store.project.kind === "probability";
    this.above.textContent = n
      ? `${count(n)} undecided above${isProbability ? `, about ${percent(sum / n)} correct` : ""}`
      : "";
  }

  #decide(state) {
    markPaint();
    const { grid } = this.list;
    // The tag of the photos on the screen; that of the heading may be one whose photos have not come.
    const { tag } = grid.context;
    const many = grid.selection.size > 0;
    if (this.list.withChosen((photos) => decide(photos, [tag], state, "suggested")) === false) return;
    if (many) grid.clearSelection();
    // Among open photos, one that was decided while its order was on the way is not asked again.
    else if (this.#state !== "unreviewed" || !this.#nextOpen()) grid.moveTo(grid.active + 1);
  }

  #nextOpen() {
    const { grid } = this.list;
    for (let index = grid.active + 1; index < grid.ids.length; index += 1) {
      if (stateOfPhoto(grid.ids[index], grid.context.tag) !== "open") continue;
      grid.moveTo(index);
      return true;
    }
    return false;
  }

  get actions() {
    return {
      ...this.list.actions,
      accept: () => this.#decide(1),
      reject: () => this.#decide(0),
      acceptAbove: () => acceptAbove(this.list, this.#sort),
      nextOpen: () => this.#nextOpen(),
      why: () => this.list.grid.activeId !== null && openWhy(this.list.grid.activeId, this.list.grid.context.tag),
    };
  }
}

function press(segment, value) {
  for (const node of segment.children) node.setAttribute("aria-pressed", String(node.dataset.value === value));
}
