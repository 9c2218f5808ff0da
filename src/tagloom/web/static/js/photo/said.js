/** What the view of a photo shows of it after a decision, and after one that was taken back. */

import { store } from "../net/state.js";

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
