/** Everything that was decided, latest first, with undo and redo. */

import { get } from "../net/api.js";
import { redo, undo } from "./decide.js";
import { button, enable, firstPaint, h } from "./dom.js";
import { moment, plural } from "./format.js";
import { Notice } from "./notice.js";
import { store } from "../net/state.js";

const STEP = 50;
const MOST = 500;

/** The list of actions. */
export class HistoryPage {
  title = "History";
  #limit = STEP;
  #timer = 0;

  constructor() {
    this.undo = button("Undo", undo, { icon: "undo", key: "u", testid: "undo-page" });
    this.redo = button("Redo", redo, { icon: "redo", key: "U" });
    this.list = h("ol", { class: "history", "data-testid": "history" });
    this.notice = new Notice();
    this.more = button("Show more", () => ((this.#limit = Math.min(MOST, this.#limit * 2)), this.#load()));
    const head = h(
      "header",
      { class: "page-head" },
      h(
        "div",
        {},
        h("h1", { text: "History" }),
        h("p", { class: "muted", text: "You can undo every line, latest first." }),
      ),
      h("div", { class: "page-actions" }, this.undo, this.redo),
    );
    this.element = h(
      "section",
      { class: "page scroll", "aria-label": "History" },
      h("div", { class: "column" }, head, this.notice.element, this.list, this.more),
    );
    store.addEventListener("decided", () => this.#soon());
    store.addEventListener("reset", () => this.#soon());
  }

  async enter() {
    await this.#load();
    firstPaint();
  }

  #soon() {
    if (!this.element.isConnected) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), 100);
  }

  async #load() {
    try {
      const { batches, can_undo: canUndo, can_redo: canRedo } = await get(`/api/v1/history?limit=${this.#limit}`);
      enable(this.undo, canUndo);
      enable(this.redo, canRedo);
      this.more.hidden = batches.length < this.#limit || this.#limit >= MOST;
      this.notice.hide();
      this.list.replaceChildren(...batches.map(line));
      if (!batches.length) this.list.append(h("li", { class: "empty", text: "No decisions yet." }));
    } catch (error) {
      // What was done since is not in the lines of before.
      this.list.replaceChildren();
      this.more.hidden = true;
      for (const node of [this.undo, this.redo]) enable(node, false);
      this.notice.show(`The history could not be loaded. ${error.message}`, () => this.#load());
    }
  }

  get actions() {
    return {};
  }
}

function line(batch) {
  return h(
    "li",
    { class: batch.undone ? "batch undone" : "batch", "data-batch": batch.id },
    h("span", { class: "batch-kind", text: batch.kind }),
    h("span", { class: "batch-label", text: batch.label }),
    batch.undone ? h("span", { class: "chip maybe", text: "undone" }) : null,
    h("span", { class: "muted num", text: plural(batch.n, "decision") }),
    h("span", { class: "muted", text: [batch.who, moment(batch.at)].filter(Boolean).join(" · ") }),
  );
}
