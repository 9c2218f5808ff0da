/** What stands in the place of something that could not be read, and the way to try again. */

import { button, firstPaint, h } from "./dom.js";

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

const NO_PAGE =
  "This page could not be loaded. It appears when the server answers again; otherwise reload.";

/** Stands in its place until the server is back. */
export class TroublePage {
  title = "Not loaded";
  actions = {};

  /** @param {() => void} again */
  constructor(again) {
    this.notice = new Notice();
    this.notice.show(NO_PAGE, again);
    this.element = h("section", { class: "page", "aria-label": "Not loaded" }, this.notice.element);
  }

  enter() {
    this.notice.retry.focus();
    firstPaint();
  }
}

const NO_FILE =
  "The file cannot be read now: it was moved, changed or deleted. Press “Find new photos” under Work.";

const AWAY = "The server does not answer. The picture appears when it is back.";

/**
 * A note that shows itself while a picture cannot be read.
 * @param {HTMLImageElement} image
 * @returns {HTMLElement}
 */
export function unreadableNote(image) {
  const note = h("p", { class: "stage-note", role: "status", hidden: true });
  image.addEventListener("load", () => (note.hidden = true));
  image.addEventListener("error", async () => {
    const address = image.getAttribute("src");
    note.hidden = address === null;
    if (address === null) return;
    const text = await reason(address);
    if (image.getAttribute("src") === address) note.textContent = text;
  });
  return note;
}

/** A picture that fails does not say why: a plain request does. */
function reason(address) {
  return fetch(address, { credentials: "same-origin" }).then(
    () => NO_FILE,
    () => AWAY,
  );
}
