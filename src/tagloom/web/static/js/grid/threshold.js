/** The threshold of suggestions: how many there are at each, and how many of them should be right. */

import { get, post } from "../net/api.js";
import { button, h } from "../ui/dom.js";
import { percent, plural } from "../ui/format.js";
import { store } from "../net/state.js";
import { complain } from "../ui/toast.js";

const READ_MS = 2500;

/** Says that suggestions are not calibrated yet, as long as they are not. @returns {HTMLElement} */
export function calibrationNote() {
  const note = h("p", { class: "muted note-calibration", "data-testid": "not-calibrated", hidden: true });
  const draw = () => {
    const { calibrated, labels_needed: needed, model } = store.project;
    note.hidden = !model || calibrated !== false;
    note.textContent = `Not calibrated yet: ${needed ? `label ${plural(needed, "more photo")}` : "train again"}.`;
  };
  store.addEventListener("project", draw);
  draw();
  return note;
}

/** What is expected of the thresholds; read once for all sliders. Event: change. */
class Thresholds extends EventTarget {
  found = null;
  #timer = 0;

  constructor() {
    super();
    store.addEventListener("project", () => this.#readSoon());
  }

  #readSoon() {
    clearTimeout(this.#timer);
    if (!store.project.model) return;
    const read = () => get("/api/v1/thresholds").then((found) => this.#set(found), () => {});
    // Who decides on and on is not counted for after each key.
    this.#timer = setTimeout(read, this.found === null ? 0 : READ_MS);
  }

  #set(found) {
    this.found = found;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {number | null} threshold null: what training chose for each tag */
  async choose(threshold) {
    clearTimeout(this.#timer);
    try {
      this.#set(await post("/api/v1/threshold", { threshold }));
    } catch (error) {
      complain(error);
      this.#set(this.found);
    }
  }
}

const thresholds = new Thresholds();

/**
 * What a threshold leads to, in words.
 * @param {{threshold: number | null, n: number, right: number | null}} step
 * @returns {string}
 */
export function expectation({ threshold, n, right }) {
  const above = threshold === null ? "" : ` above ${percent(threshold)}`;
  const expected = right === null ? "" : `, about ${percent(right)} correct`;
  return `${plural(n, "suggestion")}${above}${expected}`;
}

/**
 * Where the slider stands: the step with this threshold, or with about as many suggestions as the model's own.
 * @param {{threshold: number | null, n: number, steps: {threshold: number, n: number}[]}} found
 * @returns {number}
 */
export function nearestStep({ threshold, n, steps }) {
  const distance = (step) => (threshold === null ? Math.abs(step.n - n) : Math.abs(step.threshold - threshold));
  return steps.reduce((best, step, at) => (distance(step) < distance(steps[best]) ? at : best), 0);
}

/**
 * A slider for the threshold of all tags. It says what to expect while it is moved, and takes effect when it is let go.
 * @returns {HTMLElement}
 */
export function thresholdControl() {
  const said = h("p", { class: "num", role: "status", "data-testid": "expected" });
  const step = () => thresholds.found.steps[slider.value];
  const slider = h("input", {
    type: "range",
    min: "0",
    "aria-label": "Threshold of suggestions",
    "data-testid": "threshold",
    on: { input: () => say(step()), change: () => thresholds.choose(step().threshold) },
  });
  const reset = button("Use tagloom’s choice", () => thresholds.choose(null), {
    kind: "plain",
    testid: "threshold-reset",
  });
  const ends = h("div", { class: "slider-ends muted" }, h("span", { text: "more" }), h("span", { text: "surer" }));
  const moving = h("div", {}, slider, ends, reset);
  const element = h(
    "section",
    { class: "threshold", "aria-label": "Suggestions", hidden: true },
    said,
    calibrationNote(),
    moving,
  );

  function say(step) {
    const [number, ...words] = expectation(step).split(" ");
    said.replaceChildren(h("strong", { text: number }), ` ${words.join(" ")}`);
    const { threshold } = step;
    slider.setAttribute("aria-valuetext", threshold === null ? "tagloom’s choice for each tag" : percent(threshold));
  }

  function draw() {
    const { found } = thresholds;
    element.hidden = found === null;
    // A slider that is held stays in its hand.
    if (found === null || slider.matches(":active")) return;
    const { threshold, steps } = found;
    moving.hidden = !steps.length;
    reset.hidden = threshold === null;
    slider.max = String(Math.max(0, steps.length - 1));
    slider.value = String(nearestStep(found));
    say(found);
  }

  thresholds.addEventListener("change", draw);
  draw();
  return element;
}
