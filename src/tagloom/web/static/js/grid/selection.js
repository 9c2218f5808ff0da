/** The selected photos of a grid, by id: they stay selected when the order changes. */

/** A set of ids with ranges. */
export class Selection {
  /** Where a range began. @type {number | null} */
  anchor = null;
  #ids = new Set();
  #range = [];

  get size() {
    return this.#ids.size;
  }

  has(id) {
    return this.#ids.has(id);
  }

  /** @param {Int32Array} ids @returns {number[]} the selected ones, in the order shown */
  list(ids) {
    return Array.from(ids).filter((id) => this.#ids.has(id));
  }

  toggle(id) {
    this.anchor = null;
    if (!this.#ids.delete(id)) this.#ids.add(id);
  }

  /**
   * Select from the anchor to `to`; what the range left again is dropped.
   * @param {Int32Array} ids
   * @param {number} from
   * @param {number} to
   */
  extend(ids, from, to) {
    if (this.anchor === null) {
      this.anchor = from;
      this.#range = [];
    }
    for (const id of this.#range) this.#ids.delete(id);
    this.#range = Array.from(ids.subarray(Math.min(this.anchor, to), Math.max(this.anchor, to) + 1));
    for (const id of this.#range) this.#ids.add(id);
  }

  addAll(ids) {
    for (const id of ids) this.#ids.add(id);
  }

  clear() {
    this.anchor = null;
    this.#ids.clear();
  }

  /** Drop what is no longer shown: an action must never touch a photo that cannot be seen. @param {Int32Array} ids */
  retain(ids) {
    this.anchor = null;
    if (!this.#ids.size) return;
    const shown = new Set(ids);
    for (const id of [...this.#ids]) if (!shown.has(id)) this.#ids.delete(id);
  }
}
