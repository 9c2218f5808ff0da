/** One cell of the grid: made once, filled again and again as rows are recycled. */

import { h, icon } from "../ui/dom.js";
import { clock, strength } from "../ui/format.js";
import { frameUrl, store } from "../net/state.js";

const CHIPS = 7;

/**
 * @typedef {{tag: number | null, kind: string, stacks: boolean, unsure: boolean}} CellContext the lens's tag, or null
 *   in the plain grid; whether a cell stands for its stack; whether it shows less likely tags
 */

/** A recycled cell. */
export class CellView {
  id = -1;
  index = -1;

  constructor() {
    this.image = h("img", { class: "thumb", alt: "", decoding: "async", draggable: "false" });
    this.image.addEventListener("load", () => this.image.classList.add("ready"));
    this.image.addEventListener("error", () => this.node.classList.add("broken"));
    this.stack = h("span", { class: "stack-count num" });
    this.mark = h("span", { class: "mark" });
    this.clip = h("span", { class: "clip-badge num", "data-testid": "clip" });
    this.scrub = h("img", { class: "thumb scrub", alt: "", decoding: "async", draggable: "false", hidden: true });
    this.tick = h("span", { class: "tick" }, icon("check"));
    this.chips = Array.from({ length: CHIPS }, () => h("span", { class: "chip" }));
    this.fill = h("span");
    this.value = h("span", { class: "value num" });
    this.node = h(
      "div",
      { class: "cell", role: "gridcell", tabindex: "-1", "data-testid": "cell" },
      h("div", { class: "frame" }, this.image, this.scrub, this.stack, this.mark, this.tick, this.clip),
      h(
        "div",
        { class: "caption", "aria-hidden": "true" },
        this.chips,
        h("div", { class: "meter" }, this.fill),
        this.value,
      ),
    );
    this.node.addEventListener("pointermove", (event) => this.#scrubTo(event));
    this.node.addEventListener("pointerleave", () => this.#endScrub());
    this.scrub.addEventListener("load", () => this.scrub.classList.add("ready"));
  }

  /** Show the key frame of a video that lies under the pointer. @param {PointerEvent} event */
  #scrubTo(event) {
    const cell = store.cells.get(this.id);
    const n = cell?.clip?.times.length ?? 0;
    if (n < 2 || event.pointerType === "touch") return;
    const { left, width } = this.node.getBoundingClientRect();
    const part = Math.min(0.999, Math.max(0, (event.clientX - left) / Math.max(width, 1)));
    const at = Math.floor(part * n);
    const address = frameUrl(cell, at);
    if (this.scrub.getAttribute("src") !== address) this.scrub.src = address;
    this.scrub.hidden = false;
    this.scrub.dataset.frame = String(at);
    this.clip.textContent = clock(cell.clip.times[at]);
  }

  #endScrub() {
    this.scrub.hidden = true;
    const clip = store.cells.get(this.id)?.clip;
    this.clip.textContent = clip ? clock(clip.duration) : "";
  }

  /**
   * @param {{id: number, index: number, column: number, value: number | null, isActive: boolean, isSelected:
   *   boolean, context: CellContext}} item
   */
  show(item) {
    const { node } = this;
    if (this.id !== item.id) {
      this.scrub.hidden = true;
      this.scrub.classList.remove("ready");
    }
    this.id = item.id;
    this.index = item.index;
    node.dataset.photo = String(item.id);
    node.setAttribute("aria-colindex", String(item.column + 1));
    this.choose(item.isActive, item.isSelected);
    this.fillIn(item.value, item.context);
  }

  /** @param {boolean} isActive @param {boolean} isSelected */
  choose(isActive, isSelected) {
    this.node.tabIndex = isActive ? 0 : -1;
    this.node.classList.toggle("active", isActive);
    this.node.setAttribute("aria-selected", String(isSelected));
  }

