/** Changing a tag itself: its name, its aliases, what it is a kind of, and merging it into another. */

import { post } from "../net/api.js";
import { openDialog } from "../ui/dialog.js";
import { button, h } from "../ui/dom.js";
import { store } from "../net/state.js";
import { TagBox } from "../ui/tags.js";
import { complain, toast } from "../ui/toast.js";

/** @param {number} tag @returns {Promise<void>} */
export function tagMenu(tag) {
  const text = store.tagText(tag);
  return openDialog(`Tag “${text}”`, (close) => {
    const change = async (body, said) => {
      try {
        await post(`/api/v1/tags/${tag}`, body);
        await store.loadProject();
        if (said) toast(said);
        close();
      } catch (error) {
        complain(error);
      }
    };
    return {
      body: [
        line("New name", text, "Rename", (value) => change({ rename: value }, `Renamed to ${value}`)),
        line("Another name for it", "", "Add alias", (value) => change({ alias: value }, `${value} now means ${text}`)),
        pick("Merge into (all its photos get that tag)", (other) =>
          // The address of the tag leads on to the other one, and that is said there.
          change({ merge_into: other }, null),
        ),
        pick("Make it a kind of", (other) => change({ parent: other }, `${text} is a kind of ${store.tagText(other)}`)),
      ],
    };
  });
}

function line(label, value, verb, run) {
  const input = h("input", { class: "input", type: "text", maxlength: "200", value });
  const submit = () => input.value.trim() && input.value.trim() !== value && run(input.value.trim());
  input.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  return h("div", { class: "form-line" }, h("label", { class: "field" }, label, input), button(verb, submit));
}

function pick(label, run) {
  const box = new TagBox({ label, placeholder: "Choose a tag", flow: true, pick: run });
  return h("div", { class: "field" }, label, box.element);
}
