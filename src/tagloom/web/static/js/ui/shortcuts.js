/** Every key of the page in one table: the dispatcher and the help overlay both read it. */

import { dialogIsOpen, openDialog } from "./dialog.js";
import { h, isTyping } from "./dom.js";

const SEQUENCE_MS = 1200;
const ONCE = new Set(["undo", "redo"]);

/**
 * `run` names the action of the page (or of the program) that the key starts; rows without it are handled by the
 * element that has the focus and are listed here only for the overlay.
 * @type {{group: string, show: string[], label: string, keys?: string[], run?: string}[]}
 */
const SHORTCUTS = [
  { group: "Move", show: ["←", "↑", "→", "↓"], label: "Go from photo to photo; in photo view ↑ ↓ choose a tag" },
  { group: "Move", show: ["Home", "End"], label: "First, last photo" },
  { group: "Move", show: ["Page ↑", "Page ↓"], label: "Grid, lens: a screen up or down" },
  { group: "Move", show: ["Enter"], label: "Open the photo" },
  { group: "Move", show: ["Esc"], label: "Back; drop the selection", keys: ["Escape"], run: "back" },
  { group: "Move", show: ["n"], label: "Next unlabelled photo", keys: ["n"], run: "nextOpen" },
  {
    group: "Decide",
    show: ["a"],
    label: "Accept (lens: its tag; elsewhere: the best suggestion)",
    keys: ["a"],
    run: "accept",
  },
  { group: "Decide", show: ["r", "x"], label: "Reject", keys: ["r", "x"], run: "reject" },
  { group: "Decide", show: ["A"], label: "Lens: accept all above here", keys: ["A"], run: "acceptAbove" },
  { group: "Decide", show: ["t"], label: "Add a tag", keys: ["t"], run: "addTag" },
  { group: "Decide", show: ["e"], label: "Edit all tags of the selection, or of the photo", keys: ["e"], run: "bulk" },
  { group: "Decide", show: ["u", "Ctrl Z"], label: "Undo", keys: ["u", "ctrl+z"], run: "undo" },
  { group: "Decide", show: ["U", "Ctrl ⇧ Z"], label: "Redo", keys: ["U", "ctrl+Z", "ctrl+y"], run: "redo" },
  { group: "Select", show: ["Space"], label: "Select this photo" },
  { group: "Select", show: ["⇧ ←", "⇧ →"], label: "Select a range" },
  { group: "Select", show: ["Ctrl A"], label: "Select all" },
  { group: "Find", show: ["/"], label: "Search tags and file names", keys: ["/"], run: "search" },
  { group: "Find", show: ["s"], label: "Photos similar to this one", keys: ["s"], run: "similar" },
  { group: "Find", show: ["w"], label: "Why is this tag (or the best one) suggested?", keys: ["w"], run: "why" },
  { group: "Find", show: ["."], label: "Show the new order", keys: ["."], run: "refresh" },
  { group: "Look", show: ["+"], label: "Grid, lens: larger photos", keys: ["+", "="], run: "larger" },
  { group: "Look", show: ["−"], label: "Grid, lens: smaller photos", keys: ["-"], run: "smaller" },
  { group: "Look", show: ["f"], label: "Grid, lens: whole photos or filled cells", keys: ["f"], run: "fit" },
  { group: "Look", show: ["d"], label: "Dark or light", keys: ["d"], run: "theme" },
  { group: "Go to", show: ["g", "g"], label: "Photos", keys: ["g g"], run: "goGrid" },
  { group: "Go to", show: ["g", "l"], label: "Tag lens", keys: ["g l"], run: "goLens" },
  { group: "Go to", show: ["g", "t"], label: "Teach", keys: ["g t"], run: "goTeach" },
  { group: "Go to", show: ["g", "h"], label: "History", keys: ["g h"], run: "goHistory" },
  { group: "Go to", show: ["g", "w"], label: "Write keywords", keys: ["g w"], run: "goWrite" },
  { group: "Go to", show: ["?"], label: "These keys", keys: ["?"], run: "help" },
];

const BY_KEY = new Map(SHORTCUTS.flatMap((row) => (row.keys ?? []).map((key) => [key, row.run])));
let pending = "";
let pendingSince = 0;

/**
 * Start actions by keys.
 * @param {(name: string) => (() => unknown) | undefined} find the action of that name, where there is one now
 * @param {() => void} leave called when a person leaves a field by Esc
 */
export function startShortcuts(find, leave) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey || dialogIsOpen()) return;
    if (isTyping(event.target)) {
      if (event.key !== "Escape") return;
      // The browser would empty the field, and what was searched for would stay as it is.
      if (event.target.type === "search") event.preventDefault();
      event.target.blur();
      leave();
      return;
    }
    const name = named(event);
    const action = find(name);
    if (!action) return;
    event.preventDefault();
    // A key that is held must not take back action after action.
    if (!event.repeat || !ONCE.has(name)) action();
  });
}

function named(event) {
  const key = event.ctrlKey || event.metaKey ? `ctrl+${shifted(event)}` : event.key;
  const sequence = pending && performance.now() - pendingSince < SEQUENCE_MS ? `${pending} ${key}` : "";
  pending = key === "g" && !sequence ? "g" : "";
  pendingSince = performance.now();
  return BY_KEY.get(sequence || key) ?? "";
}

// Caps lock turns the letters of Ctrl Z and Ctrl ⇧ Z round: only the shift key tells them apart.
function shifted(event) {
  return event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
}

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
