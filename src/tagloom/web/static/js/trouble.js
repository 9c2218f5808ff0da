/** A page of the program that could not be read: its code comes when it is first gone to. */

import { h } from "./dom.js";
import { Notice } from "./notice.js";
import { firstPaint } from "./photo-list.js";

/** Stands in its place until the server is back. */
export class TroublePage {
  title = "Not read";
  actions = {};

  /** @param {() => void} again */
  constructor(again) {
    this.notice = new Notice();
    this.notice.show("This page could not be read: the server does not answer. It comes when the server is back.", again);
    this.element = h("section", { class: "page", "aria-label": "Not read" }, this.notice.element);
  }

  enter() {
    this.notice.retry.focus();
    firstPaint();
  }
}
