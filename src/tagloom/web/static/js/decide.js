/** What a person decides: shown at once, sent through the outbox, undone and redone on the server. */

import { ApiError, get, post } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, h } from "./dom.js";
import { plural } from "./format.js";
import { outbox } from "./outbox.js";
import { store } from "./state.js";
import { complain, dropOffers, speak, toast } from "./toast.js";

const PAIRS_PER_BATCH = 10000;
const VERBS = { 1: "Accepted", 0: "Rejected", "-1": "Opened again" };

/**
 * Decide tags of photos.
 * @param {Iterable<number>} photos
 * @param {number[]} tags
 * @param {1 | 0 | -1} state
 * @param {"human" | "suggested"} [origin]
 */
export function decide(photos, tags, state, origin = "human") {
  const all = [...new Set(photos)];
  if (!all.length || !tags.length) return;
  const step = Math.floor(PAIRS_PER_BATCH / tags.length);
  for (let start = 0; start < all.length; start += step)
    outbox.push({ photos: all.slice(start, start + step), tags, state, origin });
  const words = tags.map((tag) => store.tagText(tag)).join(", ");
  const said = `${VERBS[state]} ${words}${all.length > 1 ? ` on ${plural(all.length, "photo")}` : ""}`;
  if (all.length > 1) toast(said, { action: { label: "Undo", run: undo } });
  else speak(said);
}

/**
 * Decide the best open suggestion of each photo; says so where there is none.
 * @param {number[]} photos
 * @param {1 | 0} state
 * @returns {boolean} whether there was anything to decide
 */
export function decideBest(photos, state) {
  const byTag = new Map();
  for (const id of photos) {
    const best = store.cells.get(id)?.suggested[0]?.[0];
    if (best !== undefined) byTag.set(best, [...(byTag.get(best) ?? []), id]);
  }
  for (const [tag, ids] of byTag) decide(ids, [tag], state, "suggested");
  if (!byTag.size) toast("Nothing is suggested here. Press t to add a tag.");
  return byTag.size > 0;
}

/** Mark the moment of a key press and of the paint that shows its effect, for the browser's performance API. */
export function markPaint() {
  performance.mark("tl-key");
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => performance.mark("tl-paint");
    channel.port2.postMessage(null);
  });
}

/** Undo the latest batch. */
export async function undo() {
  dropOffers();
  if (outbox.takeBack()) return toast("Taken back before it was sent.");
  await outbox.settled();
  if (await mayUndo()) await step("undo", "Undone");
}

/** Ask before files are put back: an undo of a key press too many must not reach the sidecars. */
async function mayUndo() {
  let latest;
  try {
    const { batches } = await get("/api/history?limit=50");
    latest = batches.find((batch) => !batch.undone && !["undo", "redo"].includes(batch.kind));
  } catch (error) {
    complain(error);
    return false;
  }
  if (latest?.kind !== "write") return true;
  return openDialog("Put the files back?", (close) => ({
    body: [h("p", { text: `The latest action is “${latest.label}”. Undoing it puts every file back, byte for byte.` })],
    foot: [
      button("Cancel", () => close(false)),
      button("Put back", () => close(true), { kind: "primary", icon: "undo", testid: "confirm" }),
    ],
  }));
}

/** Redo what was undone last. */
export async function redo() {
  await step("redo", "Done again");
}

async function step(verb, word) {
  await outbox.settled();
  try {
    const answer = await post(`/api/${verb}`);
    store.version = Math.max(store.version, answer.version ?? 0);
    store.invalidate(null);
    store.emit("decided", { batch: answer.batch, photos: null, own: true });
    toast(`${word}: ${answer.label}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) toast(error.message);
    else complain(error);
  }
}

/**
 * The id of a tag by its words; made when the vocabulary has it not.
 * @param {string} text
 * @returns {Promise<number>}
 */
export async function ensureTag(text) {
  const tag = await post("/api/tags", { text });
  if (!store.tags.has(tag.id)) {
    store.tags.set(tag.id, { id: tag.id, text: tag.text, aliases: [], n_yes: 0, n_no: 0, n_suggested: 0 });
    store.reloadProjectSoon();
  }
  return tag.id;
}
