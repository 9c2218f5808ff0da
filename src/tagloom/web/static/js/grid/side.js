/** The list of tags beside the photos: the way into the lens. */

import { h } from "../ui/dom.js";
import { count, plural } from "../ui/format.js";
import { trainOffer } from "../ui/jobs.js";
import { store } from "../net/state.js";
import { matches } from "../ui/tags.js";
import { thresholdControl } from "./threshold.js";

const MOST = 150;

/** Tags with most open suggestions first. The order is made once, so that names never move under the pointer. */
export class TagSide {
  #order = [];
  #current = null;

  constructor() {
    this.input = h("input", {
      class: "input",
      type: "search",
      placeholder: "Find a tag",
      "aria-label": "Find a tag",
      on: { input: () => this.#draw() },
    });
    this.list = h("ul", { class: "side-list" });
    this.element = h(
      "div",
      { class: "side" },
      thresholdControl(),
      trainOffer(),
      h("nav", { class: "side-tags", "aria-label": "Tags" }, this.input, this.list),
    );
    store.addEventListener("project", () => this.#draw());
    if (store.tags.size) this.#draw();
  }

  /** @param {number | null} tag the one the lens is on */
  set current(tag) {
    this.#current = tag;
    this.#draw();
  }

  #draw() {
    const typed = this.input.value.trim();
    const tags = typed ? matches(typed, store.listed).map(({ tag }) => tag) : this.#sorted();
    const rows = tags.slice(0, MOST).map((tag) => this.#row(tag));
    if (tags.length > MOST)
      rows.push(
        h("li", { class: "side-note", text: `and ${plural(tags.length - MOST, "more tag")}: type to find one` }),
      );
    if (!tags.length)
      rows.push(
        h("li", {
          class: "side-note",
          text: typed ? "No tags match." : "No tags yet. Choose a photo and press t.",
        }),
      );
    this.list.replaceChildren(...rows);
  }

  #sorted() {
    const known = this.#order.map((id) => store.tags.get(id)).filter((tag) => tag?.listed);
    const seen = new Set(known);
    const fresh = store.listed.filter((tag) => !seen.has(tag));
    fresh.sort((a, b) => (b.n_suggested ?? 0) - (a.n_suggested ?? 0) || a.text.localeCompare(b.text));
    const sorted = [...fresh, ...known];
    this.#order = sorted.map((tag) => tag.id);
    return sorted;
  }

  #row(tag) {
    const open = tag.n_suggested ?? 0;
    const number = open
      ? h("span", { class: "n todo", text: count(open), title: `${plural(open, "suggestion")} to look at` })
      : h("span", { class: "n", text: count(tag.n_yes ?? 0), title: plural(tag.n_yes ?? 0, "photo") });
    const props = {
      href: `/tag/${tag.id}`,
      "data-link": true,
      "aria-current": tag.id === this.#current ? "page" : null,
    };
    return h("li", {}, h("a", props, h("span", { class: "name", text: tag.text, title: tag.text }), number));
  }
}
