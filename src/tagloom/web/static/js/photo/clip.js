/** A video in the photo view: its player where the browser can play it, its key frames, and where a tag is. */

import * as api from "../net/api.js";
import { frameUrl, videoUrl } from "../net/state.js";
import { h } from "../ui/dom.js";
import { clock } from "../ui/format.js";

/** The player on the stage and the strip of key frames below it; both hidden for a photo. */
export class ClipView {
  #id = null;
  #clip = null;
  #scores = null;
  #tag = null;
  #version = null;

  /** @param {HTMLImageElement} still the picture on the stage, where a key frame is shown that cannot be played */
  constructor(still) {
    this.still = still;
    this.video = h("video", {
      class: "player",
      controls: true,
      preload: "metadata",
      playsinline: true,
      hidden: true,
      "data-testid": "player",
    });
    // The picture or the key frames do where this browser cannot play the video, such as HEVC of a phone.
    this.video.addEventListener("error", () => (this.video.hidden = true));
    this.strip = h("ol", { class: "moments", "aria-label": "Key frames", hidden: true, "data-testid": "moments" });
  }

  /** @param {{id: number, clip: any, thumb: string, version: number} | null} detail of the photo view */
  show(detail) {
    const clip = detail?.clip ?? null;
    const isNew = !clip || this.#id !== detail.id || this.#clip?.times.length !== clip.times.length;
    this.#clip = clip;
    if (isNew) this.video.hidden = !clip?.type;
    this.strip.hidden = !clip?.times.length;
    if (isNew) {
      this.#id = clip ? detail.id : null;
      this.#scores = null;
      this.#version = null;
      this.video.pause();
      if (clip?.type) {
        this.video.poster = detail.large;
        this.video.src = videoUrl(detail);
      } else {
        this.video.removeAttribute("src");
        this.video.removeAttribute("poster");
        this.video.load();
      }
      this.strip.replaceChildren(...(clip ? clip.times.map((time, at) => this.#frame(detail, time, at)) : []));
    }
    if (clip?.times.length && this.#version !== detail.version) this.#ask(detail);
  }

  /** Mark the moment of a tag. @param {number | null} tag @param {string} text */
  mark(tag, text) {
    this.#tag = tag === null ? null : { tag, text };
    this.#draw();
  }

  async #ask({ id, version }) {
    this.#version = version;
    try {
      const { tags } = await api.get(`/api/v1/photo/${id}/moments`);
      if (id !== this.#id) return;
      this.#scores = tags;
    } catch {
      if (id !== this.#id) return;
      this.#scores = null; // no model yet, or one that scores no key frames: the strip does without
      this.#version = null;
    }
    this.#draw();
  }

  #frame(detail, time, at) {
    const button = h(
      "button",
      {
        type: "button",
        class: "moment",
        "data-testid": "moment",
        "aria-label": `Go to ${clock(time)}`,
        on: { click: () => this.#goTo(detail, time, at) },
      },
      h("img", { alt: "", src: frameUrl(detail, at), loading: "lazy" }),
      h("span", { class: "meter" }, h("span")),
      h("span", { class: "num", text: clock(time) }),
    );
    return h("li", {}, button);
  }

  #goTo(detail, time, at) {
    if (!this.video.hidden) this.video.currentTime = time;
    else this.still.src = frameUrl(detail, at);
  }

  #draw() {
    const scores = this.#tag ? this.#scores?.[this.#tag.tag] : null;
    const best = scores ? scores.indexOf(Math.max(...scores)) : -1;
    const [low, high] = scores ? [Math.min(0, ...scores), Math.max(1, ...scores)] : [0, 1];
    [...this.strip.children].forEach(({ firstElementChild: button }, at) => {
      const time = clock(this.#clip?.times[at] ?? 0);
      const part = scores ? (scores[at] - low) / (high - low) : 0;
      button.querySelector(".meter > span").style.setProperty("--part", String(part));
      button.classList.toggle("best", at === best);
      const words = at === best ? `, likeliest moment of ${this.#tag.text}` : "";
      button.setAttribute("aria-label", `Go to ${time}${words}`);
      button.title = at === best ? `Likeliest moment of ${this.#tag.text}` : "";
    });
  }
}
