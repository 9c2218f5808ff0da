/**
 * Decisions on their way: sent in order, kept over a short outage or a reload, taken back with a message if refused.
 */

import { ApiError, OfflineError, post } from "./api.js";
import { store } from "./state.js";

const KEPT = "tagloom-unsent";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const LOCKED = new Set([401, 403]);

/** Events: change, failed (detail: {decision, message}). */
class Outbox extends EventTarget {
  #items = [];
  #sending = false;
  #wait = FIRST_WAIT;
  #timer = 0;
  /** Why the first decision waits, in words; null while all is well. @type {string | null} */
  trouble = null;

  constructor() {
    super();
    for (const decision of kept()) {
      this.#items.push(decision);
      store.overlay(decision);
    }
  }

  get size() {
    return this.#items.length;
  }

  /** @param {number} photo @returns {boolean} whether something about this photo is still on its way */
  concerns(photo) {
    return this.#items.some((decision) => decision.photos.includes(photo));
  }

  /** @param {import("./state.js").Decision} decision */
  push(decision) {
    this.#items.push(decision);
    store.overlay(decision);
    this.#changed();
    this.flush();
  }

  /** Take back the latest decision if it has not left yet. @returns {boolean} */
  takeBack() {
    if (this.#items.length < (this.#sending ? 2 : 1)) return false;
    store.withdraw(this.#items.pop());
    this.#changed();
    return true;
  }

  /** Resolves when nothing is on its way (or it cannot leave now). */
  async settled() {
    while (this.#items.length && this.trouble === null) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Send what waits, now. */
  async flush() {
    if (this.#sending) return;
    clearTimeout(this.#timer);
    this.#sending = true;
    while (this.#items.length && (await this.#sendFirst()));
    this.#sending = false;
  }

  async #sendFirst() {
    const decision = this.#items[0];
    try {
      const answer = await post("/api/decide", decision);
      store.confirm(decision, answer.version);
      this.trouble = null;
      this.#wait = FIRST_WAIT;
    } catch (error) {
      if (error instanceof OfflineError || (error instanceof ApiError && LOCKED.has(error.status)))
        return this.#later(error.message);
      store.withdraw(decision);
      this.dispatchEvent(new CustomEvent("failed", { detail: { decision, message: error.message } }));
    }
    this.#items.shift();
    this.#changed();
    return true;
  }

  #later(message) {
    this.trouble = message;
    this.#timer = setTimeout(() => this.flush(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
    this.#changed();
    return false;
  }

  #changed() {
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(this.#items));
    } catch {
      // Without storage the queue still lives as long as the tab.
    }
    this.dispatchEvent(new Event("change"));
  }
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  } catch {
    return [];
  }
}

export const outbox = new Outbox();
