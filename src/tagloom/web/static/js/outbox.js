/**
 * Decisions on their way: sent in order, kept over a short outage or a reload, taken back with a message if refused.
 * They belong to the project that they were made in: what is kept has its name, and no other project gets it.
 */

import { ApiError, isForeign, OfflineError, post } from "./api.js";
import { store } from "./state.js";

const KEPT = "tagloom-unsent-";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const LOCKED = new Set([401, 403]);

/** Events: change, failed (detail: {decision, message}). */
class Outbox extends EventTarget {
  #items = [];
  #project = null;
  #sending = false;
  #wait = FIRST_WAIT;
  #timer = 0;
  /** Why the first decision waits, in words; null while all is well. @type {string | null} */
  trouble = null;
  /** Whether it waits because another project is reviewed at this address now. */
  isForeign = false;

  constructor() {
    super();
    store.addEventListener("project", () => this.#adopt(), { once: true });
  }

  /** Which project this is about is known now: what was kept of it comes before what was decided meanwhile. */
  #adopt() {
    this.#project = store.project.id;
    const before = kept(this.#project);
    this.#items.unshift(...before);
    for (const decision of before) store.overlay(decision);
    this.#changed();
    this.flush();
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

  /** Take back a decision, by default the latest, if it has not left yet. @returns {boolean} */
  takeBack(decision = this.#items.at(-1)) {
    if (this.#items.indexOf(decision) < (this.#sending ? 1 : 0)) return false;
    this.#items = this.#items.filter((other) => other !== decision);
    store.withdraw(decision);
    this.#changed();
    return true;
  }

  /** Resolves when nothing is on its way (or it cannot leave now). */
  async settled() {
    while (this.#items.length && this.trouble === null) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Send what waits, now. */
  async flush() {
    if (this.#sending || this.#project === null) return;
    clearTimeout(this.#timer);
    this.#sending = true;
    while (this.#items.length && (await this.#sendFirst()));
    this.#sending = false;
  }

  async #sendFirst() {
    const decision = this.#items[0];
    try {
      const answer = await post("/api/decide", decision);
      store.confirm(decision, answer);
      this.trouble = null;
      this.isForeign = false;
      this.#wait = FIRST_WAIT;
    } catch (error) {
      if (mayPass(error)) return this.#later(error);
      store.withdraw(decision);
      this.dispatchEvent(new CustomEvent("failed", { detail: { decision, message: error.message } }));
    }
    this.#items.shift();
    this.#changed();
    return true;
  }

  #later(error) {
    this.trouble = error.message;
    this.isForeign = isForeign(error);
    this.#timer = setTimeout(() => this.flush(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
    this.#changed();
    return false;
  }

  #changed() {
    if (!this.#items.length) this.trouble = null;
    if (this.#project !== null) keep(this.#project, this.#items);
    this.dispatchEvent(new Event("change"));
  }
}

/** Whether the same decision may be taken another time: the server is away, locked, or that of another project. */
function mayPass(error) {
  return error instanceof OfflineError || isForeign(error) || (error instanceof ApiError && LOCKED.has(error.status));
}

function keep(project, items) {
  try {
    if (items.length) sessionStorage.setItem(KEPT + project, JSON.stringify({ name: store.project.name, items }));
    else sessionStorage.removeItem(KEPT + project);
  } catch {
    // Without storage the queue still lives as long as the tab.
  }
}

function kept(project) {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT + project))?.items ?? [];
  } catch {
    return [];
  }
}

/**
 * What this tab keeps of other projects that were reviewed at this address.
 * @returns {{name: string, n: number}[]}
 */
export function keptOfOthers() {
  try {
    return Object.keys(sessionStorage)
      .filter((key) => key.startsWith(KEPT) && key !== KEPT + store.project.id)
      .map((key) => JSON.parse(sessionStorage.getItem(key)))
      .map(({ name, items }) => ({ name, n: items.length }));
  } catch {
    return [];
  }
}

export const outbox = new Outbox();
