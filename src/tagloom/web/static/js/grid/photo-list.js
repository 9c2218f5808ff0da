/**
 * A grid with its order: what the photo page and the lens share. The order never changes under the cursor by itself.
 */

import * as api from "../net/api.js";
import { bulkEdit, addTagTo } from "./bulk.js";
import { button, firstPaint, h, isTyping } from "../ui/dom.js";
import { Grid } from "./grid.js";
import { plural } from "../ui/format.js";
import { Notice } from "../ui/notice.js";
import { outbox } from "../net/outbox.js";
import { go } from "../ui/router.js";
import { store } from "../net/state.js";
import { complain, toast } from "../ui/toast.js";

const NEW_ORDER = new Set(["scan", "train"]);
const SLOW_MS = 150;

/**
 * Events: loaded (the grid shows a new order), blank (it shows none, as what was asked for has not come), chosen (the
 * cursor or the selection moved).
 */
export class PhotoList extends EventTarget {
  grid = new Grid();
  query = null;
  /** Whether cells show the strength of the query's tag in place of all their tags. */
  showsTag = false;
  /** Whether cells show less likely tags, too. */
  showsUnsure = false;
  #abort = null;
  #isStale = false;
  #shown = null;
  #slow = 0;

  constructor() {
    super();
    const show = button("Show", () => this.refresh(), { key: ".", testid: "refresh" });
    this.chip = h(
      "div",
      { class: "new-order", role: "status", hidden: true },
      h("span", { class: "pill" }, "New order ready", show),
    );
    this.empty = h("div", { class: "empty", hidden: true });
    this.notice = new Notice();
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
    store.addEventListener("looks", () => this.query && dependsOnLooks(this.query) && this.#outdated());
    store.addEventListener(
      "jobs",
      ({ detail }) => detail?.state === "done" && NEW_ORDER.has(detail.kind) && this.#outdated(),
    );
  }

  /** @returns {Node[]} from top to bottom */
  get parts() {
    return [h("div", { class: "grid-area" }, this.chip, this.empty, this.notice.element, this.grid), this.bar];
  }

  /**
   * Whether the photos on the screen are those of the query; only then anything may be decided about them. Until they
   * are, the grid says that it is busy.
   */
  get isShown() {
    return this.#shown !== null && this.#shown === this.query;
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
    clearTimeout(this.#slow);
    if (!this.isShown) {
      this.grid.setAttribute("aria-busy", "true");
      this.#slow = setTimeout(() => this.#blank("Loading photos…"), SLOW_MS);
    }
    let order;
    try {
      order = await api.ranking(query, this.#abort.signal);
    } catch (error) {
      if (query === this.query && error.name !== "AbortError") this.#failed(error, query, options);
      return;
    }
    if (query === this.query) this.#show(order, options);
  }

  #show(order, options) {
    const { query, grid } = this;
    clearTimeout(this.#slow);
    this.#shown = query;
    grid.removeAttribute("aria-busy");
    this.#isStale = false;
    this.chip.hidden = true;
    this.notice.hide();
    const tag = query.tag && this.showsTag ? Number(query.tag) : null;
    grid.context = { tag, kind: store.project.kind, stacks: Boolean(query.stacks), unsure: this.showsUnsure };
    grid.classList.toggle("of-tag", tag !== null);
    // Shown first: what is hidden has no size to lay photos out in.
    grid.hidden = this.bar.hidden = order.n === 0;
    this.empty.hidden = order.n > 0;
    grid.setItems(order.ids, order.values, { keep: options.keep });
    if (options.select) this.focusPhoto(options.select, options.focus !== false);
    else if (options.focus && !isTyping(document.activeElement)) grid.takeFocus();
    this.dispatchEvent(new Event("loaded"));
    firstPaint();
  }

  #failed(error, query, options) {
    clearTimeout(this.#slow);
    this.grid.removeAttribute("aria-busy");
    if (this.isShown) return complain(error);
    this.#blank(`Photos could not be loaded. ${error.message}`, () => this.load(query, options));
    if (options.focus && !isTyping(document.activeElement)) this.notice.retry.focus();
  }

  /** Show no photos at all: those of the query before must not pass for those of this one. */
  #blank(text, again = null) {
    this.#shown = null;
    this.#isStale = false;
    this.grid.setItems(new Int32Array(0), null);
    this.grid.hidden = this.bar.hidden = this.empty.hidden = this.chip.hidden = true;
    this.notice.show(text, again);
    this.dispatchEvent(new Event("blank"));
  }

  #outdated() {
    if (this.grid.ids.length) this.markStale();
    else if (this.query) this.refresh();
  }

  /** A better order exists; it is shown when the person asks or moves on. */
  markStale() {
    if (!this.isShown || this.#isStale) return;
    this.#isStale = true;
    this.chip.hidden = false;
  }

  async refresh() {
    const at = document.activeElement;
    const had = this.grid.contains(at) || this.notice.element.contains(at) || at === document.body;
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

  /**
   * Act on the chosen photos, at once or, where it is not known yet who else is in their stacks, when that has come:
   * where stacks are shown as one they are decided as one.
   * @template T
   * @param {(photos: number[]) => T} act
   * @returns {T | Promise<T | false> | false} what it gave; false if there is nothing to act on
   */
  withChosen(act) {
    if (!this.isShown) return this.refuse();
    const { chosen } = this.grid;
    if (!chosen.length) return false;
    if (!this.query.stacks) return act(chosen);
    if (chosen.every((id) => store.cells.has(id))) return act(withStacks(chosen, store.cells));
    return store.cellsOf(chosen).then(
      (cells) => act(withStacks(chosen, cells)),
      (error) => (complain(error), false),
    );
  }

  /** Say that nothing can be decided now. @returns {false} */
  refuse() {
    toast("Photos are still loading; nothing changed.");
    return false;
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
      addTag: () => this.withChosen(addTagTo),
      bulk: () => this.withChosen(bulkEdit),
      similar: () => grid.activeId !== null && go("/", { query: { similar: grid.activeId } }),
    };
  }
}

function dependsOnLooks({ stacks, similar, sort }) {
  return Boolean(stacks || similar || sort === "cluster");
}

function withStacks(ids, cells) {
  return [...new Set(ids.flatMap((id) => [id, ...(cells.get(id)?.stack ?? [])]))];
}
