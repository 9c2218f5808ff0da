/** One photo, large, with all that is said and thought of it. */

import { bulkEdit } from "../grid/bulk.js";
import { calibrationNote } from "../grid/threshold.js";
import * as api from "../net/api.js";
import { outbox } from "../net/outbox.js";
import { largeUrl, store } from "../net/state.js";
import { decide } from "../ui/decide.js";
import { button, firstPaint, h, markPaint } from "../ui/dom.js";
import { count, isolated, plural } from "../ui/format.js";
import { trainOffer } from "../ui/jobs.js";
import { unreadableNote } from "../ui/notice.js";
import { close, go } from "../ui/router.js";
import { TagBox } from "../ui/tags.js";
import { complain, toast } from "../ui/toast.js";
import { aboutPhoto, historyOf, rejectedChips, suggestionRow, tagRow, withoutSaid, withSaid } from "./tags.js";
import { ClipView } from "./clip.js";
import { openWhy } from "./why.js";

const AHEAD = [1, -1, 2];
const NOT_FOUND = 404;

/** One photo, all tags. */
export class PhotoPage {
  id = null;
  detail = null;
  /** The photo as the server gave it: `detail` has what was decided here since. */
  #answer = null;
  #cursor = 0;
  #pictures = new Map();
  #reload = 0;
  #turn = 0;

  constructor() {
    this.under = h("img", { class: "under", alt: "" });
    this.image = h("img", { class: "large", alt: "" });
    this.image.addEventListener("load", () => this.image.classList.add("ready"));
    this.unreadable = unreadableNote(this.image);
    this.clip = new ClipView(this.image);
    this.place = h("span", { class: "place num" });
    this.about = h("div", { class: "about-photo" });
    this.suggested = h("ul", { class: "tag-rows", "aria-label": "Suggested tags" });
    this.accepted = h("ul", { class: "tag-rows", "aria-label": "Tags" });
    this.rest = h("div", { class: "photo-rest" });
    this.box = new TagBox({
      label: "Add a tag",
      placeholder: "Add a tag (t)",
      create: true,
      keep: true,
      target: () => ({ id: this.id, photos: this.photos }),
      pick: (tag, { id, photos }) => (id === this.id && this.detail ? this.#say(tag, 1, "human") : decide(photos, [tag], 1)),
    });
    this.element = h(
      "section",
      { class: "photo-page", "aria-label": "Photo", "data-testid": "photo-view" },
      this.#stage(),
      this.#panel(),
    );
    store.addEventListener(
      "stale",
      ({ detail }) => (detail === null || detail.includes(this.id)) && this.#reloadSoon(),
    );
    store.addEventListener("learned", () => this.#reloadSoon());
    store.addEventListener("withdrawn", ({ detail }) => this.#takeBack(detail));
  }

  get title() {
    return isolated(this.detail?.name ?? "Photo");
  }

  #stage() {
    return h(
      "div",
      { class: "stage" },
      this.under,
      this.image,
      this.unreadable,
      this.clip.video,
      this.clip.strip,
      h(
        "div",
        { class: "stage-top" },
        button("Back", () => this.actions.back(), { icon: "back", key: "Esc" }),
        this.place,
      ),
      h(
        "div",
        { class: "stage-left" },
        button("Previous photo", () => this.#step(-1), { only_icon: true, icon: "left", key: "←" }),
      ),
      h(
        "div",
        { class: "stage-right" },
        button("Next photo", () => this.#step(1), { only_icon: true, icon: "right", key: "→" }),
      ),
    );
  }

  #panel() {
    return h(
      "div",
      { class: "panel" },
      this.about,
      h("section", {}, h("h2", { text: "Suggested" }), calibrationNote(), this.suggested, trainOffer()),
      h("section", {}, h("h2", { text: "Tags" }), this.accepted, this.box.element),
      this.rest,
    );
  }

  /** @param {import("../ui/router.js").Place} place */
  async enter({ id }) {
    this.id = id;
    this.detail = null;
    this.open = [];
    this.#cursor = 0;
    this.clip.show(null);
    document.getElementById("main").focus({ preventScroll: true });
    await this.#show();
    firstPaint();
  }

  leave() {
    this.clip.show(null);
    this.box.input.blur();
  }

  /** Show where in the order the photo is, and get ready for its neighbours. */
  async #findPlace() {
    const { id } = this;
    store.order ??= { ids: (await api.ranking({ sort: "path" })).ids, path: "/" };
    if (id !== this.id) return;
    this.#drawPlace();
    this.#prefetch();
  }

  async #show() {
    const id = this.id;
    const cell = await store.cell(id);
    if (id !== this.id) return;
    if (cell) this.#picture(largeUrl(cell), cell);
    await this.#load();
  }

  /** Show a picture; its address changes with the content of the file, and one that failed is tried again. */
  #picture(address, { thumb, name }) {
    if (this.image.getAttribute("src") === address && this.unreadable.hidden) return;
    this.under.src = thumb;
    this.image.classList.remove("ready");
    this.image.src = address;
    this.image.alt = name;
  }

