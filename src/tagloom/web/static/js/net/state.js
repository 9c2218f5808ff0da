/**
 * What this tab knows: the project, its tags, cells of photos, and the order last shown. Views listen to its events.
 */

import * as api from "./api.js";
import { isolated } from "../ui/format.js";

const MOST_CELLS = 20000;
const CELLS_PER_REQUEST = 150;
const NOT_FOUND = 404;

/**
 * @typedef {{id: number, name: string, width: number, height: number, thumb: string, yes: number[], no: number[],
 *   suggested: [number, number][], unsure: [number, number][], stack: number[] | null, reviewed: boolean,
 *   clip: {duration: number, times: number[], sound: boolean, type: string | null, with_photo: boolean} | null}} Cell
 *   `clip`: of a video
 * @typedef {{photos: number[], tags: number[], state: 1 | 0 | -1, origin: string, paired?: boolean, key?: string,
 *   isSent?: boolean, isRevoked?: boolean}} Decision every tag of every photo; `paired`: photos and tags stand side by
 *   side; the rest is the outbox's
 */

/**
 * Events: project, progress, cells (detail: ids that came), stale (ids, or null for all), aged (numbers of all may be
 * others), withdrawn (a decision), learned, looks, decided, jobs, reset, link.
 */
class Store extends EventTarget {
  project = {
    id: null,
    name: "",
    tags: [],
    folders: [],
    n_photos: 0,
    kind: "probability",
    progress: null,
    can_write: false,
    model: null,
  };
  tags = new Map();
  /** Tags that have become others. @type {Map<number, {id: number, text: string, into: number}>} */
  merged = new Map();
  cells = new Map();
  jobs = new Map();
  progress = null;
  version = 0;
  /**
   * The order last shown, so that the photo page knows what comes next.
   * @type {{ids: Int32Array, path: string} | null}
   */
  order = null;
  /**
   * The photo that the photo page was on when it was left; the page it came from puts its cursor there.
   * @type {number | null}
   */
  lastPhoto = null;
  #stale = new Set();
  /** Which cells are being read; whether more than numbers of them may have changed. @type {Map<number, boolean>} */
  #asked = new Map();
  #age = 0;
  /** At which age a cell was asked for. @type {Map<number, number>} */
  #ageOf = new Map();
  #wanted = new Set();
  #timer = 0;
  #floor = new Map();
  #floorOfAll = 0;
  #overlays = new Set();
  /** Cells as the server gave them, where decisions on their way are shown: one that is taken back leaves no trace. */
  #bases = new Map();
  #batches = new WeakMap();
  #reload = 0;

