/** A tab of the review page without a browser: its modules read anew, and a server that answers by a table. */

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const SOURCE = fileURLToPath(new URL("../../../src/tagloom/web/static/js/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "tagloom-js-"));
writeFileSync(join(folder, "package.json"), '{"type": "module"}');
after(() => rmSync(folder, { recursive: true, force: true }));

let nTabs = 0;

class Storage {
  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }
  setItem(key, value) {
    this[key] = String(value);
  }
  removeItem(key) {
    delete this[key];
  }
}

class Source extends EventTarget {
  static CLOSED = 2;
  static last = null;
  readyState = 1;
  constructor() {
    super();
    Source.last = this;
  }
  close() {}
}

Object.assign(globalThis, {
  addEventListener() {},
  document: Object.assign(new EventTarget(), { hidden: false }),
  EventSource: Source,
  location: new URL("http://127.0.0.1:8000/"),
});

/** All that is ready to happen has happened. */
export async function settle() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** @param {object} [changes] @returns {object} a cell of a photo as the server gives it */
export function cell(changes = {}) {
  return {
    id: 1,
    name: "a.jpg",
    width: 3,
    height: 2,
    thumb: "/api/v1/photo/1/thumb?v=abc",
    yes: [],
    no: [],
    suggested: [],
    unsure: [],
    stack: null,
    reviewed: false,
    ...changes,
  };
}

/** An answer of the server. */
export function answer(body, status = 200) {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
}

/**
 * Open a tab. `server` maps paths without their query to functions of the body and the query, whose result is the
 * answer: JSON, a Response, or an error where the connection breaks.
 */
export class Tab {
  requests = [];
  timers = new Map();
  storage = new Storage();

  constructor(server = {}) {
    this.server = server;
    this.server["/api/v1/project"] = () => ({ id: "p", name: "album", tags: [], merged: [], version: 0 });
    this.open();
  }

  /** Read the page's modules anew, as a reload does. */
  open() {
    nTabs += 1;
    this.root = join(folder, `tab${nTabs}`);
    cpSync(SOURCE, this.root, { recursive: true });
    let n = 0;
    globalThis.setTimeout = (work, ms) => (this.timers.set((n += 1), { work, ms }), n);
    globalThis.clearTimeout = (id) => this.timers.delete(id);
    globalThis.sessionStorage = globalThis.localStorage = this.storage;
    globalThis.fetch = (path, init) => this.#answer(path, init);
    this.timers.clear();
  }

  async #answer(path, { method = "GET", body, headers = {} } = {}) {
    const url = new URL(path, location.href);
    const said = body === undefined ? undefined : JSON.parse(body);
    this.requests.push({ path, method, body: said, headers });
    const found = await this.server[url.pathname](said, url.searchParams);
    if (found instanceof Error) throw found;
    return found instanceof Response ? found : answer(found);
  }

  /** A module of the page. */
  import(path) {
    return import(pathToFileURL(join(this.root, path)));
  }

  /** The store and the outbox of a page that has read its project. */
  async begin() {
    const { store } = await this.import("net/state.js");
    const { outbox } = await this.import("net/outbox.js");
    await store.loadProject();
    await settle();
    return { store, outbox };
  }

  /** Let so much time pass. @param {number} [most] @returns {Promise<number[]>} what was waited for, in milliseconds */
  async pass(most = Infinity) {
    const due = [...this.timers].filter(([, { ms }]) => ms <= most);
    for (const [id] of due) this.timers.delete(id);
    for (const [, { work }] of due) work();
    await settle();
    return due.map(([, { ms }]) => ms);
  }

  /** What was sent to one address. */
  sent(path) {
    return this.requests.filter((request) => request.path.split("?")[0] === path);
  }
}

/** Tell the listener of the news one of them. */
export function news(type, data) {
  Source.last.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
}
