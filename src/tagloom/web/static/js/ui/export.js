/** Keywords for other programs, in a file beside the project. */

import { post } from "../net/api.js";
import { openDialog } from "./dialog.js";
import { button, h } from "./dom.js";
import { complain, toast } from "./toast.js";

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
export async function openExport() {
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
        h("label", { class: "check" }, accepted, "Only what a person accepted, no open suggestions"),
        h("p", {
          class: "muted",
          text: "The file is made in the project’s folder for exports; its name is told when it is ready.",
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
    await post("/api/jobs", { kind: "export", ...chosen });
    toast("Exporting…");
  } catch (error) {
    complain(error);
  }
}
