/** Short messages: shown at the foot and read out politely. */

import { button, h, mendFocus } from "./dom.js";

const SHOWN_MS = 5000;
const MOST = 3;

/**
 * @param {string} text
 * @param {{bad?: boolean, action?: {label: string, run: () => void}}} [options]
 */
export function toast(text, options = {}) {
  const place = toastPlace();
  const node = h("div", { class: options.bad ? "toast bad" : "toast", "data-testid": "toast" }, h("p", { text }));
  if (options.action) {
    node.append(button(options.action.label, () => (options.action.run(), drop(node))));
  } else {
    node.append(h("span"));
  }
  place.append(node);
  while (place.children.length > MOST) drop(place.firstElementChild);
  setTimeout(() => drop(node), options.bad ? 2 * SHOWN_MS : SHOWN_MS);
}

/** Behind a dialog nothing can be read or pressed: what is said while one is open is said in it. */
function toastPlace() {
  return [...document.querySelectorAll("dialog[open] .toasts")].at(-1) ?? document.getElementById("toasts");
}

function drop(node) {
  const hadFocus = node.contains(document.activeElement);
  node.remove();
  if (hadFocus) mendFocus();
}

/** Drop messages whose offer no longer holds. */
export function dropOffers() {
  for (const node of document.querySelectorAll(".toasts .toast:has(button)")) drop(node);
}

/** Say something to a screen reader only: for what a sighted person sees happen. @param {string} text */
export function speak(text) {
  document.getElementById("spoken").textContent = text;
}

/** @param {unknown} error */
export function complain(error) {
  if (error?.name !== "AbortError") toast(error?.message ?? String(error), { bad: true });
}
