/** The word about a large picture that does not come. */

import { h } from "./dom.js";

const TEXT =
  "The file cannot be read now: it was moved, changed or deleted. “Look for new photos” under Work takes that in.";

/**
 * A note that shows itself while a picture cannot be read.
 * @param {HTMLImageElement} image
 * @returns {HTMLElement}
 */
export function unreadableNote(image) {
  const note = h("p", { class: "stage-note", role: "status", hidden: true, text: TEXT });
  image.addEventListener("load", () => (note.hidden = true));
  image.addEventListener("error", () => (note.hidden = !image.hasAttribute("src")));
  return note;
}
