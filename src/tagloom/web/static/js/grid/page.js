/** The page of all photos. */

import { decideBest, shown } from "../ui/decide.js";
import { button, h, markPaint } from "../ui/dom.js";
import { Filters } from "./filters.js";
import { startJob } from "../ui/jobs.js";
import { PhotoList } from "./photo-list.js";
import { setQuery } from "../ui/router.js";
import { TagSide } from "./side.js";
import { store } from "../net/state.js";
import { complain, toast } from "../ui/toast.js";
import { openWhy } from "../photo/why.js";

const LEARNED_SORTS = new Set(["score", "uncertainty"]);

/** All photos, filtered and sorted. */
export class GridPage {
  title = "Photos";
  #shown = null;

  constructor() {
    this.list = new PhotoList();
    this.filters = new Filters((query) => this.#load(query, true));
    this.side = new TagSide();
    this.list.bar.append(
      button("Accept", () => this.actions.accept(), { icon: "check", key: "a" }),
      button("Reject", () => this.actions.reject(), { icon: "cross", key: "r" }),
      button("Tag", () => this.actions.addTag(), { icon: "tag", key: "t" }),
      button("Similar", () => this.actions.similar(), { key: "s" }),
      button("Edit", () => this.actions.bulk(), { key: "e" }),
    );
    this.list.addEventListener("loaded", () => this.#drawEmpty());
    this.list.addEventListener("loaded", () => (this.filters.count = this.list.grid.ids.length));
    this.list.addEventListener("blank", () => this.filters.found.replaceChildren());
    this.element = h(
      "div",
      { class: "with-side" },
      this.side.element,
      h(
        "section",
        { class: "page", "aria-label": "Photos" },
        h("h1", { class: "hidden", text: "Photos" }),
        this.filters.bar,
        this.filters.pills,
        this.list.parts,
      ),
    );
    store.addEventListener("learned", () => this.#depends() && this.list.markStale());
  }

  /** @param {import("../ui/router.js").Place} place */
  enter({ query }) {
    const photo = store.lastPhoto;
    store.lastPhoto = null;
    if (this.#shown !== null && same(query, this.#shown) && this.list.isShown) {
      if (photo) this.list.focusPhoto(photo);
      else this.list.grid.takeFocus();
      return;
    }
    this.filters.show(query);
    this.#load(query, true, photo);
  }

  #load(query, focus, select = null) {
    this.#shown = query;
    this.filters.show(query);
    setQuery(query);
    const state = query.state && query.state !== "any" ? query.state : null;
    // What cells show is no matter of the server.
    const { unsure, ...asked } = query;
    this.list.showsUnsure = Boolean(unsure);
    return this.list.load({ sort: query.similar ? null : (query.sort ?? "path"), ...asked, state }, { focus, select });
  }

  #drawEmpty() {
    const isNew = store.project.n_photos === 0;
    const text = isNew
      ? "No photos yet."
      : "No photos match. Change the filters, or search for something else.";
    const way = isNew
      ? button("Find photos", () => startJob("scan"), { kind: "primary" })
      : button("Show all photos", () => this.#load({}, true));
    this.list.empty.replaceChildren(h("p", { text }), way);
  }

  #depends() {
    const query = this.#shown ?? {};
    return LEARNED_SORTS.has(query.sort) || (query.state && query.state !== "any") || query.q;
  }

  async #decide(state) {
    markPaint();
    const { grid } = this.list;
    const { activeId } = grid;
    if (!(await this.list.withChosen((photos) => decideBest(photos, state, this.list.showsUnsure)))) return;
    if (grid.selection.size || grid.activeId !== activeId) return;
    // A photo with nothing left to decide lets the cursor go on to the next one.
    if (!shown(store.cells.get(activeId), this.list.showsUnsure).length) grid.moveTo(grid.active + 1);
  }

  #nextOpen() {
    const { grid } = this.list;
    for (let index = grid.active + 1; index < grid.ids.length; index += 1) {
      if (!store.cells.get(grid.ids[index])?.reviewed) return grid.moveTo(index);
    }
  }

  async #why() {
    const id = this.list.grid.activeId;
    if (id === null) return;
    const cells = await store.cellsOf([id]).catch(complain);
    // Meanwhile the cursor may have moved, or the page be left: then nobody asks any more.
    if (!cells || this.list.grid.activeId !== id || !this.element.isConnected) return;
    const best = shown(cells.get(id), this.list.showsUnsure)[0]?.[0];
    if (best === undefined) return toast("No suggestions here.");
    openWhy(id, best);
  }

  get actions() {
    return {
      ...this.list.actions,
      accept: () => this.#decide(1),
      reject: () => this.#decide(0),
      nextOpen: () => this.#nextOpen(),
      why: () => this.#why(),
    };
  }
}

function same(a, b) {
  return JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(clean(b)).sort());
}

function clean(query) {
  return Object.fromEntries(
    Object.entries(query)
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([key, value]) => [key, String(value)]),
  );
}
