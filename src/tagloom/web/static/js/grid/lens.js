/** The lens on one tag: photos by its likelihood, one key to accept, one to reject, one for all above. */

import * as api from "../net/api.js";
import { outbox } from "../net/outbox.js";
import { store } from "../net/state.js";
import { openWhy } from "../photo/why.js";
import { lensPath } from "../ui/bar.js";
import { decide } from "../ui/decide.js";
import { openDialog } from "../ui/dialog.js";
import { button, firstPaint, h, markPaint, meter } from "../ui/dom.js";
import { count, percent, plural, strength } from "../ui/format.js";
import { go, setQuery } from "../ui/router.js";
import { TagBox } from "../ui/tags.js";
import { remember } from "../ui/theme.js";
import { complain, toast } from "../ui/toast.js";
import { stateOfPhoto } from "./cell.js";
import { PhotoList } from "./photo-list.js";
import { TagSide } from "./side.js";
import { tagMenu } from "./tag-menu.js";

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
    const text = "The lens shows the photos of one tag, likeliest first. You have no tags yet.";
    const more = "Name a tag and mark five photos that show it. tagloom then finds the others.";
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
        : "No photos match.";
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

const DOUBTFUL = 6;

/**
 * Open photos from the top of the order to the cursor, as far as this tab knows, and the sum of their probabilities.
 * Where a photo stands for its stack, all of the stack that is open counts.
 * @param {import("./grid.js").Grid} grid
 * @returns {{n: number, sum: number}}
 */
function openAbove(grid) {
  const { tag, stacks } = grid.context;
  const isOpen = (id) => stateOfPhoto(id, tag) === "open";
  let n = 0;
  let sum = 0;
  for (let index = 0; index <= grid.active && index < grid.ids.length; index += 1) {
    const id = grid.ids[index];
    if (!isOpen(id) || !Number.isFinite(grid.values[index])) continue;
    const others = stacks ? (store.cells.get(id)?.stack ?? []).filter((other) => other !== id && isOpen(other)) : [];
    n += 1 + others.length;
    sum += (1 + others.length) * grid.values[index];
  }
  return { n, sum };
}

/**
 * Ask, then accept. What is open is read from the server first, and again after the question, so that nothing a person
 * rejected is accepted by it.
 * @param {import("./photo-list.js").PhotoList} list
 * @param {string} sort
 */
async function acceptAbove(list, sort) {
  const { grid } = list;
  if (!list.isShown) return list.refuse();
  if (sort !== "score" || !grid.values) return toast("To accept all above, sort by “Most likely”.");
  const { ids } = grid;
  const { tag } = grid.context;
  const above = await openOnServer(grid).catch(complain);
  if (!above) return;
  if (grid.ids !== ids) return toast("The order has changed; nothing was accepted. Try again.");
  if (!above.size) return toast("Nothing undecided above.");
  if (!(await ask(tag, above))) return;
  const open = await openPhotos(tag).catch(complain);
  if (!open) return;
  const still = [...above.keys()].filter((id) => open.has(id));
  if (!still.length) return toast("Nothing undecided above any more.");
  decide(still, [tag], 1, "suggested");
}

/** The open photos of a tag with their numbers, as the server knows them now. @returns {Promise<Map<number, number>>} */
async function openPhotos(tag) {
  await outbox.settled();
  const order = await api.ranking({ sort: "score", tag, state: "unreviewed" });
  return new Map(Array.from(order.ids, (id, at) => [id, order.values?.[at]]));
}

/** The open photos down to the cursor with their numbers, the others of their stacks after them. */
async function openOnServer({ ids, values, active, context: { tag, stacks } }) {
  const open = await openPhotos(tag);
  const above = new Map();
  for (let index = 0; index <= active; index += 1) {
    if (open.has(ids[index]) && Number.isFinite(values[index])) above.set(ids[index], values[index]);
  }
  if (!stacks) return above;
  const cells = await store.cellsOf([...above.keys()]);
  for (const [id, value] of [...above]) {
    for (const other of cells.get(id).stack ?? []) {
      if (!above.has(other) && open.has(other))
        above.set(other, Number.isFinite(open.get(other)) ? open.get(other) : value);
    }
  }
  return above;
}

function ask(tag, above) {
  const { kind } = store.project;
  const n = above.size;
  const mean = [...above.values()].reduce((sum, value) => sum + value, 0) / n;
  const wrong = Math.round((1 - mean) * n);
  const lowest = [...above].sort(([, a], [, b]) => a - b).slice(0, DOUBTFUL);
  return openDialog(`Accept “${store.tagText(tag)}” on ${plural(n, "photo")}?`, (close) => ({
    body: [
      kind === "probability"
        ? h(
            "p",
            { "data-testid": "expected-precision" },
            "Expected precision ",
            h("strong", { text: percent(mean) }),
            `: about ${count(wrong)} of ${count(n)} may be wrong.`,
          )
        : h("p", { text: "These are scores, not probabilities: their precision is unknown." }),
      h("h3", { text: "The least certain of them" }),
      h(
        "div",
        { class: "strip" },
        lowest.map(([id, value]) => doubtful(id, value, kind)),
      ),
    ],
    foot: [
      button("Cancel", () => close(false)),
      button("Accept", () => close(true), { kind: "primary", icon: "check", testid: "confirm" }),
    ],
  }));
}

function doubtful(id, value, kind) {
  const image = h("img", { alt: "" });
  store.cell(id).then((cell) => {
    if (!cell) return;
    image.src = cell.thumb;
    image.alt = cell.name;
  });
  return h("figure", {}, image, h("figcaption", { class: "num", text: strength(value, kind) }));
}