  /** @param {number | null} number NaN where the model says nothing @param {CellContext} context */
  fillIn(number, context) {
    const value = Number.isFinite(number) ? number : null;
    const cell = store.cells.get(this.id);
    this.#picture(cell?.thumb ?? null);
    if (this.scrub.hidden) this.#endScrub();
    const others = context.stacks && cell?.stack ? cell.stack.filter((id) => id !== this.id).length : 0;
    this.stack.textContent = others ? String(others + 1) : "";
    this.node.classList.toggle("stacked", others > 0);
    this.node.dataset.state =
      context.tag !== null ? stateOfPhoto(this.id, context.tag) : cell?.reviewed ? "reviewed" : "open";
    if (context.tag === null) this.#tags(cell, context);
    else this.#strength(value, context.kind);
    this.node.setAttribute("aria-label", cell ? describe(cell, value, context, others) : "Loading");
  }

  #picture(address) {
    if (address === this.image.getAttribute("src")) return;
    // A recycled picture must never show another photo while its own is still on the way.
    this.image.classList.remove("ready");
    this.node.classList.remove("broken");
    if (address) this.image.src = address;
    else this.image.removeAttribute("src");
  }

  #tags(cell, { kind, unsure }) {
    const chip = (look) => ([tag, p]) => [look, store.tagText(tag), kind === "score" ? 0 : p];
    const shown = cell
      ? [
          ...cell.yes.map((tag) => ["chip", store.tagText(tag), 0]),
          ...cell.suggested.map(chip("chip maybe")),
          ...(unsure ? cell.unsure.map(chip("chip maybe unsure")) : []),
        ]
      : [];
    this.chips.forEach((chip, at) => {
      const [look, text, part] = shown[at] ?? ["chip", "", 0];
      chip.className = look;
      chip.textContent = text;
      chip.style.setProperty("--part", String(part));
    });
    this.fill.style.setProperty("--part", "0");
    this.value.textContent = "";
  }

  #strength(value, kind) {
    for (const chip of this.chips) chip.textContent = "";
    this.fill.style.setProperty("--part", String(value === null ? 0 : Math.min(1, Math.max(0, value))));
    this.value.textContent = value === null ? "" : strength(value, kind);
    this.node.classList.toggle("unknown", value === null);
  }
}

/** @param {import("../net/state.js").Cell} cell @param {number} tag @returns {"yes" | "no" | "open"} */
function stateOf(cell, tag) {
  if (cell.yes.includes(tag)) return "yes";
  return cell.no.includes(tag) ? "no" : "open";
}

/**
 * The state of a photo that may not have come yet: what was decided here shows all the same.
 * @param {number} id
 * @param {number} tag
 * @returns {"yes" | "no" | "open"}
 */
export function stateOfPhoto(id, tag) {
  const cell = store.cells.get(id);
  return cell ? stateOf(cell, tag) : ({ 1: "yes", 0: "no" }[store.onItsWay(id, tag)] ?? "open");
}

function describe(cell, value, context, others) {
  const words = [cell.name];
  if (cell.clip) words.push(`video, ${clock(cell.clip.duration)}`);
  if (context.tag !== null) {
    const state = { yes: "accepted", no: "rejected", open: "undecided" }[stateOf(cell, context.tag)];
    words.push(`${store.tagText(context.tag)}: ${state}${value === null ? "" : `, ${strength(value, context.kind)}`}`);
  } else {
    if (cell.yes.length) words.push(`tags ${cell.yes.map((tag) => store.tagText(tag)).join(", ")}`);
    if (cell.suggested.length)
      words.push(`suggested ${cell.suggested.map(([tag, p]) => named(tag, p, context.kind)).join(", ")}`);
    if (context.unsure && cell.unsure.length)
      words.push(`less likely ${cell.unsure.map(([tag, p]) => named(tag, p, context.kind)).join(", ")}`);
  }
  if (others) words.push(`stack of ${others + 1}`);
  return words.join("; ");
}

function named(tag, p, kind) {
  return `${store.tagText(tag)} ${strength(p, kind)}`;
}
