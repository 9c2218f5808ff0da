/** Why a tag is suggested: labelled photos like this one, and the parts of the picture that speak for it. */

import { get } from "../net/api.js";
import { openDialog } from "../ui/dialog.js";
import { h, meter } from "../ui/dom.js";
import { plural, signed } from "../ui/format.js";
import { store } from "../net/state.js";

const MOST = 8;

/** @param {number} photo @param {number} tag @returns {Promise<void>} */
export function openWhy(photo, tag) {
  return openDialog(`Why “${store.tagText(tag)}”?`, () => ({ body: [whyPanel(photo, tag)] }), {
    testid: "why",
    wide: true,
  });
}

/** The explanation as an element that fills itself. @param {number} photo @param {number} tag @returns {HTMLElement} */
function whyPanel(photo, tag) {
  const panel = h("div", { class: "why" }, h("p", { class: "muted", text: "Computing…" }));
  get(`/api/v1/photo/${photo}/why/${tag}`).then(
    (why) => panel.replaceChildren(...parts(why)),
    (error) => panel.replaceChildren(h("p", { text: error.message })),
  );
  return panel;
}

function parts(why) {
  const restOfPhotos = [
    { name: "An average photo", amount: why.photos_base },
    { name: "The model before the update", amount: why.earlier ?? 0 },
    { name: plural(why.n_other, "other photo"), amount: why.n_other ? why.photos_other : 0 },
    { name: "Not explained", amount: why.photos_rest },
  ];
  const restOfGroups = [
    { name: "An average photo", amount: why.groups_base },
    { name: "The model before the update", amount: why.earlier ?? 0 },
    { name: "Not explained", amount: why.groups_rest },
  ];
  const all = [...why.photos, ...why.groups, ...why.tags, ...restOfPhotos, ...restOfGroups];
  const most = Math.max(1e-9, ...all.map(({ amount }) => Math.abs(amount)));
  const hasAmount = ({ amount }) => signed(amount, most) !== "0";
  const sections = [
    section("Labelled photos behind it", why.photos, (list) => [
      h(
        "div",
        { class: "strip" },
        list.map((one) => neighbor(one, most)),
      ),
      bars([rest(why.photos, "More labelled photos"), ...restOfPhotos].filter(hasAmount), most),
    ]),
    section("What in the picture", why.groups, (list) =>
      bars([...list, ...[rest(why.groups, "Other features"), ...restOfGroups].filter(hasAmount)], most),
    ),
    section("Other tags", why.tags, (list) => bars(list, most)),
  ].filter(Boolean);
  if (why.by_name !== null && why.by_name !== undefined) {
    const seen = why.seen.map(({ name, amount }) => `${name}: ${amount.toFixed(2)}`).join(", ");
    sections.push(h("p", { text: `The network sees ${seen}. That ${why.by_name < 0 ? "lowers" : "raises"} it by name.` }));
  }
  if (!sections.length) sections.push(h("p", { text: "No single photo or feature stands out." }));
  if (!why.photos_exact)
    sections.push(
      h("p", {
        class: "muted",
        text: "Explained by a simpler model: read the amounts as hints.",
      }),
    );
  return [...sections, ...(why.notes ?? []).map((text) => h("p", { class: "muted", text }))];
}

function section(title, list, draw) {
  const shown = list.slice(0, MOST);
  return shown.length ? h("section", {}, h("h3", { text: title }), draw(shown)) : null;
}

/** Those of a list that are not shown, together. */
function rest(list, name) {
  return { name, amount: list.slice(MOST).reduce((sum, { amount }) => sum + amount, 0) };
}

function neighbor({ photo_id: id, has_tag: has, amount }, most) {
  const image = h("img", { alt: `photo ${id}` });
  store.cell(id).then((cell) => {
    if (!cell) return;
    image.src = cell.thumb;
    image.alt = cell.name;
  });
  const link = h(
    "a",
    { href: `/photo/${id}`, "data-link": true, on: { click: (event) => event.target.closest("dialog")?.close() } },
    image,
  );
  return h(
    "figure",
    {},
    link,
    meter(Math.abs(amount) / most, amount < 0 ? "against" : ""),
    h("figcaption", { class: "num", text: `${has ? "has it" : "lacks it"} ${signed(amount, most)}` }),
  );
}

function bars(list, most) {
  return h(
    "ul",
    { class: "why-bars" },
    list.map(({ name, amount }) =>
      h(
        "li",
        {},
        h("span", { text: name }),
        meter(Math.abs(amount) / most, amount < 0 ? "against" : ""),
        h("span", { class: "num muted", text: signed(amount, most) }),
      ),
    ),
  );
}
