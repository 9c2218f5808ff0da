/** Writing keywords beside the photos, after showing what would change in each file, and exporting them. */

import { get, post } from "../net/api.js";
import { store } from "../net/state.js";
import { openDialog } from "./dialog.js";
import { button, enable, firstPaint, h } from "./dom.js";
import { count, plural } from "./format.js";
import { complain, toast } from "./toast.js";

/** Photos whose files are looked at, for a start and with each "more"; all that the server looks at in one answer. */
const LOOKED = 200;
const MOST_LOOKED = 2000;
const SETTLE_MS = 400;
const NOTE =
  "Keywords go into XMP files beside the photos, which other programs read. " +
  "The photos themselves are not touched, and you can undo every write.";

/** The dry run and the write. */
export class WritePage {
  title = "Write keywords";
  #plan = null;
  #looked = LOOKED;
  #turn = 0;
  #timer = 0;

  constructor() {
    this.summary = h("p", { class: "muted", role: "status" });
    this.write = button("Write", () => this.#start(), { kind: "primary", icon: "write", testid: "write" });
    this.list = h("ul", { class: "plan", "data-testid": "write-plan" });
    this.more = button("Show more files", () => this.#lookFurther(), { testid: "write-more" });
    const actions = h(
      "div",
      { class: "page-actions" },
      button("Export…", openExport, { testid: "export" }),
      button("Check again", () => this.enter()),
      this.write,
    );
    const head = h(
      "header",
      { class: "page-head" },
      h("div", {}, h("h1", { text: "Write keywords" }), this.summary),
      actions,
    );
    const note = h("p", {
      class: "muted",
      text: NOTE,
    });
    this.element = h(
      "section",
      { class: "page scroll", "aria-label": "Write keywords" },
      h("div", { class: "column" }, head, note, this.list, this.more),
    );
    store.addEventListener(
      "jobs",
      ({ detail }) => this.element.isConnected && detail?.kind === "write" && this.#working(detail),
    );
    store.addEventListener("decided", () => this.#soon());
    store.addEventListener("reset", () => this.#soon());
  }

  async enter() {
    this.summary.textContent = "Comparing with the files…";
    enable(this.write, false);
    await this.#load();
    firstPaint();
  }

  /** Something was decided, undone or written: look again, and leave what is shown until the answer is there. */
  #soon() {
    clearTimeout(this.#timer);
    if (!this.element.isConnected) return;
    this.#timer = setTimeout(() => this.element.isConnected && !isWriting() && this.#load(), SETTLE_MS);
  }

  async #load() {
    const turn = (this.#turn += 1);
    try {
      const plan = await get(`/api/v1/write/plan?n=${this.#looked}`);
      if (turn !== this.#turn) return;
      this.#plan = plan;
      this.#draw();
    } catch (error) {
      if (turn !== this.#turn) return;
      enable(this.write, false);
      this.summary.textContent = "The comparison failed.";
      complain(error);
    }
  }

  async #lookFurther() {
    this.#looked = Math.min(this.#looked + LOOKED, MOST_LOOKED);
    enable(this.more, false);
    await this.#load();
    enable(this.more, true);
  }

  #draw() {
    const { files, cut } = this.#plan;
    const listed = files.filter((file) => file.adds.length || file.removes.length || file.conflict);
    // Of a cut plan the rest is not known here: there may be something to write even if the first files are done.
    const canWrite = store.project.can_write !== false && (listed.length > 0 || cut);
    enable(this.write, canWrite);
    this.write.lastChild.textContent = cut
      ? "Write all files"
      : canWrite
        ? `Write ${plural(listed.length, "file")}`
        : "Write";
    this.summary.textContent = summary(listed, this.#plan);
    this.list.replaceChildren(...listed.map(fileLine));
    if (cut) this.list.append(h("li", { class: "muted", text: leftOut(this.#plan) }));
    this.more.hidden = !cut || this.#looked >= MOST_LOOKED;
  }

  async #start() {
    enable(this.write, false);
    try {
      await post("/api/v1/jobs", { kind: "write" });
      this.summary.textContent = "Writing…";
    } catch (error) {
      enable(this.write, true);
      complain(error);
    }
  }

  #working(job) {
    if (job.state === "running")
      this.summary.textContent = job.total ? `Writing: ${count(job.done)} of ${count(job.total)}` : "Writing…";
    else this.enter();
  }

  get actions() {
    return { refresh: () => this.enter() };
  }
}

function isWriting() {
  return [...store.jobs.values()].some((job) => job.kind === "write" && job.state === "running");
}

function summary(listed, plan) {
  if (store.project.can_write === false) return "The photo folder cannot be written to now.";
  if (!listed.length) {
    if (!plan.cut) return "All keywords are written. Nothing to do.";
    return plan.n_asked ? "There may be more to write." : "No decisions since the last write.";
  }
  const conflicts = listed.filter((file) => file.conflict).length;
  const look = conflicts ? `, ${count(conflicts)} of them need a look` : "";
  return `${plan.cut ? "At least " : ""}${plural(listed.length, "file")} would change${look}.`;
}

/** What a cut plan does not say. */
function leftOut({ n_looked, n_photos, n_asked }) {
  const looked = `Only the first ${count(n_looked)} of ${count(n_photos)} photos with keywords were looked at.`;
  return n_asked ? `${looked} Files of up to ${count(n_asked)} more may change.` : looked;
}

function fileLine(file) {
  const slash = file.path.lastIndexOf("/") + 1;
  const name = [h("span", { class: "muted", text: file.path.slice(0, slash) }), file.path.slice(slash)];
  return h(
    "li",
    { class: file.conflict ? "file conflict" : "file" },
    file.photo
      ? h("a", { class: "file-name", href: `/photo/${file.photo}`, "data-link": true }, name)
      : h("span", { class: "file-name" }, name),
    h(
      "span",
      { class: "chips" },
      file.adds.map((text) => h("span", { class: "chip plus", text })),
      file.removes.map((text) => h("span", { class: "chip minus", text })),
    ),
    file.conflict
      ? h("span", { class: "file-note", text: file.problem ?? "Another program changed it too: both changes are kept." })
      : null,
  );
}

const FORMATS = [
  ["csv", "CSV table"],
  ["tsv", "TSV table"],
  ["jsonl", "JSON lines"],
  ["parquet", "Parquet table"],
  ["coco", "COCO"],
  ["cvat", "CVAT"],
  ["label-studio", "Label Studio"],
  ["fiftyone", "FiftyOne"],
  ["huggingface", "Hugging Face image folder"],
  ["webdataset", "WebDataset"],
];

/** Ask what to export and start it. @returns {Promise<void>} */
async function openExport() {
  const chosen = await openDialog("Export keywords", (close) => {
    const format = h(
      "select",
      { autofocus: true },
      FORMATS.map(([value, text]) => h("option", { value, text })),
    );
    const accepted = h("input", { type: "checkbox", checked: true });
    return {
      body: [
        h("label", { class: "field" }, "Format", format),
        h("label", { class: "check" }, accepted, "Accepted keywords only, no suggestions"),
        h("p", {
          class: "muted",
          text: "The file goes to the project’s export folder. You see its name when it is ready.",
        }),
      ],
      foot: [
        button("Cancel", () => close()),
        button("Export", () => close({ format: format.value, accepted_only: accepted.checked }), { kind: "primary" }),
      ],
    };
  });
  if (!chosen) return;
  try {
    await post("/api/v1/jobs", { kind: "export", ...chosen });
    toast("Exporting…");
  } catch (error) {
    complain(error);
  }
}
