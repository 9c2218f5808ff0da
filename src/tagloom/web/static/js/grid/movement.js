/** Where movement keys and the scroll bar lead in a grid of rows. */

/**
 * @param {string} key the event's key
 * @param {number} active where the cursor is
 * @param {number} count how many items there are
 * @param {number} columns
 * @param {number} page items on a screen
 * @returns {number | null} the item to go to; null if this is no movement key
 */
export function targetOf(key, active, count, columns, page) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = steps[key];
  if (step === undefined) return null;
  const target = active + step;
  if (target >= 0 && target < count) return target;
  const stays =
    key === "ArrowUp" || (key === "ArrowDown" && Math.floor(active / columns) === Math.floor((count - 1) / columns));
  return stays ? active : Math.min(count - 1, Math.max(0, target));
}

const TALLEST = 8_000_000;

/** Maps positions in the whole list ("top") to what the scroll bar can hold, and back. */
export class ScrollMap {
  total = 0;
  view = 0;
  height = 0;
  top = 0;
  #last = 0;
  #scale = 1;

  /** @param {number} total height of all rows @param {number} view height of the window on them */
  resize(total, view) {
    this.total = total;
    this.view = view;
    this.height = Math.min(total, TALLEST);
    this.#scale = total > this.height ? (total - view) / (this.height - view) : 1;
    this.top = Math.min(this.top, this.most);
  }

  /** The largest top. */
  get most() {
    return Math.max(0, this.total - this.view);
  }

  get isScaled() {
    return this.#scale > 1;
  }

  /** What to subtract from a row's place in the whole list to get its place in the scrolled element. */
  get offset() {
    return this.top - this.#last;
  }

  /**
   * The element was scrolled to `position`: short moves count one to one, long ones (the bar was dragged) in
   * proportion.
   * @param {number} position
   */
  moved(position) {
    const delta = position - this.#last;
    const near = Math.abs(delta) < 2 * this.view;
    const end = this.height - this.view;
    if (!this.isScaled) this.top = position;
    else if (position <= 0) this.top = 0;
    else if (position >= end - 1) this.top = this.most;
    else this.top = near ? Math.min(this.most, Math.max(0, this.top + delta)) : position * this.#scale;
    this.#last = position;
  }

  /** Where the element should be scrolled for `top`. @param {number} top @returns {number} */
  position(top) {
    return Math.min(this.most, Math.max(0, top)) / this.#scale;
  }

  /** The element now stands at `position`, which means `top`. @param {number} top @param {number} position */
  settled(top, position) {
    this.top = this.isScaled ? Math.min(this.most, Math.max(0, top)) : position;
    this.#last = position;
  }
}
