/** Tags of many photos at once: add one, or go through all that the selection has. */

import { decide } from "../ui/decide.js";
import { openDialog } from "../ui/dialog.js";
import { button, h } from "../ui/dom.js";
import { plural } from "../ui/format.js";
import { store } from "../net/state.js";
import { TagBox } from "../ui/tags.js";

const MOST_READ = 300;

/** Ask for a tag and give it to the photos. @param {number[]} photos @returns {Promise<void>} */
export function addTagTo(photos) {
  return openDialog(photos.length > 1 ? `Add a tag to ${plural(photos.length, "photo")}` : "Add a tag", (close) => {
    const box = new TagBox({
      label: "Tag",
      create: true,
      flow: true,
      pick: (tag) => (decide(photos, [tag], 1), close()),
    });
    box.input.setAttribute("autofocus", "");
    return { body: [box.element] };
  });
}

/** Go through the tags of a selection. @param {number[]} photos @returns {Promise<void>} */
export async function bulkEdit(photos) {
  const cells = (await Promise.all(photos.slice(0, MOST_READ).map((id) => store.cell(id)))).filter(Boolean);
  const rows = new Map();
  const redraw = () => rows.forEach((row) => row.draw());
  store.addEventListener("cells", redraw);
  await openDialog(
    `Tags of ${plural(photos.length, "photo")}`,
    () => {
      const list = h("ul", { class: "bulk-list" });
      const add = (tag) => {
        if (!rows.has(tag)) rows.set(tag, bulkRow(tag, photos, cells));
        list.prepend(rows.get(tag).node);
      };
      for (const tag of commonTags(cells).reverse()) add(tag);
      const box = new TagBox({
        label: "Add a tag to all",
        create: true,
        keep: true,
        quiet: true,
        pick: (tag) => (decide(photos, [tag], 1), add(tag)),
      });
      box.input.setAttribute("autofocus", "");
      const note =
        photos.length > MOST_READ
          ? h("p", {
              class: "muted",
              text: `Counts are of the first ${MOST_READ} photos; changes are made on all ${photos.length}.`,
            })
          : null;
      return { body: [box.element, note, list].filter(Boolean) };
    },
    { testid: "bulk" },
  );
  store.removeEventListener("cells", redraw);
}

function commonTags(cells) {
  const counts = new Map();
  for (const cell of cells) {
    for (const tag of cell.yes) counts.set(tag, (counts.get(tag) ?? 0) + 2);
    for (const [tag] of cell.suggested) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  }
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, 40);
}

function bulkRow(tag, photos, cells) {
  const state = h("span", { class: "muted num" });
  const draw = () => {
    const now = cells.map((cell) => store.cells.get(cell.id) ?? cell);
    const yes = now.filter((cell) => cell.yes.includes(tag)).length;
    const open = now.filter((cell) => cell.suggested.some(([other]) => other === tag)).length;
    state.textContent = `on ${yes} of ${now.length}${open ? `, suggested on ${open}` : ""}`;
  };
  const act = (value) => () => decide(photos, [tag], value);
  draw();
  const node = h(
    "li",
    {},
    h("span", { class: "bulk-name" }, h("span", { text: store.tagText(tag) }), state),
    button("On all", act(1), { icon: "check" }),
    button("On none", act(0), { icon: "cross" }),
    button("Undecided", act(-1), { kind: "plain" }),
  );
  return { node, draw };
}
