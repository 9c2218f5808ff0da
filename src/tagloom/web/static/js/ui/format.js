/** Numbers, times and amounts as people read them. */

const WHOLE = new Intl.NumberFormat("en");
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param {number} n @returns {string} */
export function count(n) {
  return WHOLE.format(Math.round(n));
}

/** @param {number} n @param {string} one @param {string} [many] @returns {string} */
export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/**
 * A probability without false certainty: nothing open is ever shown as 0 % or 100 %.
 * @param {number} p
 * @returns {string}
 */
export function percent(p) {
  if (!Number.isFinite(p)) return "–";
  return `${Math.min(99, Math.max(1, Math.round(p * 100)))}\u00a0%`;
}

/**
 * A value of the model: a percentage where it is a probability, else the bare score.
 * @param {number | null} value
 * @param {string} kind
 * @returns {string}
 */
export function strength(value, kind) {
  if (value === null) return "proposed"; // by a program, and the model has no number for it
  return kind === "score" ? value.toFixed(2) : percent(value);
}

/**
 * What something adds or takes, with as many digits as the largest amount beside it needs; never in powers of ten.
 * @param {number} amount
 * @param {number} most
 * @returns {string}
 */
export function signed(amount, most) {
  const digits = Math.min(6, Math.max(2, 1 - Math.floor(Math.log10(Math.max(most, 1e-9)))));
  const text = Math.abs(amount).toFixed(digits);
  return Number(text) === 0 ? "0" : `${amount < 0 ? "−" : "+"}${text}`;
}

const BIDI = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/u;
const CONTROLS = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A name as a part of a sentence: one that is written from right to left, or pretends to be, changes nothing around it.
 * @param {string} name
 * @returns {string}
 */
export function isolated(name) {
  if (!BIDI.test(name)) return name;
  const shown = name.replace(CONTROLS, (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, "0")}`);
  return `\u2068${shown}\u2069`;
}

/** @param {number} seconds @returns {string} */
export function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A time in a video, or its length. @param {number} seconds @returns {string} */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const pad = (n) => String(n).padStart(2, "0");
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

/** @param {string | number | null | undefined} at @returns {string} */
export function moment(at) {
  if (at === null || at === undefined || at === "") return "";
  const date = new Date(typeof at === "number" ? at * 1000 : at);
  return Number.isNaN(date.getTime()) ? String(at) : MOMENT.format(date);
}
