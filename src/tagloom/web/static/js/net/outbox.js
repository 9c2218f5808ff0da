/**
 * Decisions on their way: sent in order, kept over a short outage or a reload, taken back with a message if refused.
 * They belong to the project that they were made in: what is kept has its name, and no other project gets it.
 *
 * A connection may break after the server has carried a decision out. Each has a name (`key`) under which the server
 * does it once, so that it can be sent again, or taken back whether it was done or not.
 */

import { ApiError, isForeign, OfflineError, post } from "./api.js";
import { store } from "./state.js";

const KEPT = "tagloom-unsent-";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const NOT_STORED = new Set([503, 507]);
/** Locked out, busy, no room on the disk: it is not the decision that is wrong. */
const PASSING = new Set([401, 403, ...NOT_STORED]);

/** Events: change, failed (detail: {decision, message}), revoked (detail: {label}, null where it had not been done). */
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
  /** Whether it waits because the server answers that it cannot store it now. */
  cannotStore = false;

  constructor() {
    super();
    store.addEventListener("project", () => this.#adopt(), { once: true });
  }

  /** Which project this is about is known now: what was kept of it comes before what was decided meanwhile. */
  #adopt() {
    this.#project = store.project.id;
    const before = kept(this.#project);
    this.#items.unshift(...before);
    for (const decision of before) if (!decision.isRevoked) store.overlay(decision);
    this.#changed();
    this.flush();
  }

  get size() {
    return this.#items.length;
  }

  /** How many of them are to be taken back. */
  get nRevoked() {
    return this.#items.filter((decision) => decision.isRevoked).length;
  }

  /** The last one that is to be carried out. @returns {import("./state.js").Decision | undefined} */
  get latest() {
    return this.#items.findLast((decision) => !decision.isRevoked);
  }

  /** @param {import("./state.js").Decision} decision */
  push(decision) {
    decision.key = crypto.randomUUID();
    this.#items.push(decision);
    store.overlay(decision);
    this.#changed();
    this.flush();
  }

  /**
   * Take back a decision that waits here.
   * @param {import("./state.js").Decision | undefined} decision
   * @returns {"unsent" | "revoked" | null} unsent: it had not left; revoked: the server may have it, and is asked to
   *   take it back; null: it does not wait here
   */
  takeBack(decision) {
    if (this.#items.indexOf(decision) < (this.#sending ? 1 : 0) || decision.isRevoked) return null;
    if (decision.isSent) decision.isRevoked = true;
    else this.#items = this.#items.filter((other) => other !== decision);
    store.withdraw(decision);
    this.#changed();
    return decision.isSent ? "revoked" : "unsent";
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
    const wasSent = decision.isSent;
    try {
      decision.isSent = true;
      this.#keep();
      if (decision.isRevoked) await this.#revoke(decision);
      else store.confirm(decision, await post("/api/v1/decide", asked(decision)));
      this.trouble = null;
      this.isForeign = this.cannotStore = false;
      this.#wait = FIRST_WAIT;
    } catch (error) {
      // An answer tells that nothing was done this time; none tells nothing.
      if (error instanceof ApiError) decision.isSent = wasSent;
      if (mayPass(error)) return this.#later(error);
      store.withdraw(decision);
      this.dispatchEvent(new CustomEvent("failed", { detail: { decision, message: error.message } }));
    }
    this.#items.shift();
    this.#changed();
    return true;
  }

  async #revoke(decision) {
    const { batch, label, version } = await post("/api/v1/undo", { key: decision.key });
    store.invalidate(decision.photos, version);
    this.dispatchEvent(new CustomEvent("revoked", { detail: { label: batch === null ? null : label } }));
  }

  #later(error) {
    this.trouble = error.message;
    this.isForeign = isForeign(error);
    this.cannotStore = NOT_STORED.has(error.status);
    this.#timer = setTimeout(() => this.flush(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
    this.#changed();
    return false;
  }

  #changed() {
    if (!this.#items.length) this.trouble = null;
    this.#keep();
    this.dispatchEvent(new Event("change"));
  }

  #keep() {
    if (this.#project !== null) keep(this.#project, this.#items);
  }
}

/** A decision as the server reads it. */
function asked({ isSent, isRevoked, ...decision }) {
  return decision;
}

/** Whether the same decision may be taken another time: the server is away, cannot store it, or is another project's. */
function mayPass(error) {
  if (error instanceof OfflineError || isForeign(error)) return true;
  return error instanceof ApiError && !error.isDenied && PASSING.has(error.status);
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
