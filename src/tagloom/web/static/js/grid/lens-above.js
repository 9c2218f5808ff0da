/** "Accept all above here": which photos that means, how many of them should be right, and the question before it. */

import * as api from "../net/api.js";
import { decide } from "../ui/decide.js";
import { openDialog } from "../ui/dialog.js";
import { button, h } from "../ui/dom.js";
import { count, percent, plural, strength } from "../ui/format.js";
import { stateOfPhoto } from "./cell.js";
import { outbox } from "../net/outbox.js";
import { store } from "../net/state.js";
import { complain, toast } from "../ui/toast.js";

const DOUBTFUL = 6;

/**
 * Open photos from the top of the order to the cursor, as far as this tab knows, and the sum of their probabilities.
 * Where a photo stands for its stack, all of the stack that is open counts.
 * @param {import("./grid.js").Grid} grid
 * @returns {{n: number, sum: number}}
 */
export function openAbove(grid) {
  const { tag, stacks } = grid.context;
  const isOpen = (id) => stateOfPhoto(id, tag) === "open";
  let n = 0;
  let sum = 0;
  for (let index = 0; index <= grid.active && index < grid.ids.length; index += 1) {
    const id = grid.ids[index];
    if (!isOpen(id) || !Number.isFinite(grid.values[index])) continue;
    const others = stacks ? (store.cells.get(id)?.stack ?? []).filter((other) => other !== id && isOpen(other)) : [];
    n += 1 + others.length;
    sum += (1 + others.length) * grid.values[index];
  }
  return { n, sum };
}

/**
 * Ask, then accept. What is open is read from the server first, and again after the question, so that nothing a person
 * rejected is accepted by it.
 * @param {import("./photo-list.js").PhotoList} list
 * @param {string} sort
 */
export async function acceptAbove(list, sort) {
  const { grid } = list;
  if (!list.isShown) return list.refuse();
  if (sort !== "score" || !grid.values) return toast("Accepting all above here needs the order “Most likely”.");
  const { ids } = grid;
  const { tag } = grid.context;
  const above = await openOnServer(grid).catch(complain);
  if (!above) return;
  if (grid.ids !== ids) return toast("The order has changed meanwhile: nothing was accepted.");
  if (!above.size) return toast("Nothing above here is open.");
  if (!(await ask(tag, above))) return;
  const open = await openPhotos(tag).catch(complain);
  if (!open) return;
  const still = [...above.keys()].filter((id) => open.has(id));
  if (!still.length) return toast("Nothing above here is open any more.");
  decide(still, [tag], 1, "suggested");
}

/** The open photos of a tag with their numbers, as the server knows them now. @returns {Promise<Map<number, number>>} */
async function openPhotos(tag) {
  await outbox.settled();
  const order = await api.ranking({ sort: "score", tag, state: "unreviewed" });
  return new Map(Array.from(order.ids, (id, at) => [id, order.values?.[at]]));
}

/** The open photos down to the cursor with their numbers, the others of their stacks after them. */
async function openOnServer({ ids, values, active, context: { tag, stacks } }) {
  const open = await openPhotos(tag);
  const above = new Map();
  for (let index = 0; index <= active; index += 1) {
    if (open.has(ids[index]) && Number.isFinite(values[index])) above.set(ids[index], values[index]);
  }
  if (!stacks) return above;
  const cells = await store.cellsOf([...above.keys()]);
  for (const [id, value] of [...above]) {
    for (const other of cells.get(id).stack ?? []) {
      if (!above.has(other) && open.has(other))
        above.set(other, Number.isFinite(open.get(other)) ? open.get(other) : value);
    }
  }
  return above;
}

function ask(tag, above) {
  const { kind } = store.project;
  const n = above.size;
  const mean = [...above.values()].reduce((sum, value) => sum + value, 0) / n;
  const wrong = Math.round((1 - mean) * n);
  const lowest = [...above].sort(([, a], [, b]) => a - b).slice(0, DOUBTFUL);
  return openDialog(`Accept “${store.tagText(tag)}” on ${plural(n, "photo")}?`, (close) => ({
    body: [
      kind === "probability"
        ? h(
            "p",
            { "data-testid": "expected-precision" },
            "Expected precision ",
            h("strong", { text: percent(mean) }),
            `: about ${count(wrong)} of ${count(n)} may be wrong.`,
          )
        : h("p", { text: "This model gives scores, not probabilities: how many of these are right is not known." }),
      h("h3", { text: "The least certain of them" }),
      h(
        "div",
        { class: "strip" },
        lowest.map(([id, value]) => doubtful(id, value, kind)),
      ),
    ],
    foot: [
      button("Cancel", () => close(false)),
      button("Accept", () => close(true), { kind: "primary", icon: "check", testid: "confirm" }),
    ],
  }));
}

function doubtful(id, value, kind) {
  const image = h("img", { alt: "" });
  store.cell(id).then((cell) => {
    if (!cell) return;
    image.src = cell.thumb;
    image.alt = cell.name;
  });
  return h("figure", {}, image, h("figcaption", { class: "num", text: strength(value, kind) }));
}