  async #load() {
    const id = this.id;
    const turn = (this.#turn += 1);
    try {
      const answer = await api.get(`/api/v1/photo/${id}`);
      if (turn !== this.#turn) return;
      // It was on its way when something was decided, and does not know of it.
      if (store.isOld(id, answer.version)) return this.#reloadSoon();
      this.#answer = answer;
      this.detail = store.pending(id).reduce((detail, { tags, ...said }) => withSaid(detail, tags, said), answer);
      if (!answer.clip || this.image.getAttribute("src")?.includes("/frame/") !== true)
        this.#picture(answer.large, answer);
      this.clip.show(answer);
      this.#draw();
      // Without an order the photo is shown all the same; the order is asked for again with it.
      this.#findPlace().catch(() => {});
    } catch (error) {
      if (turn === this.#turn && (!this.detail || error.status === NOT_FOUND)) this.#missing(error);
    }
  }

  #missing(error) {
    this.detail = null;
    this.open = [];
    this.unreadable.hidden = true;
    for (const image of [this.under, this.image]) image.removeAttribute("src");
    this.about.replaceChildren(
      h("h1", { text: "This photo cannot be shown" }),
      h("p", { class: "muted", text: error.message }),
    );
    for (const list of [this.suggested, this.accepted, this.rest]) list.replaceChildren();
  }

  #reloadSoon() {
    if (this.id === null || !this.element.isConnected) return;
    clearTimeout(this.#reload);
    this.#reload = setTimeout(() => this.#load(), 120);
  }

  #draw() {
    const { detail } = this;
    const current = this.open?.[this.#cursor]?.id;
    const byId = new Map(detail.tags.map((tag) => [tag.id, tag]));
    const textOf = (tag) => byId.get(tag)?.text ?? store.tagText(tag);
    const named = (isUnsure) => ([tag, p]) => ({ id: tag, text: textOf(tag), p, isUnsure });
    const sure = detail.suggested.map(named(false));
    this.open = [...sure, ...detail.unsure.map(named(true))];
    // Who is about to press a key means the tag that is marked, wherever it stands now. A less likely one is never
    // marked by itself: a key pressed once too often must not accept it.
    const at = this.open.findIndex(({ id }) => id === current);
    this.#cursor = at < 0 ? Math.min(Math.max(0, this.#cursor), sure.length - 1) : at;
    const say = (tag, state) => this.#say(tag, state, "suggested");
    const why = (tag) => openWhy(this.id, tag);
    const rows = this.open.map((tag, at) => suggestionRow(tag, at === this.#cursor, { say, why }));
    const n = sure.length;
    this.suggested.replaceChildren(...rows.slice(0, n), ...this.#between(n), ...rows.slice(n));
    const yes = detail.tags.filter((tag) => tag.state === 1);
    this.accepted.replaceChildren(
      ...yes.map((tag) => tagRow(tag, { say: (id, state) => this.#say(id, state, "human"), why })),
    );
    if (!yes.length) this.accepted.append(h("li", { class: "muted", text: "No tags yet." }));
    this.about.replaceChildren(...aboutPhoto(detail), ...this.#aboutStack());
    this.rest.replaceChildren(...rejectedChips(detail, (id) => this.#say(id, -1, "human")), ...historyOf(detail));
    const marked = this.open[this.#cursor] ?? yes[0] ?? null;
    this.clip.mark(marked?.id ?? null, marked?.text ?? "");
    document.title = `${isolated(detail.name)} – tagloom`;
  }

  /** What stands between the suggestions and the less likely tags. */
  #between(nSure) {
    const line = (text) => h("li", { class: "muted", text });
    if (this.open.length > nSure)
      return [nSure ? null : line("No suggestions above the threshold."), line("Less likely")].filter(Boolean);
    if (nSure) return [];
    return [line(store.project.model ? "Every tag is decided on this photo." : "No suggestions yet.")];
  }

  /** The photos that a decision is about: a stack that the grid shows as one is decided as one. @returns {number[]} */
  get photos() {
    const query = new URLSearchParams(store.order?.path.split("#")[1] ?? "");
    const stack = query.get("stacks") ? store.cells.get(this.id)?.stack : null;
    return [...new Set([this.id, ...(stack ?? [])])];
  }

  #aboutStack() {
    const n = this.photos.length;
    return n > 1 ? [h("p", { class: "muted", text: `Stack of ${plural(n, "photo")}, decided as one.` })] : [];
  }

  #drawPlace() {
    const at = store.order ? store.order.ids.indexOf(this.id) : -1;
    this.place.textContent = at < 0 ? "" : `${count(at + 1)} of ${count(store.order.ids.length)}`;
  }

  #prefetch() {
    const at = store.order?.ids.indexOf(this.id) ?? -1;
    if (at < 0) return;
    const ids = AHEAD.map((step) => store.order.ids[at + step]).filter((id) => id !== undefined);
    for (const id of ids) this.#prefetchOne(id);
    for (const id of this.#pictures.keys()) if (!ids.includes(id)) this.#pictures.delete(id);
  }

  async #prefetchOne(id) {
    if (this.#pictures.has(id)) return;
    const picture = new Image();
    this.#pictures.set(id, picture);
    const cell = await store.cell(id);
    if (cell) picture.src = largeUrl(cell);
  }

  #say(tag, state, origin) {
    markPaint();
    if (!this.detail) return;
    this.detail = withSaid(this.detail, [tag], { state, origin });
    this.#draw();
    decide(this.photos, [tag], state, origin);
  }

  /** Show of the tags of a decision again what the server had said. */
  #takeBack({ photos, tags }) {
    if (!this.detail || !photos.includes(this.id)) return;
    this.detail = withoutSaid(this.detail, this.#answer, tags);
    this.#draw();
  }

  #current() {
    const tag = this.open?.[this.#cursor];
    const more = this.open?.length ? "↓ for a less likely tag" : "t to add a tag";
    if (!tag) toast(`No suggestions here. Press ${more}, → for the next photo.`);
    return tag;
  }

  #step(by) {
    const ids = store.order?.ids;
    const next = ids ? ids[ids.indexOf(this.id) + by] : undefined;
    if (next === undefined) return toast(by > 0 ? "This is the last photo." : "This is the first photo.");
    this.#goTo(next);
  }

  #goTo(id) {
    if (id !== undefined && id !== this.id) go(`/photo/${id}`, { replace: true });
  }

  /** Go to the next photo of which nothing is said. */
  async #nextOpen() {
    const { id } = this;
    try {
      await outbox.settled();
      const open = new Set((await api.ranking({ state: "unreviewed" })).ids);
      if (id !== this.id || !store.order) return;
      const { ids } = store.order;
      const rest = ids.subarray(ids.indexOf(id) + 1);
      const next = rest.find((other) => open.has(other) && !store.cells.get(other)?.reviewed);
      if (next === undefined) toast("Every photo after this one is labelled.");
      else this.#goTo(next);
    } catch (error) {
      complain(error);
    }
  }

  #choose(by) {
    if (!this.open?.length) return;
    const n = this.open.length;
    this.#cursor = this.#cursor < 0 && by < 0 ? n - 1 : (this.#cursor + by + n) % n;
    this.#draw();
  }

  /** Keys that other pages leave to their grid. @param {KeyboardEvent} event @returns {boolean} */
  key(event) {
    const run = {
      ArrowLeft: () => this.#step(-1),
      ArrowRight: () => this.#step(1),
      ArrowUp: () => this.#choose(-1),
      ArrowDown: () => this.#choose(1),
      Home: () => this.#goTo(store.order?.ids[0]),
      End: () => this.#goTo(store.order?.ids.at(-1)),
    }[event.key];
    if (!run) return false;
    run();
    return true;
  }

  async #edit() {
    const { id } = this;
    const cell = await store.cell(id);
    if (cell && id === this.id) await bulkEdit(this.photos);
  }

  #decideCurrent(state) {
    const tag = this.detail && this.#current();
    if (tag) this.#say(tag.id, state, "suggested");
  }

  get actions() {
    return {
      accept: () => this.#decideCurrent(1),
      reject: () => this.#decideCurrent(0),
      addTag: () => this.box.input.focus(),
      bulk: () => this.#edit(),
      why: () => {
        const tag = this.#current();
        if (tag) openWhy(this.id, tag.id);
      },
      similar: () => go("/", { query: { similar: this.id } }),
      nextOpen: () => this.#nextOpen(),
      back: () => {
        store.lastPhoto = this.id;
        close(store.order?.path ?? "/");
      },
    };
  }
}
