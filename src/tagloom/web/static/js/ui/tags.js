/** Choosing a tag by typing: a combobox over the vocabulary and its aliases, by the ARIA pattern. */

import { ensureTags } from "./decide.js";
import { h } from "./dom.js";
import { count } from "./format.js";
import { store } from "../net/state.js";
import { complain, speak } from "./toast.js";

const MOST = 12;
let serial = 0;

/**
 * Tags that match what was typed: the same words first, also as an alias, then beginnings, words, then anywhere, then
 * other aliases.
 * @param {string} typed
 * @param {Iterable<{id: number, text: string, aliases: string[], n_yes: number}>} tags
 * @returns {{tag: any, alias: string | null, rank: number}[]}
 */
export function matches(typed, tags) {
  const wanted = fold(typed);
  const found = [];
  for (const tag of tags) {
    const rank = rankOf(fold(tag.text), wanted);
    if (rank < 3) {
      found.push({ tag, alias: null, rank });
      continue;
    }
    const ranks = (tag.aliases ?? []).map((alias) => ({ alias, rank: rankOf(fold(alias), wanted) }));
    const best = ranks.sort((a, b) => a.rank - b.rank)[0];
    if (best?.rank < 3) found.push({ tag, alias: best.alias, rank: best.rank < 0 ? best.rank : 3 });
  }
  found.sort((a, b) => a.rank - b.rank || b.tag.n_yes - a.tag.n_yes || a.tag.text.localeCompare(b.tag.text));
  return found;
}

function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase().trim();
}

/** What spellings of one tag share for the server: no capitals, one Unicode form, single blanks. */
function spelled(text) {
  return text.normalize("NFC").replace(/\s+/gu, " ").trim().toLowerCase();
}

function rankOf(text, wanted) {
  if (text === wanted) return -1;
  if (text.startsWith(wanted)) return 0;
  if (text.includes(` ${wanted}`)) return 1;
  return text.includes(wanted) ? 2 : 3;
}

/**
 * A combobox; `pick` is called with the id of the chosen tag. Where tags can be made, Enter takes what was typed: a tag
 * that is only like it has to be chosen. Tab completes what was typed, and goes on where there is nothing to complete.
 */
export class TagBox {
  #options = [];
  #active = 0;
  /** Whether the arrows have chosen what is active. */
  #isChosen = false;

