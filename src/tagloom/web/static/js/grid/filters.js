/** The bar above the grid: sort, state, tag, folder, dates, stacks. */

import { button, h } from "../ui/dom.js";
import { plural } from "../ui/format.js";
import { store } from "../net/state.js";
import { TagBox } from "../ui/tags.js";

const SORTS = [
  ["path", "Name"],
  ["time", "Time"],
  ["score", "Likelihood"],
  ["uncertainty", "Uncertainty"],
  ["cluster", "Alike together"],
];
const STATES = [
  ["any", "All photos"],
  ["unreviewed", "Not reviewed"],
  ["suggested", "With suggestions"],
  ["has", "With tags"],
  ["rejected", "With rejections"],
  ["conflicts", "Conflicts"],
];
const MOST_FOLDERS = 2000;

/** Filters as one object (`query`); `change` is called with it when a person changes something. */
export class Filters {
  query = {};

  /** @param {(query: Record<string, any>) => void} change */
  constructor(change) {
    this.change = change;
    this.sort = this.#select("sort", "Sort by", SORTS);
    this.state = this.#select("state", "Show", STATES);
    this.folder = this.#select("folder", "Folder", []);
    this.since = this.#date("since", "From");
    this.until = this.#date("until", "To");
    this.tag = new TagBox({
      label: "Filter by tag",
      placeholder: "Any tag",
      testid: "filter-tag",
      pick: (tag) => this.#set("tag", tag),
    });
    this.stacks = h("input", {
      type: "checkbox",
      on: { change: () => this.#set("stacks", this.stacks.checked ? 1 : null) },
    });
    this.unsure = h("input", {
      type: "checkbox",
      "data-testid": "show-unsure",
      on: { change: () => this.#set("unsure", this.unsure.checked ? 1 : null) },
    });
    this.found = h("span", { class: "found num", role: "status" });
    this.pills = h("div", { class: "notice", hidden: true });
    this.bar = this.#makeBar();
    store.addEventListener("project", () => this.#folders());
    this.#folders();
  }

  #makeBar() {
    const toggle = button(
      "Filters",
      () => toggle.setAttribute("aria-expanded", String(this.bar.classList.toggle("expanded"))),
      { icon: "filter", kind: "more-toggle" },
    );
    toggle.setAttribute("aria-expanded", "false");
    const stacks = h("label", { class: "check" }, this.stacks, "Stacks");
    const unsure = h("label", { class: "check", title: "Tags below the threshold" }, this.unsure, "Less likely tags");
    const more = h("div", { class: "more" }, this.tag.element, stacks, unsure);
    const rare = h("div", { class: "rare" }, this.folder, this.since, this.until);
    return h(
      "div",
      { class: "filters", role: "group", "aria-label": "Filters" },
      this.sort,
      this.state,
      more,
      toggle,
      rare,
      h("span", { class: "spacer" }),
      this.found,
    );
  }

  /** @param {Record<string, any>} query what the address says */
  show(query) {
    this.query = query;
    for (const name of ["sort", "state", "folder"])
      this[name].querySelector("select").value =
        query[name] ?? (name === "sort" ? "path" : name === "state" ? "any" : "");
    for (const name of ["since", "until"]) this[name].querySelector("input").value = query[name] ?? "";
    this.stacks.checked = Boolean(query.stacks);
    this.unsure.checked = Boolean(query.unsure);
    // A filter that is set is never out of sight.
    if (query.folder || query.since || query.until) this.bar.classList.add("expanded");
    this.#drawPills();
  }

  /** @param {number} n */
  set count(n) {
    this.found.textContent = plural(n, "photo");
  }

  #set(name, value) {
    const query = { ...this.query, [name]: value === "" ? null : value };
    this.show(query);
    this.change(query);
  }

  #select(name, label, options) {
    const select = h(
      "select",
      { "aria-label": label, on: { change: () => this.#set(name, select.value) } },
      options.map(([value, text]) => h("option", { value, text })),
    );
    return h("label", { class: "inline" }, name === "sort" ? h("span", { text: label }) : null, select);
  }

  #date(name, label) {
    const input = h("input", {
      class: "input",
      type: "date",
      "aria-label": `${label} date`,
      on: { change: () => this.#set(name, input.value) },
    });
    return h("label", { class: "inline" }, h("span", { text: label }), input);
  }

  #folders() {
    const select = this.folder.querySelector("select");
    const folders = (store.project.folders ?? []).filter(Boolean).slice(0, MOST_FOLDERS);
    select.replaceChildren(
      h("option", { value: "", text: "All folders" }),
      ...folders.map((folder) => h("option", { value: folder, text: folder })),
    );
    select.value = this.query.folder ?? "";
    this.folder.hidden = folders.length === 0;
    this.since.hidden = this.until.hidden = !store.project.dates;
    this.bar.classList.toggle("plain", folders.length === 0 && !store.project.dates);
    this.#drawPills();
  }

  #drawPills() {
    const { tag, similar, q } = this.query;
    const pills = [];
    if (tag) pills.push(this.#pill(`Tag: ${store.tagText(Number(tag))}`, "tag"));
    if (q) pills.push(this.#pill(`Search: ${q}`, "q"));
    if (similar) pills.push(this.#similarPill(Number(similar)));
    this.pills.replaceChildren(...pills);
    this.pills.hidden = pills.length === 0;
  }

  #pill(text, name) {
    const drop = button(`Remove: ${text}`, () => this.#set(name, null), { only_icon: true, icon: "cross" });
    return h("span", { class: "pill" }, text, drop);
  }

  #similarPill(id) {
    const pill = this.#pill("Similar to this photo", "similar");
    store.cell(id).then((cell) => cell && pill.prepend(h("img", { src: cell.thumb, alt: "" })));
    return pill;
  }
}
