/** <tl-grid>: any number of photos with at most 300 cells in the document; ARIA grid with a roving focus. */

import { store } from "../net/state.js";
import { h } from "../ui/dom.js";
import { recall, remember } from "../ui/theme.js";
import { CellView } from "./cell.js";
import { ScrollMap, targetOf } from "./movement.js";
import { Selection } from "./selection.js";

const MOST_CELLS = 288;
const SIZES = [104, 136, 172, 232, 310, 440];
const CAPTION = 42;
const GAP = 12;
const SETTLE_MS = 140;
const FETCH_MS = 24;

/** Events: tl-open (detail: id), tl-active (detail: id), tl-select, tl-edge (the cursor left the visible rows). */
export class Grid extends HTMLElement {
  ids = new Int32Array(0);
  values = null;
  active = 0;
  selection = new Selection();
  context = { tag: null, kind: "probability", stacks: false, unsure: false };
  columns = 1;
  #map = new ScrollMap();
  #rows = [];
  #rowHeight = 100;
  #over = 1;
  #size = Number(recall("tagloom-size", "2"));
  #frame = 0;
  #fetch = 0;
  #settle = 0;
  #places = null;
  #space = h("div", { class: "grid-space", role: "rowgroup" });
  #watch = new ResizeObserver(() => this.#layout());
  #onCells = ({ detail }) => this.#refresh(new Set(detail));
  #onStale = () => this.#fetchSoon();
  #onProject = () => {
    this.context.kind = store.project.kind;
    this.#refresh(null);
  };

  connectedCallback() {
    if (!this.firstChild) this.#build();
    this.#watch.observe(this);
    store.addEventListener("cells", this.#onCells);
    store.addEventListener("stale", this.#onStale);
    store.addEventListener("aged", this.#onStale);
    store.addEventListener("project", this.#onProject);
    this.#layout();
  }

  disconnectedCallback() {
    this.#watch.disconnect();
    store.removeEventListener("cells", this.#onCells);
    store.removeEventListener("stale", this.#onStale);
    store.removeEventListener("aged", this.#onStale);
    store.removeEventListener("project", this.#onProject);
  }

  #build() {
    this.setAttribute("role", "grid");
    this.setAttribute("aria-label", "Photos");
    this.setAttribute("aria-multiselectable", "true");
    this.dataset.testid = "grid";
    this.classList.toggle("whole", recall("tagloom-fit", "fill") === "whole");
    this.append(this.#space);
    this.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.addEventListener("keydown", (event) => this.#key(event));
    this.addEventListener("click", (event) => this.#click(event));
    this.addEventListener("dblclick", (event) => this.#viewOf(event) && this.#open());
  }

  /** @returns {number | null} */
  get activeId() {
    return this.ids.length ? this.ids[this.active] : null;
  }

  /** The photos an action is about: the selection, or else the one under the cursor. @returns {number[]} */
  get chosen() {
    if (this.selection.size) return this.selection.list(this.ids);
    return this.activeId === null ? [] : [this.activeId];
  }

  /**
   * Show another order. With `keep`, the photo under the cursor stays under it, at the same height on the screen.
   * @param {Int32Array} ids
   * @param {Float32Array | null} values
   * @param {{keep?: boolean}} [options]
   */
  setItems(ids, values, options = {}) {
    const before = this.ids;
    const height = this.#rowTop(this.active) - this.#map.top;
    this.ids = ids;
    this.values = values;
    this.#places = null;
    this.selection.retain(ids);
    this.active = options.keep ? this.#survivor(before) : 0;
    this.#layout(options.keep ? () => this.#rowTop(this.active) - height : () => 0);
    this.#announce();
  }

  #survivor(before) {
    for (let index = this.active; index < before.length; index += 1) {
      const found = this.indexOf(before[index]);
      if (found >= 0) return found;
    }
    return Math.max(0, Math.min(this.active, this.ids.length - 1));
  }

  /** @param {number} id @returns {number} its place in the order, -1 if it is not in it */
  indexOf(id) {
    this.#places ??= new Map(Array.from(this.ids, (photo, index) => [photo, index]));
    return this.#places.get(id) ?? -1;
  }

  /**
   * Put the cursor on a photo of the order.
   * @param {number} index
   * @param {{focus?: boolean, extend?: boolean}} [options]
   */
  moveTo(index, options = {}) {
    if (!this.ids.length) return;
    const next = Math.min(this.ids.length - 1, Math.max(0, index));
    if (options.extend) this.selection.extend(this.ids, this.active, next);
    else this.selection.anchor = null;
    this.active = next;
    this.#reveal();
    this.#render();
    this.#choose();
    if (options.focus !== false) this.takeFocus();
    this.#announce();
    if (options.extend) this.#selected();
  }

  takeFocus() {
    const view = this.#viewAt(this.active);
    (view?.node ?? this).focus({ preventScroll: true });
  }

  /** @param {1 | -1} step larger or smaller cells */
  zoom(step) {
    this.#size = Math.min(SIZES.length - 1, Math.max(0, this.#size + step));
    remember("tagloom-size", String(this.#size));
    const height = this.#rowTop(this.active) - this.#map.top;
    this.#layout(() => this.#rowTop(this.active) - height);
  }

  toggleFit() {
    remember("tagloom-fit", this.classList.toggle("whole") ? "whole" : "fill");
  }

  clearSelection() {
    this.selection.clear();
    this.#choose();
    this.#selected();
  }

  toggleSelected(index = this.active) {
    this.selection.toggle(this.ids[index]);
    this.#choose();
    this.#selected();
  }

  #layout(topAfter = null) {
    const width = this.clientWidth - 2 * GAP;
    const view = this.clientHeight;
    if (width <= 0 || view <= 0) return;
    let size = width < 420 ? Math.min(SIZES[this.#size], (width - GAP) / 2) : SIZES[this.#size];
    size = wholeSize(width, view, size);
    while (!this.#fits(width, view, size)) size *= 1.12;
    const rows = Math.ceil(this.ids.length / this.columns);
    const top = this.#map.top;
    this.#map.resize(rows * this.#rowHeight + GAP, view);
    this.#space.style.height = `${this.#map.height}px`;
    this.style.setProperty("--columns", String(this.columns));
    this.style.setProperty("--row", `${this.#rowHeight - GAP}px`);
    this.setAttribute("aria-rowcount", String(rows));
    this.setAttribute("aria-colcount", String(this.columns));
    this.#makeRows(Math.ceil(view / this.#rowHeight) + 1 + 2 * this.#over);
    this.#scrollTo(topAfter ? topAfter() : top);
    this.#render(true);
  }

  #fits(width, view, size) {
    const columns = Math.max(1, Math.floor((width + GAP) / (size + GAP)));
    const cell = (width - GAP * (columns - 1)) / columns;
    this.columns = columns;
    this.#rowHeight = Math.round(cell * 0.75) + CAPTION + GAP;
    const visible = Math.ceil(view / this.#rowHeight) + 1;
    this.#over = Math.min(3, Math.floor((MOST_CELLS / columns - visible) / 2));
    return this.#over >= 1;
  }

  #makeRows(wanted) {
    const columns = this.columns;
    if (this.#rows.length === wanted && this.#rows[0]?.views.length === columns) return;
    const hadFocus = this.contains(document.activeElement) && document.activeElement !== this;
    this.#rows = Array.from({ length: wanted }, () => {
      const views = Array.from({ length: columns }, () => new CellView());
      return {
        row: -1,
        views,
        node: h(
          "div",
          { class: "grid-row", role: "row" },
          views.map((view) => view.node),
        ),
      };
    });
    this.#space.replaceChildren(...this.#rows.map((row) => row.node));
    if (hadFocus) requestAnimationFrame(() => this.takeFocus());
  }

  #scrollTo(top) {
    this.scrollTop = this.#map.position(top);
    this.#map.settled(top, this.scrollTop);
  }

  #scrolled() {
    this.#map.moved(this.scrollTop);
    this.#frame ||= requestAnimationFrame(() => this.#render());
    clearTimeout(this.#settle);
    if (this.#map.isScaled) this.#settle = setTimeout(() => this.#scrollTo(this.#map.top), SETTLE_MS);
  }

  #render(all = false) {
    this.#frame = 0;
    const count = this.#rows.length;
    const rows = Math.ceil(this.ids.length / this.columns);
    const first = Math.max(0, Math.min(rows - count, Math.floor(this.#map.top / this.#rowHeight) - this.#over));
    const focused = document.activeElement;
    for (let at = first; at < first + count; at += 1) {
      const row = this.#rows[at % count];
      row.node.hidden = at >= rows;
      if (at >= rows) row.row = -1;
      else if (row.row !== at || all) this.#fillRow(row, at);
      row.node.style.transform = `translateY(${at * this.#rowHeight + GAP - this.#map.offset}px)`;
    }
    this.tabIndex = this.#viewAt(this.active) ? -1 : 0;
    if (focused?.classList.contains("cell") && this.contains(focused) && focused.tabIndex !== 0) this.takeFocus();
    this.#fetchSoon();
  }

  #fillRow(row, at) {
    row.row = at;
    row.node.setAttribute("aria-rowindex", String(at + 1));
    row.views.forEach((view, column) => {
      const index = at * this.columns + column;
      view.node.hidden = index >= this.ids.length;
      if (view.node.hidden) view.index = -1;
      else view.show(this.#item(index, column));
    });
  }

  #item(index, column) {
    const id = this.ids[index];
    return {
      id,
      index,
      column,
      value: this.values ? this.values[index] : null,
      isActive: index === this.active,
      isSelected: this.selection.has(id),
      context: this.context,
    };
  }

  #views() {
    return this.#rows.flatMap((row) => (row.row < 0 ? [] : row.views.filter((view) => view.index >= 0)));
  }

  #refresh(ids) {
    for (const view of this.#views()) {
      if (ids === null || ids.has(view.id)) view.fillIn(this.values ? this.values[view.index] : null, this.context);
    }
  }

  #choose() {
    for (const view of this.#views()) view.choose(view.index === this.active, this.selection.has(view.id));
  }

  #fetchSoon() {
    clearTimeout(this.#fetch);
    this.#fetch = setTimeout(() => store.want(this.#views().map((view) => view.id)), FETCH_MS);
  }

  #rowTop(index) {
    return Math.floor(index / this.columns) * this.#rowHeight;
  }

  #viewAt(index) {
    const row = this.#rows[Math.floor(index / this.columns) % (this.#rows.length || 1)];
    const view = row?.row < 0 ? undefined : row?.views[index % this.columns];
    return view?.index === index ? view : undefined;
  }

  #reveal() {
    const top = this.#rowTop(this.active);
    const lowest = top + this.#rowHeight + GAP - this.#map.view;
    if (top >= this.#map.top && lowest <= this.#map.top) return;
    if (lowest > this.#map.top) this.dispatchEvent(new CustomEvent("tl-edge"));
    this.#scrollTo(top < this.#map.top ? top : lowest);
  }

  #viewOf(event) {
    const node = event.target.closest?.(".cell");
    return node ? this.#views().find((view) => view.node === node) : undefined;
  }

  #click(event) {
    const view = this.#viewOf(event);
    if (!view) return;
    const again = view.index === this.active && event.pointerType === "touch";
    if (event.target.closest(".tick") || event.ctrlKey || event.metaKey) {
      this.moveTo(view.index);
      this.toggleSelected();
    } else if (again) this.#open();
    else {
      // A plain click means this photo alone. A finger has no Ctrl key: its ticks stay.
      if (!event.shiftKey && event.pointerType !== "touch" && this.selection.size) this.clearSelection();
      this.moveTo(view.index, { extend: event.shiftKey });
    }
  }

  #key(event) {
    if (event.altKey) return;
    const held = event.ctrlKey || event.metaKey;
    const page = Math.max(1, Math.floor(this.#map.view / this.#rowHeight)) * this.columns;
    const target = held ? null : targetOf(event.key, this.active, this.ids.length, this.columns, page);
    if (target !== null) this.moveTo(target, { extend: event.shiftKey });
    else if (event.key === "Enter" && !held) this.#open();
    else if (event.key === " " && !held) this.toggleSelected();
    else if (event.key === "a" && held) this.#selectAll();
    else return;
    event.preventDefault();
  }

  #selectAll() {
    this.selection.addAll(this.ids);
    this.#choose();
    this.#selected();
  }

  #open() {
    if (this.activeId !== null) this.dispatchEvent(new CustomEvent("tl-open", { detail: this.activeId }));
  }

  #announce() {
    this.dispatchEvent(new CustomEvent("tl-active", { detail: this.activeId }));
  }

  #selected() {
    this.dispatchEvent(new CustomEvent("tl-select"));
  }
}

/** The width of cells, made smaller where a low window would show no photo whole; never below the smallest size. */
function wholeSize(width, view, size) {
  const cell = (columns) => (width - GAP * (columns - 1)) / columns;
  const isWhole = (one) => Math.round(one * 0.75) + CAPTION + GAP <= view;
  let columns = Math.max(1, Math.floor((width + GAP) / (size + GAP)));
  if (isWhole(cell(columns))) return size;
  while (!isWhole(cell(columns)) && cell(columns + 1) >= SIZES[0]) columns += 1;
  return Math.min(size, cell(columns));
}

customElements.define("tl-grid", Grid);
