/** Modal dialogs on the browser's own <dialog>: focus trap, Esc and inert background come with it. */

import { button, h, mendFocus } from "./dom.js";

/**
 * Show a dialog until it is closed.
 * @param {string} title
 * @param {(close: (value?: any) => void) => {body: Node[], foot?: Node[]}} fill
 * @param {{testid?: string, wide?: boolean}} [options]
 * @returns {Promise<any>} what `close` was called with; undefined after Esc
 */
export function openDialog(title, fill, options = {}) {
  return new Promise((resolve) => {
    let answer;
    const id = `dialog-${Math.random().toString(36).slice(2)}`;
    const node = h("dialog", {
      class: options.wide ? "wide" : "",
      "aria-labelledby": id,
      "data-testid": options.testid,
    });
    const close = (value) => {
      answer = value;
      node.close();
    };
    const { body, foot } = fill(close);
    const head = h(
      "div",
      { class: "dialog-head" },
      h("h2", { id, text: title }),
      button("Close", () => close(), { only_icon: true, icon: "cross" }),
    );
    node.append(head, h("div", { class: "dialog-body", tabindex: "0", role: "group", "aria-labelledby": id }, body));
    if (foot) node.append(h("div", { class: "dialog-foot" }, foot));
    const toasts = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
    node.append(toasts);
    node.addEventListener("close", () => {
      document.getElementById("toasts").append(...toasts.children);
      node.remove();
      resolve(answer);
    });
    node.addEventListener("click", (event) => event.target === node && node.close());
    document.body.append(node);
    const before = document.activeElement;
    node.showModal();
    (node.querySelector("[autofocus]") ?? node.querySelector(".primary") ?? node.querySelector(".dialog-body")).focus();
    node.addEventListener("close", () => {
      if (before?.isConnected) before.focus({ preventScroll: true });
      mendFocus();
    });
  });
}

/** @returns {boolean} whether a dialog is open, so that page shortcuts rest */
export function dialogIsOpen() {
  return document.querySelector("dialog[open]") !== null;
}
