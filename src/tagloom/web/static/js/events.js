/** What the server tells by itself: decisions of other tabs, a model that has learned, work that goes on. */

import { ApiError, get } from "./api.js";
import { outbox } from "./outbox.js";
import { store } from "./state.js";

const SILENCE_MS = 40000;
const RETRY_MS = 2000;
const HIDDEN_MS = 60000;

let source = null;
let watchdog = 0;

/** Open the stream and keep it open; "link" on the store says whether it is (detail: {on, why}). */
export function listen() {
  source?.close();
  source = new EventSource("/api/events");
  source.addEventListener("open", () => linked(true));
  source.addEventListener("error", () => {
    linked(false);
    // The browser gives up for good after some errors: then only a new stream helps.
    if (source.readyState === EventSource.CLOSED) giveReason();
  });
  const handlers = { decided, learned, job, reset, alive: () => {} };
  for (const [type, handle] of Object.entries(handlers)) {
    source.addEventListener(type, (event) => {
      linked(true);
      handle(parsed(event.data));
    });
  }
}

/** A closed stream does not say why: a plain request does. Then try again. */
async function giveReason() {
  setTimeout(() => document.hidden || listen(), RETRY_MS);
  try {
    await get("/api/progress");
  } catch (error) {
    if (error instanceof ApiError) store.emit("link", { on: false, why: error.message });
  }
}

addEventListener("pagehide", () => source?.close());

// A browser holds few connections to one server: tabs that nobody looks at give theirs back after a while.
let rest = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(rest);
  if (document.hidden) rest = setTimeout(pause, HIDDEN_MS);
  else if (source?.readyState === EventSource.CLOSED) {
    listen();
    reset();
  }
});

function pause() {
  clearTimeout(watchdog);
  source?.close();
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

let wasLinked = true;

function linked(now) {
  clearTimeout(watchdog);
  if (now) watchdog = setTimeout(listen, SILENCE_MS);
  if (now === wasLinked) return;
  wasLinked = now;
  store.emit("link", { on: now, why: null });
  if (now) {
    outbox.flush();
    reset();
  }
}

function decided(data) {
  if ((data.version ?? 0) > store.version || data.photos === null) store.invalidate(data.photos ?? null);
  store.version = Math.max(store.version, data.version ?? 0);
  store.reloadProjectSoon();
  store.emit("decided", data);
}

function learned(data) {
  store.reloadProjectSoon();
  store.emit("learned", data);
}

function job(data) {
  store.jobs.set(data.id, { ...store.jobs.get(data.id), ...data });
  store.emit("jobs", data);
  if (data.state === "done") store.reloadProjectSoon();
}

function reset() {
  store.invalidate(null);
  store.reloadProjectSoon();
  store.emit("reset");
}
