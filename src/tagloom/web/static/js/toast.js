/** Short messages: shown at the foot and read out politely. */

import { button, h } from "./dom.js";

const SHOWN_MS = 5000;
const MOST = 3;

/**
 * @param {string} text
 * @param {{bad?: boolean, action?: {label: string, run: () => void}}} [options]
 */
export function toast(text, options = {}) {
  const place = document.getElementById("toasts");
  const node = h("div", { class: options.bad ? "toast bad" : "toast", "data-testid": "toast" }, h("p", { text }));
  if (options.action) {
    node.append(button(options.action.label, () => (options.action.run(), node.remove())));
  } else {
    node.append(h("span"));
  }
  place.append(node);
  while (place.children.length > MOST) place.firstElementChild.remove();
  setTimeout(() => node.remove(), options.bad ? 2 * SHOWN_MS : SHOWN_MS);
}

/** Drop messages whose offer no longer holds. */
export function dropOffers() {
  for (const node of document.querySelectorAll("#toasts .toast:has(button)")) node.remove();
}

/** Say something to a screen reader only: for what a sighted person sees happen. @param {string} text */
export function speak(text) {
  document.getElementById("spoken").textContent = text;
}

/** @param {unknown} error */
export function complain(error) {
  if (error?.name !== "AbortError") toast(error?.message ?? String(error), { bad: true });
}