  emit(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  async loadProject() {
    this.project = await api.get("/api/v1/project");
    api.bind(this.project.id);
    this.tags = new Map(this.project.tags.map((tag) => [tag.id, tag]));
    this.merged = new Map(this.project.merged.map((tag) => [tag.id, tag]));
    this.version = Math.max(this.version, this.project.version ?? 0);
    this.progress = this.project.progress ?? this.progress;
    this.emit("project");
    this.emit("progress");
  }

  /** Counts per tag change with every decision: read them again, but not after each key. */
  reloadProjectSoon() {
    clearTimeout(this.#reload);
    this.#reload = setTimeout(() => this.loadProject().catch(() => {}), 900);
  }

  /** The tags to list and to complete: those of which nothing stands any more only have a name. @returns {any[]} */
  get listed() {
    return [...this.tags.values()].filter((tag) => tag.listed);
  }

  tagText(id) {
    return isolated(this.tags.get(id)?.text ?? `tag ${id}`);
  }

  /** Ask for cells that are missing, stale or aged; "cells" is emitted when they have come. */
  want(ids) {
    for (const id of ids) {
      const isCurrent = this.cells.has(id) && !this.#stale.has(id) && !this.#isAged(id);
      if (!isCurrent && !this.#asked.has(id)) this.#wanted.add(id);
    }
    if (this.#wanted.size && !this.#timer) this.#timer = setTimeout(() => this.#fetchWanted(), 0);
  }

  #fetchWanted() {
    this.#timer = 0;
    const ids = [...this.#wanted];
    this.#wanted.clear();
    for (let start = 0; start < ids.length; start += CELLS_PER_REQUEST)
      this.#fetch(ids.slice(start, start + CELLS_PER_REQUEST));
  }

  async #fetch(ids) {
    for (const id of ids) {
      this.#asked.set(id, !this.cells.has(id) || this.#stale.has(id));
      this.#stale.delete(id);
      this.#ageOf.set(id, this.#age);
    }
    let again = [];
    try {
      const answer = await api.get(`/api/v1/cells?ids=${ids.join(",")}`);
      this.#put(answer.cells, answer.version);
      // What was said while the answer was on its way is not in it.
      again = ids.filter((id) => this.#stale.has(id));
    } catch (error) {
      for (const id of ids) this.#stale.add(id);
      if (error.status === NOT_FOUND && ids.length > 1) return this.#fetchHalves(ids);
    } finally {
      for (const id of ids) this.#asked.delete(id);
    }
    this.emit("cells", ids);
    if (again.length) this.emit("stale", again);
    else if (ids.some((id) => this.#isAged(id))) this.emit("aged");
  }

  /** One photo that is gone must not hide the others that were asked for with it. */
  #fetchHalves(ids) {
    const middle = ids.length >> 1;
    return Promise.all([this.#fetch(ids.slice(0, middle)), this.#fetch(ids.slice(middle))]);
  }

  #put(cells, version) {
    for (const cell of cells) {
      cell.name = isolated(cell.name);
      const isOld = this.isOld(cell.id, version);
      if (isOld) this.#stale.add(cell.id);
      if (isOld && this.cells.has(cell.id)) continue;
      this.cells.delete(cell.id);
      this.#show(cell);
    }
    for (const id of this.cells.keys()) {
      if (this.cells.size <= MOST_CELLS) break;
      this.cells.delete(id);
    }
  }

  /** Show a cell of the server with what was decided since. */
  #show(cell) {
    let shown = cell;
    for (const decision of this.#overlays) shown = decided(shown, tagsOf(decision, cell.id), decision.state);
    this.cells.set(cell.id, shown);
    if (shown === cell) this.#bases.delete(cell.id);
    else this.#bases.set(cell.id, cell);
  }

  #floorOf(id) {
    return Math.max(this.#floorOfAll, this.#floor.get(id) ?? 0);
  }

  /** @param {number} id @param {number} version @returns {boolean} whether an answer is older than what is known */
  isOld(id, version) {
    return version < this.#floorOf(id);
  }

  /** @param {number} id @param {number} version @returns {boolean} whether news of a photo are no news here */
  knows(id, version) {
    return version <= this.#floorOf(id);
  }

  /** Another server answers from now on: what the one before has said of versions does not bind it. */
  forgetVersions() {
    this.version = this.#floorOfAll = 0;
    this.#floor.clear();
  }

  /** One photo's cell now or when it has come. @param {number} id @returns {Promise<Cell | undefined>} */
  cell(id) {
    if (this.cells.has(id) && !this.#stale.has(id)) return Promise.resolve(this.cells.get(id));
    return new Promise((resolve) => {
      const listen = ({ detail }) => {
        if (!detail?.includes(id)) return;
        this.removeEventListener("cells", listen);
        resolve(this.cells.get(id));
      };
      this.addEventListener("cells", listen);
      this.want([id]);
    });
  }

  /** Whether a photo's cell is there and nothing is known to have been said of it since. @param {number} id */
  isFresh(id) {
    return this.cells.has(id) && !this.#stale.has(id) && !this.#asked.get(id);
  }

  #isAged(id) {
    return (this.#ageOf.get(id) ?? 0) < this.#age;
  }

  /**
   * The model has learned: numbers and suggestions of all cells may be others. What is on the screen is read again;
   * nothing was said, so that what is shown may be decided meanwhile.
   */
  age() {
    this.#age += 1;
    this.emit("aged");
  }

  /**
   * Cells of many photos: those that have not come, or may have changed since, are read now.
   * @param {number[]} ids
   * @returns {Promise<Map<number, Cell>>} all of them; where one cannot be read, the error is thrown
   */
  async cellsOf(ids) {
    const found = new Map();
    const missing = [];
    for (const id of ids) this.isFresh(id) ? found.set(id, this.cells.get(id)) : missing.push(id);
    for (let start = 0; start < missing.length; start += CELLS_PER_REQUEST) {
      const part = missing.slice(start, start + CELLS_PER_REQUEST);
      const age = this.#age;
      const { cells, version } = await api.get(`/api/v1/cells?ids=${part.join(",")}`);
      for (const { id } of cells) {
        this.#stale.delete(id);
        this.#ageOf.set(id, age);
      }
      this.#put(cells, version);
      for (const { id } of cells) found.set(id, this.cells.get(id));
      this.emit("cells", part);
    }
    return found;
  }

  /** Show a decision before the server has confirmed it. @param {Decision} decision */
  overlay(decision) {
    this.#overlays.add(decision);
    const { photos, tags, state, paired } = decision;
    photos.forEach((id, at) => {
      const cell = this.cells.get(id);
      if (!cell) return;
      if (!this.#bases.has(id)) this.#bases.set(id, cell);
      this.cells.set(id, decided(cell, paired ? [tags[at]] : tags, state));
    });
    this.emit("cells", photos);
  }

  /** @param {number} id @param {number} tag @returns {1 | 0 | -1 | undefined} what was decided and is not confirmed */
  onItsWay(id, tag) {
    return this.pending(id).findLast(({ tags }) => tags.includes(tag))?.state;
  }

  /**
   * What was decided of a photo and is not confirmed, in the order in which it was.
   * @param {number} id
   * @returns {{tags: number[], state: 1 | 0 | -1, origin: string}[]}
   */
  pending(id) {
    return [...this.#overlays]
      .map((decision) => ({ tags: tagsOf(decision, id), state: decision.state, origin: decision.origin }))
      .filter(({ tags }) => tags.length);
  }

  /** The server has it: answers older than `version` no longer count for these photos. */
  confirm(decision, { version, batch }) {
    this.#overlays.delete(decision);
    this.#batches.set(decision, batch);
    this.#raise(decision.photos, version);
    for (const id of decision.photos) {
      const base = this.#bases.get(id);
      if (base) this.#show(decided(base, tagsOf(decision, id), decision.state));
    }
    // A tag that is open again may be suggested again, and of a photo that never came only the server knows anything.
    if (decision.state === -1 || decision.photos.some((id) => !this.cells.has(id))) this.invalidate(decision.photos);
  }

  /**
   * @param {Decision} decision
   * @returns {number | null | undefined} the action it is in the history; null if it changed nothing, undefined if the
   *   server does not have it
   */
  batchOf(decision) {
    return this.#batches.get(decision);
  }

  /** The server refused it, or it was taken back: show what the server says. */
  withdraw(decision) {
    this.#overlays.delete(decision);
    for (const id of decision.photos) if (this.#bases.has(id)) this.#show(this.#bases.get(id));
    this.emit("cells", decision.photos);
    this.emit("withdrawn", decision);
    this.invalidate(decision.photos);
  }

  /** Answers older than a version no longer count for these photos (or all). */
  #raise(ids, version) {
    this.version = Math.max(this.version, version);
    if (ids === null) this.#floorOfAll = Math.max(this.#floorOfAll, version);
    for (const id of ids ?? []) this.#floor.set(id, Math.max(this.#floor.get(id) ?? 0, version));
  }

  /**
   * These cells (or all) are no longer what the server has; what is on screen is read again.
   * @param {number[] | null} ids
   * @param {number} [version] of the server's answer that says so
   */
  invalidate(ids, version = 0) {
    this.#raise(ids, version);
    for (const id of ids ?? this.cells.keys()) this.#stale.add(id);
    this.emit("stale", ids);
  }
}

/** @param {Decision} decision @param {number} id @returns {number[]} the tags that it is about on one photo */
function tagsOf({ photos, tags, paired }, id) {
  if (!paired) return photos.includes(id) ? tags : [];
  return tags.filter((_, at) => photos[at] === id);
}

/**
 * A cell as it looks after a decision.
 * @param {Cell} cell
 * @param {number[]} tags
 * @param {1 | 0 | -1} state
 * @returns {Cell}
 */
function decided(cell, tags, state) {
  if (!tags.length) return cell;
  const others = (list) => list.filter((tag) => !tags.includes(tag));
  return {
    ...cell,
    yes: state === 1 ? [...others(cell.yes), ...tags] : others(cell.yes),
    no: state === 0 ? [...others(cell.no), ...tags] : others(cell.no),
    suggested: cell.suggested.filter(([tag]) => !tags.includes(tag)),
    unsure: cell.unsure.filter(([tag]) => !tags.includes(tag)),
    reviewed: cell.reviewed || state >= 0,
  };
}

/**
 * The address of the large picture; the thumbnail's content hash makes it cacheable for ever.
 * @param {Cell} cell
 * @returns {string}
 */
export function largeUrl(cell) {
  return `/api/v1/photo/${cell.id}/large?v=${versionOf(cell)}`;
}

const versionOf = ({ thumb }) => new URL(thumb, location.origin).searchParams.get("v") ?? "";

/** @param {{id: number, thumb: string}} cell @param {number} at which key frame of a video @returns {string} */
export function frameUrl(cell, at) {
  return `/api/v1/photo/${cell.id}/frame/${at}?v=${versionOf(cell)}`;
}

/** @param {{id: number, thumb: string}} cell @returns {string} */
export function videoUrl(cell) {
  return `/api/v1/photo/${cell.id}/video?v=${versionOf(cell)}`;
}

export const store = new Store();
