/** A page of the program that could not be read: its code comes when it is first gone to. */

import { h } from "./dom.js";
import { Notice } from "./notice.js";
import { firstPaint } from "../grid/photo-list.js";

const TEXT =
  "This page could not be read. It comes when the server answers again; if it does not, load the page once more.";

/** Stands in its place until the server is back. */
export class TroublePage {
  title = "Not read";
  actions = {};

  /** @param {() => void} again */
  constructor(again) {
    this.notice = new Notice();
    this.notice.show(TEXT, again);
    this.element = h("section", { class: "page", "aria-label": "Not read" }, this.notice.element);
  }

  enter() {
    this.notice.retry.focus();
    firstPaint();
  }
}
