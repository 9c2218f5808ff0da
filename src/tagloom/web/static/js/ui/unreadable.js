/** The word about a large picture that does not come. */

import { h } from "./dom.js";

const TEXT =
  "The file cannot be read now: it was moved, changed or deleted. “Look for new photos” under Work takes that in.";

const AWAY = "The server does not answer: the picture comes when it is back.";

/**
 * A note that shows itself while a picture cannot be read.
 * @param {HTMLImageElement} image
 * @returns {HTMLElement}
 */
export function unreadableNote(image) {
  const note = h("p", { class: "stage-note", role: "status", hidden: true });
  image.addEventListener("load", () => (note.hidden = true));
  image.addEventListener("error", async () => {
    const address = image.getAttribute("src");
    note.hidden = address === null;
    if (address === null) return;
    const text = await reason(address);
    if (image.getAttribute("src") === address) note.textContent = text;
  });
  return note;
}

/** A picture that fails does not say why: a plain request does. */
function reason(address) {
  return fetch(address, { credentials: "same-origin" }).then(
    () => TEXT,
    () => AWAY,
  );
}
