/** What a person decides: shown at once, sent through the outbox, undone and redone on the server. */

import { ApiError, get, OfflineError, post } from "../net/api.js";
import { openDialog } from "./dialog.js";
import { button, h } from "./dom.js";
import { count, isolated, moment, plural } from "./format.js";
import { outbox } from "../net/outbox.js";
import { store } from "../net/state.js";
import { complain, dropOffers, speak, toast } from "./toast.js";

const MOST_PAIRS = 100000;
const MOST_CHARACTERS = 1000000;
/** Decisions in one action above which a key alone does not undo it. */
const LARGE = 50;
const TAKEN_BACK = {
  unsent: "Undone before it was sent.",
  revoked: "The server did not answer, but may have saved it. It will be undone when the server is back.",
};
const UNKNOWN = "The server did not answer. The history will show whether it was saved.";
const VERBS = { 1: "Accepted", 0: "Rejected", "-1": "Cleared" };

/**
 * Decide tags of photos, as one action.
 * @param {Iterable<number>} photos
 * @param {number[]} tags
 * @param {1 | 0 | -1} state
 * @param {"human" | "suggested"} [origin]
 * @returns {boolean} whether it was done
 */
export function decide(photos, tags, state, origin = "human") {
  const all = [...new Set(photos)];
  if (!all.length || !tags.length) return false;
  const words = tags.map((tag) => store.tagText(tag)).join(", ");
  const said = `${VERBS[state]} ${words}${all.length > 1 ? ` on ${plural(all.length, "photo")}` : ""}`;
  return send({ photos: all, tags, state, origin }, said);
}

function send(decision, said, isShown = decision.photos.length > 1) {
  const { photos, tags, paired } = decision;
  const n = paired ? photos.length : photos.length * tags.length;
  if (n > MOST_PAIRS || JSON.stringify(decision).length > MOST_CHARACTERS) {
    toast(`${plural(n, "decision")} at once are too many; nothing changed. Choose fewer photos.`, { bad: true });
    return false;
  }
  outbox.push(decision);
  if (isShown) toast(said, { action: { label: "Undo", run: () => undoThis(decision) } });
  else speak(said);
  return true;
}

let isReading = false;

/**
 * The undecided tags that a cell shows, best first.
 * @param {import("../net/state.js").Cell | undefined} cell
 * @param {boolean} unsure whether less likely ones are among them
 * @returns {[number, number][]}
 */
export function shown(cell, unsure) {
  return [...(cell?.suggested ?? []), ...(unsure ? (cell?.unsure ?? []) : [])];
}

/**
 * Decide the best open suggestion of each photo, as one action; says so where there is none. What is suggested for
 * photos that have not been on the screen, or of which something was said elsewhere since, is read first.
 * @param {number[]} photos
 * @param {1 | 0} state
 * @param {boolean} unsure whether less likely tags are shown, and may be the best ones
 * @returns {boolean | Promise<boolean>} whether there was anything to decide
 */
export function decideBest(photos, state, unsure) {
  if (photos.every((id) => store.isFresh(id))) return decideBestOf(photos, store.cells, state, unsure);
  return isReading ? false : readAndDecideBest(photos, state, unsure);
}

async function readAndDecideBest(photos, state, unsure) {
  isReading = true;
  try {
    return decideBestOf(photos, await store.cellsOf(photos), state, unsure);
  } catch (error) {
    complain(error);
    return false;
  } finally {
    isReading = false;
  }
}

function decideBestOf(photos, cells, state, unsure) {
  const chosen = photos.filter((id) => shown(cells.get(id), unsure).length);
  if (!chosen.length) {
    toast("No suggestions here. Press t to add a tag.");
    return false;
  }
  const tags = chosen.map((id) => shown(cells.get(id), unsure)[0][0]);
  const distinct = [...new Set(tags)];
  const what = distinct.length > 1 ? "the best suggestion" : store.tagText(distinct[0]);
  const left = photos.length - chosen.length;
  const where = photos.length > 1 ? ` on ${plural(chosen.length, "photo")}` : "";
  const rest = left ? `; nothing is suggested for ${count(left)} more` : "";
  const said = `${VERBS[state]} ${what}${where}${rest}`;
  return send({ photos: chosen, tags, state, origin: "suggested", paired: true }, said, photos.length > 1);
}

let turn = Promise.resolve();

/** One after the other: what the second press undoes is known when the first one is done. */
function inTurn(work) {
  turn = turn.then(work).catch(complain);
  return turn;
}

/** Undo the latest action; what was not done here, is large or touches files is asked about. */
export function undo() {
  return inTurn(async () => {
    dropOffers();
    if (await takeBack(outbox.latest)) return;
    const { next_undo: next } = await get("/api/v1/history?limit=1");
    if (next === null) return toast("Nothing to undo.");
    if (await mayUndo(next)) await step("undo", "Undone", { batch: next.id });
  });
}

