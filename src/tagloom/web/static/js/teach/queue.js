/** The queue of what to label next: one large photo, one question, yes or no. */

import { get } from "../net/api.js";
import { largeUrl, store } from "../net/state.js";
import { openWhy } from "../photo/why.js";
import { decide, shown } from "../ui/decide.js";
import { button, enable, firstPaint, h, markPaint } from "../ui/dom.js";
import { plural, strength } from "../ui/format.js";
import { Notice, unreadableNote } from "../ui/notice.js";
import { go } from "../ui/router.js";
import { TagBox } from "../ui/tags.js";

const LENGTH = 50;
const AHEAD = 8;

/** Asks about one photo at a time. */
export class TeachQueue {
  #tag = null;
  #ids = [];
  #at = 0;
  #asked = null;

  constructor() {
    this.image = h("img", { class: "large", alt: "" });
    this.image.addEventListener("load", () => this.image.classList.add("ready"));
    this.unreadable = unreadableNote(this.image);
    const stage = h("div", { class: "stage" }, this.image, this.unreadable);
    this.card = h("div", { class: "teach-card" }, stage, this.#makeAsk());
    const back = button("Back to the photos", () => go("/"));
    this.done = h("div", { class: "empty", hidden: true }, h("p", { text: "No questions left." }), back);
    this.notice = new Notice();
    this.element = h("div", { class: "teach" }, this.card, this.done, this.notice.element);
    store.addEventListener("reset", () => this.notice.isTrouble && this.element.isConnected && this.start(this.#tag));
    store.addEventListener("cells", ({ detail }) => this.#concerns(detail) && this.#draw());
    store.addEventListener("stale", ({ detail }) => this.#concerns(detail) && store.want([this.#id()]));
    // The question that is on the screen stays; those after it are made of what is known then.
    store.addEventListener("aged", () => this.element.isConnected && store.want(this.#following));
  }

  #makeAsk() {
    this.question = h("h2", { class: "question", "aria-live": "polite" });
    this.note = h("p", { class: "muted" });
    this.tags = h("div", { class: "chips" });
    this.next = h("div", { class: "strip next", "aria-hidden": "true" });
    this.box = new TagBox({
      label: "Add a tag",
      placeholder: "Add another tag (t)",
      create: true,
      up: true,
      keep: true,
      target: () => this.#id(),
      pick: (tag, photo) => decide([photo], [tag], 1),
    });
    this.yes = button("Yes", () => this.#answer(1), { kind: "primary", icon: "check", key: "a" });
    this.no = button("No", () => this.#answer(0), { icon: "cross", key: "r" });
    const skip = button("Skip", () => this.#step(1), { key: "→" });
    const answers = h("div", { class: "answers" }, this.no, skip, this.yes);
    const parts = [this.question, answers, this.tags, this.box.element, this.note, this.next];
    return h("div", { class: "teach-ask" }, parts);
  }

  get #following() {
    return this.#ids.slice(this.#at + 1, this.#at + 1 + AHEAD);
  }

  #concerns(ids) {
    const id = this.#id();
    return this.element.isConnected && id !== undefined && (ids === null || ids.includes(id));
  }

  /** @param {number | null} tag the one to ask about; null asks about each photo's best suggestion */
  async start(tag) {
    this.#tag = tag;
    try {
      const { ids, reason } = await get(`/api/v1/teach?n=${LENGTH}${tag === null ? "" : `&tag=${tag}`}`);
      if (tag !== this.#tag) return;
      this.#begin(ids);
      this.note.textContent = reason;
      this.notice.hide();
      this.done.hidden = ids.length > 0;
      store.want(ids);
      await this.#draw();
    } catch (error) {
      if (tag !== this.#tag) return;
      // Nothing of the questions before may stay: an answer would be about another tag.
      this.#begin([]);
      this.done.hidden = true;
      this.notice.show(`Questions could not be loaded. ${error.message}`, () => this.start(tag));
    }
    firstPaint();
  }

  #begin(ids) {
    this.#ids = ids;
    this.#at = 0;
    this.#asked = null;
    this.card.hidden = ids.length === 0;
  }

  #id() {
    return this.#ids[this.#at];
  }

  async #draw() {
    const id = this.#id();
    if (id === undefined) return;
    const cell = await store.cell(id);
    if (id !== this.#id()) return;
    if (!cell) return this.#drawMissing();
    if (this.image.getAttribute("src") !== largeUrl(cell) || !this.unreadable.hidden) {
      this.image.classList.remove("ready");
      this.image.src = largeUrl(cell);
    }
    this.image.alt = cell.name;
    const best =
      this.#tag === null
        ? cell.suggested[0]
        : [this.#tag, shown(cell, true).find(([tag]) => tag === this.#tag)?.[1] ?? null];
    this.#asked = best?.[0] ?? null;
    this.#ask(best);
    this.tags.replaceChildren(...cell.yes.map((tag) => h("span", { class: "chip", text: store.tagText(tag) })));
    this.next.replaceChildren(...this.#following.map((other) => ahead(other)));
  }

  /** Nothing of the photo before may stay: an answer would be about this one. */
  #drawMissing() {
    this.#asked = null;
    this.#ask(null);
    this.question.replaceChildren("This photo cannot be shown.");
    this.image.removeAttribute("src");
    this.tags.replaceChildren();
  }

  #ask(best) {
    for (const node of [this.yes, this.no]) enable(node, Boolean(best));
    if (!best) return this.question.replaceChildren("Which tags belong to this photo?");
    const [tag, p] = best;
    this.question.replaceChildren(
      "Does this show ",
      h("strong", { text: store.tagText(tag) }),
      "?",
      p === null ? "" : h("span", { class: "muted num", text: ` ${strength(p, store.project.kind)}` }),
    );
  }

  #answer(state) {
    if (this.#asked === null) return;
    markPaint();
    decide([this.#id()], [this.#asked], state, this.#tag === null ? "suggested" : "human");
    const left = store.cells.get(this.#id())?.suggested.length ?? 0;
    if (this.#tag !== null || !left) this.#step(1);
  }

  #step(by) {
    const at = this.#at + by;
    if (at < 0) return;
    if (at >= this.#ids.length) return this.start(this.#tag);
    this.#at = at;
    // Until its question is on the screen, there is nothing to answer.
    this.#asked = null;
    this.#draw();
    this.question.title = plural(this.#ids.length - at, "photo");
  }

  /** @param {KeyboardEvent} event @returns {boolean} */
  key(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return false;
    this.#step(by);
    return true;
  }

  get actions() {
    return {
      accept: () => this.#answer(1),
      reject: () => this.#answer(0),
      addTag: () => this.box.input.focus(),
      nextOpen: () => this.#step(1),
      similar: () => go("/", { query: { similar: this.#id() } }),
      why: () => this.#asked !== null && openWhy(this.#id(), this.#asked),
      back: () => go("/"),
    };
  }
}

function ahead(id) {
  const image = h("img", { alt: "" });
  store.cell(id).then((cell) => {
    if (!cell) return;
    image.src = cell.thumb;
  });
  return image;
}
