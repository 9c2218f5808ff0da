/** A new tag from a handful of examples: name it, mark five photos, look at what the model makes of it. */

import { decide } from "../ui/decide.js";
import { button, enable, firstPaint, h, markPaint } from "../ui/dom.js";
import { plural } from "../ui/format.js";
import { PhotoList } from "../grid/photo-list.js";
import { go, setQuery } from "../ui/router.js";
import { store } from "../net/state.js";
import { TagBox } from "../ui/tags.js";
import { toast } from "../ui/toast.js";

const ENOUGH = 5;
const TYPING_MS = 250;

/** Asks for a name, then for examples. */
export class TeachExamples {
  #tag = null;
  #examples = new Set();
  #timer = 0;

  constructor() {
    this.list = new PhotoList();
    this.list.showsTag = true;
    this.list.bar.append(
      button("Not this", () => this.#mark(0), { icon: "cross", key: "r" }),
      button("Example", () => this.#mark(1), { icon: "check", key: "a", kind: "primary" }),
    );
    this.list.empty.append(h("p", { text: "No photos match." }));
    this.ask = this.#makeAsk();
    this.pick = h("div", { class: "page" }, this.#makeBar(), this.list.parts);
    this.element = h("div", { class: "page" }, this.ask, this.pick);
    store.addEventListener("learned", ({ detail }) => this.#learned(detail));
    store.addEventListener("stale", ({ detail }) => detail === null && this.#recount());
  }

  #makeAsk() {
    this.name = new TagBox({
      label: "Name of the new tag",
      placeholder: "Name the new tag",
      create: true,
      quiet: true,
      single: true,
      testid: "new-tag-name",
      pick: (tag) => this.start(tag),
    });
    const text = "Give the tag a name, then mark five photos that show it. tagloom then suggests it for others.";
    const heading = h("h2", { text: "What should it learn to see?" });
    return h("div", { class: "new-tag" }, heading, h("p", { class: "muted", text }), this.name.element);
  }

  #makeBar() {
    this.heading = h("h2");
    const dots = Array.from({ length: ENOUGH }, () => h("span"));
    this.dots = h("span", { class: "dots", "aria-hidden": "true" }, dots);
    this.count = h("span", { class: "muted num", role: "status" });
    this.search = h("input", {
      class: "input",
      type: "search",
      placeholder: "Narrow by words",
      "aria-label": "Narrow by words",
      on: { input: () => this.#searchSoon() },
    });
    this.see = button("See suggestions", () => go(`/tag/${this.#tag}`), { kind: "primary", testid: "see-suggestions" });
    const spacer = h("span", { class: "spacer" });
    return h("div", { class: "filters" }, this.heading, this.dots, this.count, spacer, this.search, this.see);
  }

  /** @param {number | null} tag null asks for its name first */
  start(tag) {
    this.#tag = tag;
    this.#examples.clear();
    this.ask.hidden = tag !== null;
    this.pick.hidden = tag === null;
    if (tag === null) {
      firstPaint();
      return this.name.input.focus();
    }
    // A hidden field loses the focus only with the next frame; until then the list would take it for somebody typing.
    this.name.input.blur();
    setQuery({ mode: "new", tag });
    this.heading.textContent = store.tagText(tag);
    this.#draw();
    this.list.load({ sort: "path", tag }, { focus: true });
  }

  #searchSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.list.load({ sort: "path", tag: this.#tag, q: this.search.value.trim() }),
      TYPING_MS,
    );
  }

  #mark(state) {
    markPaint();
    const { grid } = this.list;
    const isDone = this.#tag !== null && this.list.withChosen((photos) => this.#say(photos, state));
    if (!isDone) return;
    if (grid.selection.size) grid.clearSelection();
    else grid.moveTo(grid.active + 1);
    this.#draw();
  }

  #say(photos, state) {
    if (!decide(photos, [this.#tag], state)) return false;
    for (const id of photos) state === 1 ? this.#examples.add(id) : this.#examples.delete(id);
    return true;
  }

  #recount() {
    for (const id of [...this.#examples]) if (!store.cells.get(id)?.yes.includes(this.#tag)) this.#examples.delete(id);
    this.#draw();
  }

  #draw() {
    const n = Math.max(this.#examples.size, store.tags.get(this.#tag)?.n_yes ?? 0);
    [...this.dots.children].forEach((dot, at) => dot.classList.toggle("on", at < n));
    this.count.textContent = n < ENOUGH ? `${plural(ENOUGH - n, "more example")}` : plural(n, "example");
    enable(this.see, n >= 1);
  }

  async #learned({ tags }) {
    const tag = this.#tag;
    if (tag === null || !this.element.isConnected || this.#examples.size !== ENOUGH) return;
    if (tags && !tags.includes(tag)) return;
    // Whether any photo is above the limit is known to the server only; all photos are ranked in any case.
    await store.loadProject().catch(() => {});
    if (tag !== this.#tag || !this.element.isConnected) return;
    const said = store.tags.get(tag)?.n_suggested
      ? "has suggestions now"
      : "is ranked now, likeliest photos first";
    toast(`“${store.tagText(tag)}” ${said}.`, { action: { label: "See them", run: () => go(`/tag/${tag}`) } });
  }

  get actions() {
    return {
      ...this.list.actions,
      accept: () => this.#mark(1),
      reject: () => this.#mark(0),
      back: () => (this.list.grid.selection.size ? this.list.grid.clearSelection() : go("/teach", { replace: true })),
    };
  }
}
