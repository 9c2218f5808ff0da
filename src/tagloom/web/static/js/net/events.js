/** What the server tells by itself: decisions of other tabs, a model that has learned, work that goes on. */

import { outbox } from "./outbox.js";
import { store } from "./state.js";
import { Stream } from "./stream.js";

const WORKER = "/static/js/net/stream-worker.js";

let port = null;

/** Hear the news; "link" on the store says whether they come (detail: {on, why, isForeign}). */
export function listen() {
  const { id } = store.project;
  if (id === null || !("SharedWorker" in globalThis)) return new Stream(id, heard);
  const worker = new SharedWorker(WORKER, { type: "module", name: id });
  worker.addEventListener("error", () => port && ((port = null), new Stream(id, heard)), { once: true });
  port = worker.port;
  port.addEventListener("message", ({ data }) => heard(data));
  port.start();
}

addEventListener("pagehide", () => port?.postMessage("bye"));
addEventListener("pageshow", (event) => {
  if (!event.persisted || !port) return;
  listen();
  reset();
});

const HANDLERS = { decided, learned, looks, job, reset };

function heard(message) {
  if (message.link) return linked(message);
  begin(message);
  if (message.type === "alive") return;
  if (document.hidden) hasMissed = true;
  else HANDLERS[message.type]?.(message.data);
}

let hasBegun = false;

/** What happened after the page was read and before it heard any news is not among them. */
function begin({ type, id }) {
  const isMissed = !hasBegun && (type !== "alive" || id !== store.project.news);
  hasBegun = true;
  if (!isMissed) return;
  if (document.hidden) hasMissed = true;
  else reset();
}

// A tab that nobody looks at asks for nothing; it reads everything again when it is looked at, if there was any news.
let hasMissed = false;
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !hasMissed) return;
  hasMissed = false;
  reset();
});

let wasLinked = true;

function linked({ on, why, isForeign }) {
  const isNew = on !== wasLinked;
  wasLinked = on;
  if (isNew || why) store.emit("link", { on, why, isForeign });
  if (!isNew || !on) return;
  store.forgetVersions();
  outbox.flush();
  reset();
}

function decided(data) {
  const { version = 0, photos = null } = data;
  // What was decided here is known here; what others decided a moment before may be told after it.
  store.invalidate(photos?.filter((id) => !store.knows(id, version)) ?? null, version);
  store.reloadProjectSoon();
  store.emit("decided", data);
}

function learned(data) {
  store.age();
  store.reloadProjectSoon();
  store.emit("learned", data);
}

/** Which photos look alike is known now, or anew. */
function looks() {
  store.age();
  store.reloadProjectSoon();
  store.emit("looks");
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
