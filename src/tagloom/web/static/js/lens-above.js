/** "Accept all above here": which photos that means, how many of them should be right, and the question before it. */

import * as api from "./api.js";
import { decide } from "./decide.js";
import { openDialog } from "./dialog.js";
import { button, h } from "./dom.js";
import { count, percent, plural, strength } from "./format.js";
import { stateOfPhoto } from "./grid-cell.js";
import { outbox } from "./outbox.js";
import { store } from "./state.js";
import { complain, toast } from "./toast.js";

const DOUBTFUL = 6;

/**
 * Open photos from the top of the order to the cursor, as far as this tab knows, and the sum of their probabilities.
 * @param {import("./grid.js").Grid} grid
 * @param {number} tag
 * @returns {{n: number, sum: number}}
 */
export function openAbove(grid, tag) {
  let n = 0;
  let sum = 0;
  for (let index = 0; index <= grid.active && index < grid.ids.length; index += 1) {
    if (stateOfPhoto(grid.ids[index], tag) !== "open" || !Number.isFinite(grid.values[index])) continue;
    n += 1;
    sum += grid.values[index];
  }
  return { n, sum };
}

/**
 * Ask, then accept. What is open is read from the server first, so that nothing a person rejected is accepted by it.
 * @param {import("./grid.js").Grid} grid
 * @param {number} tag
 * @param {string} sort
 */
export async function acceptAbove(grid, tag, sort) {
  if (sort !== "score" || !grid.values) return toast("Accepting all above here needs the order “Most likely”.");
  await outbox.settled();
  try {
    const open = new Set((await api.ranking({ sort: "score", tag, state: "unreviewed" })).ids);
    const picked = [];
    for (let index = 0; index <= grid.active; index += 1) {
      if (open.has(grid.ids[index]) && Number.isFinite(grid.values[index])) picked.push(index);
    }
    if (!picked.length) return toast("Nothing above here is open.");
    if (await ask(grid, tag, picked))
      decide(
        picked.map((index) => grid.ids[index]),
        [tag],
        1,
        "suggested",
      );
  } catch (error) {
    complain(error);
  }
}

function ask(grid, tag, picked) {
  const { kind } = store.project;
  const mean = picked.reduce((sum, index) => sum + grid.values[index], 0) / picked.length;
  const wrong = Math.round((1 - mean) * picked.length);
  const lowest = [...picked].sort((a, b) => grid.values[a] - grid.values[b]).slice(0, DOUBTFUL);
  return openDialog(`Accept “${store.tagText(tag)}” on ${plural(picked.length, "photo")}?`, (close) => ({
    body: [
      kind === "probability"
        ? h(
            "p",
            { "data-testid": "expected-precision" },
            "Expected precision ",
            h("strong", { text: percent(mean) }),
            `: about ${count(wrong)} of ${count(picked.length)} may be wrong.`,
          )
        : h("p", { text: "This model gives scores, not probabilities: how many of these are right is not known." }),
      h("h3", { text: "The least certain of them" }),
      h(
        "div",
        { class: "strip" },
        lowest.map((index) => doubtful(grid.ids[index], grid.values[index], kind)),
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
