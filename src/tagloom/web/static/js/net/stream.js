/** The stream of the server's news: opened, watched, opened again. It runs in a tab, or in the worker of all tabs. */

import { ApiError, bind, get, isForeign } from "./api.js";

const SILENCE_MS = 40000;
const RETRY_MS = 2000;
const NEWS = ["decided", "learned", "looks", "job", "reset"];

/**
 * @typedef {{link: true, on: boolean, why: string | null, isForeign: boolean}} LinkMessage whether the stream is open,
 *   and if not, why
 * @typedef {{link: false, type: string, data: any, id: string}} NewsMessage `id`: its place among the news
 */

/** Keeps a stream open. */
export class Stream {
  #address;
  #tell;
  #source = null;
  #watchdog = 0;
  #isOn = null;

  /**
   * @param {string | null} project whose news these are; another one's are never taken for them
   * @param {(message: LinkMessage | NewsMessage) => void} tell
   */
  constructor(project, tell) {
    if (project) bind(project);
    this.#address = `/api/v1/events${project ? `?project=${encodeURIComponent(project)}` : ""}`;
    this.#tell = tell;
    this.#open();
  }

  #open() {
    this.#source?.close();
    const source = new EventSource(this.#address);
    this.#source = source;
    source.addEventListener("open", () => this.#linked(true));
    source.addEventListener("error", () => {
      this.#linked(false);
      // The browser gives up for good after some errors: then only a new stream helps.
      if (source.readyState === EventSource.CLOSED) this.#giveReason();
    });
    for (const type of [...NEWS, "alive"]) {
      source.addEventListener(type, (event) => {
        this.#linked(true);
        this.#tell({ link: false, type, data: parsed(event.data), id: event.lastEventId });
      });
    }
  }

  /** A closed stream does not say why: a plain request does. Then try again. */
  async #giveReason() {
    setTimeout(() => this.#open(), RETRY_MS);
    try {
      await get("/api/v1/progress");
    } catch (error) {
      if (error instanceof ApiError)
        this.#tell({ link: true, on: false, why: error.message, isForeign: isForeign(error) });
    }
  }

  #linked(on) {
    clearTimeout(this.#watchdog);
    // What a silent stream did not bring is not known: it counts as broken.
    if (on) this.#watchdog = setTimeout(() => (this.#linked(false), this.#open()), SILENCE_MS);
    if (on === this.#isOn) return;
    this.#isOn = on;
    this.#tell({ link: true, on, why: null, isForeign: false });
  }
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
