/** The bar at the top: pages, search, progress, undo, theme, help; and the banner for a server that is away. */

import { outbox } from "../net/outbox.js";
import { store } from "../net/state.js";
import { redo, undo } from "./decide.js";
import { button, h, icon, meter } from "./dom.js";
import { count, duration, plural } from "./format.js";
import { Jobs } from "./jobs.js";
import { go, place } from "./router.js";
import { openHelp } from "./shortcuts.js";
import { recall, toggleTheme } from "./theme.js";

const TYPING_MS = 220;
const PAGES = [
  ["grid", "/", "Photos", "grid"],
  ["lens", "", "Lens", "lens"],
  ["teach", "/teach", "Teach", "teach"],
  ["history", "/history", "History", "history"],
  ["write", "/write", "Write", "write"],
];

/** The tag the lens was on last, else the one with most suggestions; without any tag, what a lens is. @returns {string} */
export function lensPath() {
  const last = Number(recall("tagloom-lens", "0"));
  if (store.tags.get(last)?.listed) return `/tag/${last}`;
  const best = store.listed.sort((a, b) => (b.n_suggested ?? 0) - (a.n_suggested ?? 0))[0];
  return best ? `/tag/${best.id}` : "/lens";
}

/** What is on every page. */
export class Bar {
  #timer = 0;

  /** @param {HTMLElement} element @param {HTMLElement} banner */
  constructor(element, banner) {
    this.banner = banner;
    this.links = new Map(
      PAGES.map(([page, path, text, name]) => [
        page,
        h("a", { href: path || "/", "data-link": true }, icon(name), h("span", { text })),
      ]),
    );
    this.jobs = new Jobs();
    this.name = h("span", { class: "project-name" });
    this.progress = h("div", { class: "progress", "data-testid": "progress" });
    const brand = h(
      "a",
      { class: "brand", href: "/", "data-link": true, "aria-label": "tagloom: all photos" },
      h("span", { class: "brand-mark" }),
      h("span", { text: "tagloom" }),
    );
    element.append(
      brand,
      this.name,
      h("nav", { class: "nav", "aria-label": "Pages" }, [...this.links.values()]),
      this.#search(),
      this.progress,
      this.#tools(),
      this.jobs.tray,
    );
    store.addEventListener("project", () => this.#drawProject());
    store.addEventListener("progress", () => this.#drawProgress());
    store.addEventListener("link", ({ detail }) => ((this.link = detail), this.#drawBanner()));
    outbox.addEventListener("change", () => this.#drawBanner());
    this.link = { on: true, why: null, isForeign: false };
  }

  #search() {
    this.search = h("input", {
      class: "input",
      type: "search",
      placeholder: "Search tags, names",
      "aria-label": "Search tags and file names",
      maxlength: "300",
      "data-testid": "search",
      on: {
        input: () => this.#searchSoon(),
        keydown: (event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            this.#find(true);
          } else if (event.key === "Escape") this.#giveUp();
        },
      },
    });
    return h(
      "div",
      { class: "search", role: "search" },
      this.search,
      icon("search"),
      h("kbd", { "aria-hidden": "true", text: "/" }),
    );
  }

  #tools() {
    return h(
      "div",
      { class: "tools" },
      button("Undo", undo, { only_icon: true, icon: "undo", key: "u", testid: "undo" }),
      h(
        "span",
        { class: "wide-only" },
        button("Redo", redo, { only_icon: true, icon: "redo", key: "U", testid: "redo" }),
      ),
      this.jobs.open,
      button("Dark or light", toggleTheme, { only_icon: true, icon: "theme", key: "d" }),
      h("span", { class: "wide-only" }, button("All keys", openHelp, { only_icon: true, icon: "help", key: "?" })),
    );
  }

  #searchSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(false), TYPING_MS);
  }

  #find(leave) {
    clearTimeout(this.#timer);
    if (leave) this.search.blur();
    const now = place();
    const query = { ...(now.page === "grid" ? now.query : {}), similar: null, q: this.search.value.trim() };
    go("/", { query, replace: now.page === "grid" });
  }

  /** What stands in the box is again what is searched for. */
  #giveUp() {
    clearTimeout(this.#timer);
    this.search.value = searched(place());
  }

  /** @param {import("./router.js").Place} now */
  show(now) {
    for (const [page, link] of this.links) {
      if (page === now.page || (page === "grid" && now.page === "photo")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (document.activeElement !== this.search) this.search.value = searched(now);
    this.links.get("lens").setAttribute("href", lensPath());
  }

  #drawProject() {
    this.name.textContent = store.project.name;
    this.name.title = store.project.root ?? "";
    this.links.get("lens").setAttribute("href", lensPath());
  }

  #drawProgress() {
    const now = store.progress;
    if (!now) return;
    const left =
      Number.isFinite(now.minutes_left) && now.minutes_left > 0 ? `, ${duration(now.minutes_left * 60)} left` : "";
    this.progress.replaceChildren(
      h(
        "p",
        { class: "num" },
        h("strong", { text: count(now.n_reviewed) }),
        ` of ${count(now.n_photos)} reviewed${left}`,
      ),
      meter(now.n_reviewed / Math.max(1, now.n_photos)),
      h("p", {
        class: "num",
        text: now.expected_missing >= 1 ? `about ${plural(Math.round(now.expected_missing), "keyword")} missing` : "",
      }),
    );
  }

  #drawBanner() {
    const isAway = !this.link.on || outbox.trouble !== null;
    this.banner.hidden = !isAway;
    if (!isAway) return;
    const why = this.link.why ?? outbox.trouble ?? "The server does not answer.";
    const isForeign = outbox.isForeign || this.link.isForeign;
    const isFull = outbox.cannotStore && this.link.on;
    const again = isFull ? "they can be stored" : "it is back";
    const back = isForeign ? `“${store.project.name}” is reviewed here again` : again;
    const kept = outbox.size
      ? waiting(outbox.size - outbox.nRevoked, outbox.nRevoked, back)
      : isForeign
        ? "Reload the page to go there."
        : "Trying again…";
    this.banner.replaceChildren(h("span", { text: sentence(why) }), h("span", { text: kept }));
  }
}

/** What is done with the decisions that wait. */
function waiting(n, nRevoked, back) {
  const sent = n ? `${plural(n, "decision is", "decisions are")} kept here and will be sent when ${back}.` : "";
  if (!nRevoked) return sent;
  const revoked = `${plural(nRevoked, "decision")} will be taken back ${n ? "then" : `when ${back}`}.`;
  return sent ? `${sent} ${revoked}` : revoked;
}

function searched(now) {
  return now.page === "grid" ? (now.query.q ?? "") : "";
}

function sentence(text) {
  const words = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(words) ? words : `${words}.`;
}