  /**
   * @param {{label: string, pick: (tag: number, target?: any) => void, target?: () => any, create?: boolean, up?:
   *   boolean, flow?: boolean, testid?: string, keep?: boolean, quiet?: boolean, single?: boolean, placeholder?:
   *   string}} options `quiet` opens the list only once something is typed; `target` says what the tag is for at the
   *   moment it is chosen; `single`: what was typed is one tag, and no list
   */
  constructor(options) {
    this.options = options;
    this.id = `tags-${(serial += 1)}`;
    this.input = this.#makeInput();
    const look = `combo-list ${options.flow ? "flow" : ""}`;
    this.list = h("div", {
      id: this.id,
      role: "listbox",
      class: look,
      "aria-label": options.label,
      // Browsers let Tab stop at what scrolls; the list is gone by then, and the focus with it.
      tabindex: "-1",
      hidden: true,
    });
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const node = event.target.closest("[role=option]");
      if (node) this.#pick(Number(node.dataset.at));
    });
    this.element = h("div", { class: `combo ${options.up ? "up" : ""}` }, this.input, this.list);
  }

  #makeInput() {
    const { label, placeholder, testid, quiet } = this.options;
    return h("input", {
      class: "input",
      type: "text",
      role: "combobox",
      "aria-label": label,
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": this.id,
      autocomplete: "off",
      spellcheck: "false",
      maxlength: "200",
      placeholder: placeholder ?? label,
      "data-testid": testid ?? "tag-input",
      on: {
        input: () => this.#open(),
        focus: () => {
          // What was left here is replaced by what is typed now, and not continued.
          this.input.select();
          if (!quiet) this.#open();
        },
        blur: () => this.#close(),
        keydown: (event) => this.#key(event),
      },
    });
  }

  #open() {
    if (!store.project.id) this.#openLater();
    const typed = this.input.value.trim();
    const found = matches(typed, store.listed).slice(0, MOST);
    const isKnown = found[0]?.rank < 0;
    const isSame = found.some(({ tag, alias }) => spelled(alias ?? tag.text) === spelled(typed));
    const made = this.options.create && typed && !isSame ? [{ make: typed }] : [];
    this.#options = isKnown ? [...found, ...made] : [...made, ...found];
    this.#active = this.options.create && !typed ? -1 : 0;
    this.#isChosen = false;
    this.list.replaceChildren(...this.#options.map((option, at) => this.#option(option, at, typed)));
    this.list.hidden = this.#options.length === 0;
    this.#point();
  }

  /** Photos may be shown before tags are known: who is here by then sees them when they come. */
  #openLater() {
    const open = () => document.activeElement === this.input && this.list.hidden && this.#open();
    store.addEventListener("project", open, { once: true });
  }

  #option(option, at, typed) {
    const props = {
      class: "combo-option",
      role: "option",
      id: `${this.id}-${at}`,
      "data-at": at,
      "data-testid": "tag-option",
    };
    if (option.make) return h("div", props, h("span", {}, "New tag “", h("strong", { text: option.make }), "”"));
    const { tag, alias } = option;
    const note = alias === null ? (tag.n_yes ? count(tag.n_yes) : "") : `also: ${alias}`;
    return h("div", props, h("span", {}, highlighted(tag.text, typed)), h("span", { class: "note num", text: note }));
  }

  #point() {
    const open = !this.list.hidden;
    this.input.setAttribute("aria-expanded", String(open));
    [...this.list.children].forEach((node, at) => node.setAttribute("aria-selected", String(at === this.#active)));
    const node = open ? this.list.children[this.#active] : null;
    if (node) {
      this.input.setAttribute("aria-activedescendant", node.id);
      node.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  #close() {
    this.list.hidden = true;
    this.#point();
  }

  /** Put the tag that was chosen, or the first one like what was typed, into the box. @returns {boolean} */
  #complete() {
    const typed = this.input.value.trim();
    const option = this.#isChosen ? this.#options[this.#active] : typed && this.#options.find(({ tag }) => tag);
    const text = option?.tag?.text;
    if (this.list.hidden || text === undefined || text === typed) return false;
    this.input.value = text;
    this.#open();
    speak(text);
    return true;
  }

  #key(event) {
    if (event.isComposing) return;
    const n = this.#options.length;
    const next = { ArrowDown: this.#active + 1, ArrowUp: this.#active < 1 ? n - 1 : this.#active - 1 }[event.key];
    if (next !== undefined) {
      if (this.list.hidden) this.#open();
      else this.#active = next % n;
      this.#isChosen = true;
      this.#point();
    } else if (event.key === "Enter" && !this.list.hidden) this.#pick(this.#active);
    else if (event.key === "Escape" && !this.list.hidden && this.input.value) {
      this.input.value = "";
      this.#close();
    } else if (event.key !== "Tab" || hasModifier(event) || !this.#complete()) return;
    event.preventDefault();
    event.stopPropagation();
  }

  async #pick(at) {
    const option = this.#options[at];
    if (!option) return;
    this.input.value = "";
    this.#close();
    if (!this.options.keep) this.input.blur();
    const target = this.options.target?.(); // who types a new tag may have moved on when the server knows it
    try {
      const tags = option.make ? await ensureTags(option.make, { single: this.options.single }) : [option.tag.id];
      if (!tags.length) this.input.value = option.make;
      for (const tag of tags) this.options.pick(tag, target);
    } catch (error) {
      // Nothing that was typed is lost.
      if (option.make && !this.input.value) this.input.value = option.make;
      complain(error);
    }
  }
}

function hasModifier({ altKey, ctrlKey, metaKey, shiftKey }) {
  return altKey || ctrlKey || metaKey || shiftKey;
}

function highlighted(text, typed) {
  const at = typed ? text.toLocaleLowerCase().indexOf(typed.toLocaleLowerCase()) : -1;
  if (at < 0) return [text];
  return [text.slice(0, at), h("mark", { text: text.slice(at, at + typed.length) }), text.slice(at + typed.length)];
}