/** Undo one decision of this page, whatever was done since. */
function undoThis(decision) {
  return inTurn(async () => {
    if (await takeBack(decision)) return;
    const batch = store.batchOf(decision);
    if (batch) await step("undo", "Undone", { batch });
    else toast("It changed nothing, so there is nothing to undo.");
  });
}

/** Take back what the server has not confirmed, and say how. @returns {Promise<boolean>} whether there was any */
async function takeBack(decision) {
  const was = outbox.takeBack(decision) ?? (await outbox.settled(), outbox.takeBack(decision));
  if (was) toast(TAKEN_BACK[was]);
  return was !== null;
}

/** Ask before files are put back, and before more is undone than a key press too many may undo. */
function mayUndo(next) {
  const isWrite = next.kind === "write";
  if (next.kind === "decide" && next.is_own && next.n <= LARGE) return true;
  const size = isWrite ? plural(next.n_files, "file") : plural(next.n, "decision");
  const words = isWrite ? "Undoing it puts every file back, byte for byte." : "All of it is undone at once.";
  const elsewhere = next.is_own || isWrite ? "" : " It was made outside this review.";
  const latest = `The latest action is “${next.label}” (${size}, ${moment(next.at)}).`;
  return openDialog(isWrite ? "Put the files back?" : "Undo this action?", (close) => ({
    body: [h("p", { "data-testid": "undo-what", text: latest }), h("p", { text: words + elsewhere })],
    foot: [
      button("Cancel", () => close(false)),
      button(isWrite ? "Put back" : "Undo", () => close(true), { kind: "primary", icon: "undo", testid: "confirm" }),
    ],
  }));
}

/** Redo what was undone last. */
export function redo() {
  return inTurn(async () => {
    await outbox.settled();
    const { batches, can_redo: canRedo } = await get("/api/v1/history?limit=1");
    if (canRedo) await step("redo", "Done again");
    // Of all that can be undone, only a write cannot be redone.
    else if (batches[0]?.kind === "undo") toast("Redo does not write files again. Press Write.");
    else toast("Nothing to redo.");
  });
}

async function step(verb, word, body = {}) {
  await outbox.settled();
  try {
    const answer = await post(`/api/v1/${verb}`, body);
    store.invalidate(null, answer.version);
    store.emit("decided", { batch: answer.batch, photos: null, own: true });
    toast(`${word}: ${answer.label}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) toast(error.message);
    else if (error instanceof OfflineError) toast(`${error.message} ${UNKNOWN}`, { bad: true });
    else complain(error);
  }
}

/**
 * The ids of the tags that typed words mean; one that is new is made. A slip of another tag's name, or a list of
 * several tags, is asked about first.
 * @param {string} text
 * @param {{single?: boolean, isNew?: boolean}} [options] `single`: one tag is wanted; `isNew`: it was asked
 * @returns {Promise<number[]>} none where the person goes back
 */
export async function ensureTags(text, { single = false, isNew = false } = {}) {
  const tag = await post("/api/v1/tags", { text, new: isNew });
  if (tag.id !== null) return [known(tag)];
  const meant = await askAboutTag(tag, single);
  if (meant === undefined) return [];
  if (typeof meant === "number") return [meant];
  if (meant === text) return ensureTags(text, { isNew: true });
  const found = [];
  for (const part of meant) found.push(...(await ensureTags(part)));
  return found;
}

/** What was meant by a name that is close to another one, or a list. @returns {Promise<number | string | string[]>} */
function askAboutTag({ text, similar, parts }, single) {
  const title = similar ? `Did you mean “${isolated(similar.text)}”?` : "One tag, or several?";
  const words = similar
    ? `There is no tag “${isolated(text)}” yet.`
    : `“${isolated(text)}” looks like a list of ${plural(parts.length, "tag")}.`;
  return openDialog(
    title,
    (close) => ({
      body: [h("p", { text: words })],
      foot: [
        button(`Keep “${isolated(text)}”`, () => close(text), { testid: "keep-new" }),
        similar
          ? button(`Use “${isolated(similar.text)}”`, () => close(similar.id), { kind: "primary", testid: "use-known" })
          : null,
        parts && !single
          ? button(`Split into ${plural(parts.length, "tag")}`, () => close(parts), { kind: "primary", testid: "split" })
          : null,
      ],
    }),
    { testid: "which-tag" },
  );
}

/** Take in a tag that the server knows. @returns {number} */
function known(tag) {
  const before = store.tags.get(tag.id);
  if (!before?.listed) {
    const nothing = { aliases: [], n_yes: 0, n_no: 0, n_suggested: 0 };
    store.tags.set(tag.id, { ...nothing, ...before, id: tag.id, text: tag.text, listed: true });
    store.reloadProjectSoon();
  }
  return tag.id;
}
