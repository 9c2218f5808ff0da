/** Teaching: one question after the other, or a new tag from a few examples. */

import { button, h } from "../ui/dom.js";
import { trainOffer } from "../ui/jobs.js";
import { setQuery } from "../ui/router.js";
import { store } from "../net/state.js";
import { TagBox } from "../ui/tags.js";
import { TeachExamples } from "./examples.js";
import { TeachQueue } from "./queue.js";

/** The page with both ways to teach. */
export class TeachPage {
  title = "Teach";

  constructor() {
    this.queue = new TeachQueue();
    this.examples = new TeachExamples();
    this.about = h("span", { class: "pill", hidden: true });
    this.picker = new TagBox({
      label: "Ask about one tag",
      placeholder: "About any tag",
      testid: "teach-tag",
      pick: (tag) => this.#show({ tag }),
    });
    this.modes = h(
      "div",
      { class: "segment", role: "group", "aria-label": "How to teach" },
      this.#mode("What to label next", null),
      this.#mode("A new tag", "new"),
    );
    const bar = h(
      "div",
      { class: "filters" },
      h("h1", { text: "Teach" }),
      this.modes,
      h("span", { class: "spacer" }),
      this.about,
      this.picker.element,
    );
    this.element = h(
      "section",
      { class: "page", "aria-label": "Teach" },
      bar,
      trainOffer(),
      this.queue.element,
      this.examples.element,
    );
  }

  #mode(label, mode) {
    const node = button(label, () => this.#show({ mode }), {
      kind: "choice",
      testid: mode === "new" ? "new-tag" : null,
    });
    node.dataset.mode = mode ?? "";
    return node;
  }

  /** @param {import("../ui/router.js").Place} place */
  enter({ query }) {
    this.#show(query);
  }

  #show({ mode = null, tag = null }) {
    const id = tag === null ? null : Number(tag);
    this.mode = mode;
    setQuery({ mode, tag: id });
    for (const node of this.modes.children)
      node.setAttribute("aria-pressed", String(node.dataset.mode === (mode ?? "")));
    const isNew = mode === "new";
    this.queue.element.hidden = isNew;
    this.examples.element.hidden = !isNew;
    this.picker.element.hidden = isNew;
    this.about.hidden = isNew || id === null;
    this.about.replaceChildren(
      id === null ? "" : store.tagText(id),
      button("Ask about any tag", () => this.#show({}), { only_icon: true, icon: "cross" }),
    );
    if (isNew) this.examples.start(id);
    else this.queue.start(id);
  }

  /** @param {KeyboardEvent} event @returns {boolean} */
  key(event) {
    return this.mode !== "new" && this.queue.key(event);
  }

  get actions() {
    return this.mode === "new" ? this.examples.actions : this.queue.actions;
  }
}
