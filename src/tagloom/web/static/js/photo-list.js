/**
 * A grid with its order: what the photo page and the lens share. The order never changes under the cursor by itself.
 */

import * as api from "./api.js";
import { bulkEdit, addTagTo } from "./bulk.js";
import { button, h, isTyping } from "./dom.js";
import { Grid } from "./grid.js";
import { plural } from "./format.js";
import { outbox } from "./outbox.js";
import { go } from "./router.js";
import { store } from "./state.js";
import { complain } from "./toast.js";

const NEW_ORDER = new Set(["scan", "train"]);

/** Events: loaded (the grid shows a new order), chosen (the cursor or the selection moved). */
export class PhotoList extends EventTarget {
  grid = new Grid();
  query = null;
  /** Whether cells show the strength of the query's tag in place of all their tags. */
  showsTag = false;
  #abort = null;
  #isStale = false;

  constructor() {
    super();
    const show = button("Show", () => this.refresh(), { key: ".", testid: "refresh" });
    this.chip = h(
      "div",
      { class: "new-order", role: "status", hidden: true },
      h("span", { class: "pill" }, "New order ready", show),
    );
    this.empty = h("div", { class: "empty", hidden: true });
    this.about = h("p", { class: "about", "aria-live": "off" });
    this.bar = h("div", { class: "actions", role: "toolbar", "aria-label": "Actions" }, this.about);
    this.grid.addEventListener("tl-open", ({ detail }) => this.open(detail));
    this.grid.addEventListener("tl-active", () => this.#chosen());
    this.grid.addEventListener("tl-select", () => this.#chosen());
    this.grid.addEventListener(
      "tl-edge",
      () => this.#isStale && !this.grid.selection.size && queueMicrotask(() => this.refresh()),
    );
    store.addEventListener("cells", ({ detail }) => detail?.includes(this.grid.activeId) && this.#chosen());
    store.addEventListener("reset", () => this.#outdated());
    store.addEventListener(
      "jobs",
      ({ detail }) => detail?.state === "done" && NEW_ORDER.has(detail.kind) && this.#outdated(),
    );
  }

  /** @returns {Node[]} from top to bottom */
  get parts() {
    return [h("div", { class: "grid-area" }, this.chip, this.empty, this.grid), this.bar];
  }

  /**
   * Read an order and show it.
   * @param {Record<string, any>} query
   * @param {{keep?: boolean, focus?: boolean, select?: number | null}} [options]
   */
  async load(query, options = {}) {
    this.#abort?.abort();
    this.#abort = new AbortController();
    this.query = query;
    try {
      const order = await api.ranking(query, this.#abort.signal);
      this.#isStale = false;
      this.chip.hidden = true;
      const tag = query.tag && this.showsTag ? Number(query.tag) : null;
      this.grid.context = { tag, kind: store.project.kind, stacks: Boolean(query.stacks) };
      this.grid.classList.toggle("of-tag", this.grid.context.tag !== null);
      this.grid.setItems(order.ids, order.values, { keep: options.keep });
      this.grid.hidden = this.bar.hidden = order.n === 0;
      this.empty.hidden = order.n > 0;
      if (options.select) this.focusPhoto(options.select, options.focus !== false);
      else if (options.focus && !isTyping(document.activeElement)) this.grid.takeFocus();
      this.dispatchEvent(new Event("loaded"));
      firstPaint();
    } catch (error) {
      complain(error);
    }
  }

  #outdated() {
    if (this.grid.ids.length) this.markStale();
    else if (this.query) this.refresh();
  }

  /** A better order exists; it is shown when the person asks or moves on. */
  markStale() {
    if (!this.query || this.#isStale) return;
    this.#isStale = true;
    this.chip.hidden = false;
  }

  async refresh() {
    const had = this.grid.contains(document.activeElement) || document.activeElement === document.body;
    await outbox.settled();
    if (this.query) await this.load(this.query, { keep: true, focus: had });
  }

  focusPhoto(id, focus = true) {
    const index = this.grid.indexOf(id);
    if (index >= 0) this.grid.moveTo(index, { focus });
  }

  open(id) {
    store.order = { ids: this.grid.ids, path: location.pathname + location.hash };
    go(`/photo/${id}`);
  }

  #chosen() {
    const { grid } = this;
    const n = grid.selection.size;
    const cell = grid.activeId === null ? null : store.cells.get(grid.activeId);
    const text = n ? h("strong", { text: `${plural(n, "photo")} selected` }) : (cell?.name.split("/").at(-1) ?? "");
    this.about.replaceChildren(text);
    this.dispatchEvent(new Event("chosen"));
  }

  /** The photos an action is about; where stacks are shown as one they are decided as one. @returns {number[]} */
  get photos() {
    const { chosen } = this.grid;
    if (!this.query?.stacks) return chosen;
    return [...new Set(chosen.flatMap((id) => [id, ...(store.cells.get(id)?.stack ?? [])]))];
  }

  /** Actions both pages have. @returns {Record<string, () => unknown>} */
  get actions() {
    const { grid } = this;
    return {
      refresh: () => this.refresh(),
      larger: () => grid.zoom(1),
      smaller: () => grid.zoom(-1),
      fit: () => grid.toggleFit(),
      back: () => (grid.selection.size ? grid.clearSelection() : grid.takeFocus()),
      addTag: () => grid.chosen.length && addTagTo(this.photos),
      bulk: () => grid.chosen.length && bulkEdit(this.photos),
      similar: () => grid.activeId !== null && go("/", { query: { similar: grid.activeId } }),
    };
  }
}

let painted = false;

/** Say once that the first order is on the screen. */
export function firstPaint() {
  if (painted) return;
  painted = true;
  requestAnimationFrame(() =>
    setTimeout(() => {
      performance.mark("tl-first-grid");
      window.tagloomReady = true;
    }),
  );
}
