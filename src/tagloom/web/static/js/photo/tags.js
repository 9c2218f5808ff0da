/** The rows of the photo view's panel. */

import { store } from "../net/state.js";
import { button, h, meter } from "../ui/dom.js";
import { clock, count, moment, plural, strength } from "../ui/format.js";

const ORIGINS = { human: "added by a person", imported: "came with the file", suggested: "suggested, then accepted" };
const SHORT = { human: "person", imported: "file", suggested: "accepted" };

/**
 * A suggestion with its probability and what can be said to it.
 * @param {{id: number, text: string, p: number | null, isUnsure: boolean}} tag `isUnsure`: below the threshold
 * @param {boolean} isCurrent
 * @param {{say: (tag: number, state: 1 | 0) => void, why: (tag: number) => void}} actions
 * @returns {HTMLElement}
 */
export function suggestionRow(tag, isCurrent, { say, why }) {
  return h(
    "li",
    {
      class: `tag-row${isCurrent ? " current" : ""}${tag.isUnsure ? " unsure" : ""}`,
      "data-testid": "suggestion",
      "data-tag": tag.id,
      "aria-current": isCurrent ? "true" : null,
    },
    h(
      "div",
      { class: "tag-name" },
      h("span", { class: "words", text: tag.text }),
      h("span", { class: "muted num", text: tag.p === null ? "" : strength(tag.p, store.project.kind) }),
      meter(tag.p ?? 0),
    ),
    button(`Why ${tag.text}`, () => why(tag.id), { only_icon: true, icon: "help", key: "w" }),
    button(`Reject ${tag.text}`, () => say(tag.id, 0), { only_icon: true, icon: "cross", key: "r" }),
    button(`Accept ${tag.text}`, () => say(tag.id, 1), { only_icon: true, icon: "check", key: "a" }),
  );
}

/**
 * A tag the photo has, and where that comes from.
 * @param {{id: number, text: string, p: number | null, origin: string | null, implied: boolean}} tag
 * @param {{say: (tag: number, state: 0 | -1) => void, why: (tag: number) => void}} actions
 * @returns {HTMLElement}
 */
export function tagRow(tag, { say }) {
  const origin = tag.implied ? "implied" : (tag.origin ?? "human");
  const words = tag.implied ? "follows from another tag" : ORIGINS[origin];
  return h(
    "li",
    { class: "tag-row has", "data-tag": tag.id },
    h("a", { class: "words", href: `/tag/${tag.id}`, "data-link": true, text: tag.text }),
    h("span", { class: `origin ${origin}`, title: words, text: tag.implied ? "implied" : SHORT[origin] }),
    tag.implied ? null : button(`Take ${tag.text} back`, () => say(tag.id, -1), { only_icon: true, icon: "undo" }),
    tag.implied
      ? null
      : button(`This photo has no ${tag.text}`, () => say(tag.id, 0), { only_icon: true, icon: "cross" }),
  );
}

/** Name, folder, time and size. @param {any} detail @returns {Node[]} */
export function aboutPhoto(detail) {
  const folder = detail.path.includes("/") ? detail.path.slice(0, detail.path.lastIndexOf("/")) : "";
  const kind = detail.clip?.with_photo ? "with a video" : "video";
  const clip = detail.clip ? `${kind}, ${clock(detail.clip.duration)}${detail.clip.sound ? "" : ", no sound"}` : "";
  const size = `${count(detail.width)} × ${count(detail.height)}`;
  const facts = [moment(detail.time), size, clip].filter(Boolean).join(" · ");
  return [
    h("h1", { text: detail.name }),
    folder ? h("p", { class: "muted", text: folder }) : null,
    h("p", { class: "muted num", text: facts }),
  ].filter(Boolean);
}

/**
 * Tags that a person rejected, and behind one line those that count as absent because a list or another tag says so.
 * A press clears the decision.
 * @param {any} detail
 * @param {(tag: number) => void} open
 * @returns {Node[]}
 */
export function rejectedChips(detail, open) {
  const no = detail.tags.filter((tag) => tag.state === 0);
  const own = no.filter((tag) => !tag.implied && tag.origin !== "imported");
  const others = no.filter((tag) => !own.includes(tag));
  const chip = (look) => (tag) =>
    h("button", {
      type: "button",
      class: `chip ${look}`,
      title: tag.implied ? "Follows from another tag" : "Clear this decision",
      "aria-disabled": tag.implied ? "true" : null,
      text: tag.text,
      on: { click: () => !tag.implied && open(tag.id) },
    });
  const chips = h("div", { class: "chips" }, own.map(chip("minus")));
  const rejected = h("section", {}, h("h2", { text: "Rejected" }), chips);
  const absent = h(
    "details",
    { class: "absent", "data-testid": "absent" },
    h("summary", { text: `${plural(others.length, "other tag counts", "other tags count")} as absent` }),
    h("div", { class: "chips" }, others.map(chip("maybe"))),
  );
  return [own.length ? rejected : null, others.length ? absent : null].filter(Boolean);
}

/** What happened to this photo. @param {any} detail @returns {Node[]} */
export function historyOf(detail) {
  const lines = (detail.history ?? []).map((batch) =>
    h(
      "li",
      { class: batch.undone ? "undone" : "" },
      h("span", { text: batch.label }),
      h("span", { class: "muted", text: [batch.who, moment(batch.at)].filter(Boolean).join(" · ") }),
    ),
  );
  return lines.length
    ? [
        h(
          "details",
          { class: "photo-history" },
          h("summary", { text: `History (${lines.length})` }),
          h("ul", {}, lines),
        ),
      ]
    : [];
}

/**
 * @param {any} detail
 * @param {number[]} tags
 * @param {{state: 1 | 0 | -1, origin: string}} said
 * @returns {any} the photo with what was said of these tags
 */
export function withSaid(detail, tags, { state, origin }) {
  const nothing = (id) => ({ id, text: store.tagText(id), p: null, implied: false });
  const now = tags.map((id) => ({
    ...(detail.tags.find((tag) => tag.id === id) ?? nothing(id)),
    state: state < 0 ? null : state,
    origin,
  }));
  return {
    ...detail,
    tags: [...detail.tags.filter(({ id }) => !tags.includes(id)), ...now],
    suggested: detail.suggested.filter(([id]) => !tags.includes(id)),
    unsure: detail.unsure.filter(([id]) => !tags.includes(id)),
  };
}

/**
 * @param {any} detail
 * @param {any} answer the photo as the server gave it
 * @param {number[]} tags
 * @returns {any} the photo with these tags as the server had them, and all others as they are
 */
export function withoutSaid(detail, answer, tags) {
  const shown = new Set([...tags, ...detail.suggested.map(([id]) => id), ...detail.unsure.map(([id]) => id)]);
  return {
    ...detail,
    tags: [...detail.tags.filter(({ id }) => !tags.includes(id)), ...answer.tags.filter(({ id }) => tags.includes(id))],
    suggested: answer.suggested.filter(([id]) => shown.has(id)),
    unsure: answer.unsure.filter(([id]) => shown.has(id)),
  };
}
