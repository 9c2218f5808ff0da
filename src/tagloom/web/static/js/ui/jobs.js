/** Long work: what runs, how far it is, how to stop it, and how to start more. */

import { get, post } from "../net/api.js";
import { openDialog } from "./dialog.js";
import { button, h, meter } from "./dom.js";
import { count, duration } from "./format.js";
import { store } from "../net/state.js";
import { complain, toast } from "./toast.js";

const WORDS = {
  scan: "Finding photos",
  extract: "Computing features",
  train: "Training",
  compare: "Comparing methods",
  write: "Writing keywords",
  export: "Exporting",
};
const STARTS = [
  ["scan", "Find new photos"],
  ["train", "Train"],
  ["compare", "Compare methods"],
];

/** A button in the bar and the tray that it opens. */
export class Jobs {
  constructor() {
    this.badge = h("span", { class: "badge num" });
    this.open = button("Running work", () => this.#toggle(), { only_icon: true, icon: "work" });
    this.open.setAttribute("aria-expanded", "false");
    this.open.append(this.badge);
    this.list = h("div", { class: "job-list" });
    this.next = h("p", { class: "muted" });
    const starts = h(
      "div",
      { class: "tray-actions" },
      STARTS.map(([kind, label]) => button(label, () => startJob(kind))),
    );
    this.tray = h(
      "div",
      { class: "tray", hidden: true, role: "region", "aria-label": "Running work", "data-testid": "jobs" },
      h("h2", { text: "Work" }),
      this.list,
      this.next,
      starts,
    );
    store.addEventListener("jobs", ({ detail }) => this.#changed(detail));
    store.addEventListener("reset", () => this.load());
    store.addEventListener("project", () => this.tray.hidden || this.#draw());
    document.addEventListener(
      "pointerdown",
      (event) => !this.tray.contains(event.target) && !this.open.contains(event.target) && this.#toggle(false),
    );
    this.tray.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.#toggle(false);
      this.open.focus();
    });
  }

  async load() {
    try {
      const { jobs = [] } = await get("/api/v1/jobs");
      store.jobs.clear(); // what an earlier server ran has ended with it
      for (const job of jobs) store.jobs.set(job.id, job);
      this.#draw();
    } catch {
      // The banner already says that the server is away; the list is read again when it is back.
    }
  }

  #toggle(on = this.tray.hidden) {
    this.tray.hidden = !on;
    this.open.setAttribute("aria-expanded", String(on));
    if (on) this.#draw();
  }

  #changed(job) {
    this.#draw();
    if (!job || job.state === "running") return;
    const name = WORDS[job.kind] ?? job.kind;
    const ends = {
      done: job.message || `${name}: done`,
      failed: `${name}: ${job.message || "failed"}`,
      cancelled: `${name}: stopped`,
    };
    toast(ends[job.state] ?? name, { bad: job.state === "failed" });
  }

  #draw() {
    const jobs = [...store.jobs.values()].sort((a, b) => b.id - a.id).slice(0, 5);
    const running = jobs.find((job) => job.state === "running");
    this.badge.textContent = running
      ? running.total
        ? `${Math.floor((100 * running.done) / running.total)}%`
        : "…"
      : "";
    this.open.classList.toggle("busy", Boolean(running));
    this.list.replaceChildren(
      ...(jobs.length ? jobs.map(line) : [h("p", { class: "muted", text: "Nothing is running." })]),
    );
    this.next.textContent = store.project.next_step ?? "";
  }
}

function line(job) {
  const isRunning = job.state === "running";
  const far = job.total
    ? `${count(job.done)} of ${count(job.total)}${job.seconds_left ? `, ${duration(job.seconds_left)} left` : ""}`
    : job.done
      ? count(job.done)
      : "";
  return h(
    "div",
    { class: "job" },
    h(
      "div",
      { class: "job-line" },
      h("span", { text: WORDS[job.kind] ?? job.kind }),
      isRunning ? button("Stop", () => cancel(job.id)) : h("span", { class: "muted", text: job.state }),
    ),
    isRunning ? meter(job.total ? job.done / job.total : 0) : null,
    h("p", {
      class: "job-note num",
      text: isRunning ? [job.label, far].filter(Boolean).join(": ") : (job.message ?? ""),
    }),
    job.methods?.length ? button("Show methods", () => openMethods(job), { testid: "show-methods" }) : null,
  );
}

/** Show what a comparison found, the best method first. */
function openMethods(job) {
  const figure = (value) => (value === null ? "–" : value.toFixed(3));
  const rows = job.methods.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", text: one.method }),
      one.map === null
        ? h("td", { colspan: "4", class: "muted", text: `Not compared: ${one.why_not}` })
        : [
            h("td", {}, meter(one.map)),
            h("td", { class: "num", text: `${figure(one.map)} (${figure(one.low)} to ${figure(one.high)})` }),
            h("td", { class: "num", text: one.behind ? `−${figure(one.behind)}` : "best" }),
            h("td", { class: "num", text: duration(one.seconds) }),
          ],
    ),
  );
  const heads = ["Method", "", "Mean average precision", "Behind the best", "Time"];
  const note =
    "Labels were hidden fold by fold, and each method found them again. " +
    "To train one of them: tagloom train --method NAME";
  openDialog(
    "Compare methods",
    () => ({
      body: [
        h("p", { class: "muted", text: note }),
        h(
          "table",
          { class: "figures", "data-testid": "methods" },
          h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col", text })))),
          h("tbody", {}, rows),
        ),
      ],
    }),
    { testid: "methods-dialog", wide: true },
  );
}

/**
 * Offers to train as long as there are labels and no model: nothing is suggested before.
 * @returns {HTMLElement}
 */
export function trainOffer() {
  const text = h("p", { role: "status" });
  const train = button("Train", () => startJob("train"), { kind: "primary", testid: "train-first" });
  const element = h("div", { class: "train-offer", "data-testid": "train-offer", hidden: true }, text, train);
  const draw = () => {
    const isRunning = [...store.jobs.values()].some(({ kind, state }) => kind === "train" && state === "running");
    element.hidden = !store.project.id || Boolean(store.project.model) || !store.listed.some(({ n_yes: n }) => n > 0);
    train.hidden = isRunning;
    text.textContent = isRunning ? "Training…" : "No model yet. Train once, and tagloom suggests tags.";
  };
  store.addEventListener("project", draw);
  store.addEventListener("jobs", draw);
  draw();
  return element;
}

/** Start long work. @param {string} kind */
export async function startJob(kind) {
  try {
    const { job } = await post("/api/v1/jobs", { kind });
    if (job?.id !== undefined) store.jobs.set(job.id, job);
    store.emit("jobs", null);
  } catch (error) {
    complain(error);
  }
}

async function cancel(id) {
  try {
    await post(`/api/v1/jobs/${id}/cancel`);
  } catch (error) {
    complain(error);
  }
}
