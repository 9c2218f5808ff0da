/** The `?` overlay: the table of shortcuts, by group. */

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { SHORTCUTS } from "./shortcuts.js";

/** Show every key. @returns {Promise<void>} */
export function openHelp() {
  return openDialog("Keys", () => ({ body: [h("div", { class: "help-columns" }, groups())] }), {
    testid: "help",
    wide: true,
  });
}

function groups() {
  const names = [...new Set(SHORTCUTS.map((row) => row.group))];
  return names.map((name) =>
    h(
      "section",
      { class: "help-group" },
      h("h3", { text: name }),
      h("dl", {}, SHORTCUTS.filter((row) => row.group === name).map(line)),
    ),
  );
}

function line(row) {
  return h(
    "div",
    {},
    h(
      "dt",
      {},
      row.show.map((key) => h("kbd", { text: key })),
    ),
    h("dd", { text: row.label }),
  );
}
