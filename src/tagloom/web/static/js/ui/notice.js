/** What stands in the place of something that could not be read, and the way to try again. */

import { button, h } from "./dom.js";

/** A sentence and a button; hidden until there is something to say. */
export class Notice {
  #again = () => {};

  constructor() {
    this.text = h("p");
    this.retry = button("Try again", () => this.#again(), { testid: "retry" });
    this.element = h("div", { class: "empty", role: "status", hidden: true }, this.text, this.retry);
  }

  /** @param {string} text @param {(() => void) | null} [again] null: there is nothing to try yet */
  show(text, again = null) {
    this.text.textContent = text;
    this.retry.hidden = again === null;
    this.#again = again ?? (() => {});
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }

  /** Whether it says that something failed. */
  get isTrouble() {
    return !this.element.hidden && !this.retry.hidden;
  }
}
