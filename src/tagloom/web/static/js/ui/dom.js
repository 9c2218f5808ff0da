/**
 * Elements, where the focus goes, and marks of what is painted. Data only ever becomes text nodes and plain attributes:
 * markup in a tag or a file name stays text.
 */

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  check: "M4 10.5l4 4 8-9",
  cross: "M5 5l10 10M15 5L5 15",
  undo: "M7 4L3.5 7.5 7 11M4 7.5h8a4.5 4.5 0 0 1 0 9H8",
  redo: "M13 4l3.5 3.5L13 11M16 7.5H8a4.5 4.5 0 0 0 0 9h4",
  search: "M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM13.2 13.2L17 17",
  help: "M7.5 7.6a2.6 2.6 0 1 1 3.6 2.4c-.8.3-1.1.9-1.1 1.9M10 14.6v.1",
  theme: "M10 3a7 7 0 1 0 0 14V3zM10 3a7 7 0 0 1 0 14",
  work: "M10 3v3M10 14v3M3 10h3M14 10h3M5 5l2.2 2.2M12.8 12.8L15 15M5 15l2.2-2.2M12.8 7.2L15 5",
  grid: "M3.5 3.5h5v5h-5zM11.5 3.5h5v5h-5zM3.5 11.5h5v5h-5zM11.5 11.5h5v5h-5z",
  lens: "M10 4.5c-4 0-6.6 3-7.5 5.5 2 7 13 7 15 0-.9-2.5-3.5-5.5-7.5-5.5zM10 7.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
  teach: "M2.5 7.5L10 4l7.5 3.5L10 11 2.5 7.5zM5.5 9.3v4c1.5 1.5 7.5 1.5 9 0v-4",
  history: "M4 6.5A7 7 0 1 1 3 10M3.5 3.5v3.5H7M10 6.5V10l2.5 1.5",
  write: "M4 16l.8-3.5L13 4.3a1.5 1.5 0 0 1 2.2 0l.5.5a1.5 1.5 0 0 1 0 2.2L7.5 15.2 4 16zM11.5 6l2.5 2.5",
  left: "M12.5 4L6.5 10l6 6",
  right: "M7.5 4l6 6-6 6",
  back: "M9 4L3 10l6 6M3.5 10H17",
  stack: "M6.5 6.5h10v10h-10zM3.5 13.5v-10h10",
  tag: "M3.5 3.5h6l7 7-6 6-7-7zM7 7v.1",
  filter: "M3 5h14M5.5 10h9M8 15h4",
};

/**
 * Make an element.
 * @param {string} name
 * @param {Record<string, unknown>} [props] class, text, on (listeners), dataset, or attributes (true / false /
 *   null set or leave them out)
 * @param {...(Node | string | null | undefined | false | (Node | string | null)[])} children
 * @returns {HTMLElement}
 */
export function h(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) setProp(element, key, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function setProp(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key === "class") element.className = value;
  else if (key === "text") element.textContent = value;
  else if (key === "on") for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
  else if (key === "dataset") Object.assign(element.dataset, value);
  else if (key === "value") element.value = value;
  else element.setAttribute(key, value === true ? "" : String(value));
}

/**
 * A line drawing from the fixed table above, hidden from assistive technology (its button carries the words).
 * @param {keyof typeof ICONS} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/**
 * A real button.
 * @param {string} label
 * @param {() => void} action
 * @param {{kind?: string, icon?: keyof typeof ICONS, key?: string, testid?: string, only_icon?: boolean, title?:
 *   string}} [options]
 * @returns {HTMLButtonElement}
 */
export function button(label, action, options = {}) {
  const quiet = options.only_icon === true;
  const node = h(
    "button",
    {
      type: "button",
      class: quiet ? "icon-button" : `button ${options.kind ?? ""}`.trim(),
      "aria-label": quiet ? label : null,
      title: options.title ?? (quiet ? label + (options.key ? ` (${options.key})` : "") : null),
      "data-testid": options.testid,
      on: { click: () => node.getAttribute("aria-disabled") !== "true" && action() },
    },
    options.icon ? icon(options.icon) : null,
    quiet ? null : label,
    options.key && !quiet ? h("kbd", { "aria-hidden": "true", text: options.key }) : null,
  );
  return node;
}

/**
 * Say whether a button can be pressed. It keeps the focus: one that is `disabled` would drop it on the document.
 * @param {HTMLButtonElement} node
 * @param {boolean} can
 */
export function enable(node, can) {
  node.setAttribute("aria-disabled", String(!can));
}

/**
 * A bar filled to a part between 0 and 1.
 * @param {number} part
 * @param {string} [kind]
 * @returns {HTMLElement}
 */
export function meter(part, kind = "") {
  const fill = h("span");
  fill.style.setProperty("--part", String(Math.min(1, Math.max(0, part || 0))));
  return h("div", { class: `meter ${kind}`.trim(), "aria-hidden": "true" }, fill);
}

/**
 * Whether keys typed here are text and no shortcuts.
 * @param {EventTarget | null} target
 * @returns {boolean}
 */
export function isTyping(target) {
  return (
    target instanceof HTMLElement &&
    target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]")
  );
}

/** Put the focus on the photo under the cursor, or on the page where it has no grid. */
export function focusPage() {
  const main = document.getElementById("main");
  const grid = [...main.querySelectorAll("tl-grid")].find((node) => node.clientHeight > 0 && node.ids.length);
  if (grid) grid.takeFocus();
  else main.focus({ preventScroll: true });
}

/** After something was removed: the focus must not be left on the document, where arrow keys do nothing. */
export function mendFocus() {
  if (document.activeElement === null || document.activeElement === document.body) focusPage();
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

let painted = false;

/** Say once that the first order is on the screen. */
export function firstPaint() {
  if (painted) return;
  painted = true;
  requestAnimationFrame(() =>
    setTimeout(() => {
      performance.mark("tl-first-grid");
      window.tagloomReady = true;
    }),
  );
}
