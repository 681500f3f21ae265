/**
 * The moments of a station: a button that marks the present one, the marks, and the best moments of the set. Each of them can be
 * watched on the stage of the page.
 */

import { Status } from "../api.js";
import { clone, fill, find, setAttribute, setText } from "../dom.js";
import { gameTime } from "../slippi.js";
import { fillTexts, number, text } from "../texts/texts.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("./daemon.js").Body} Body
 * @typedef {{id: number, gameId: string, frame: number, at: string, words?: string}} Mark
 * @typedef {{gameId: string, first: number, last: number}} Moment  A part of a game, by its frames.
 */

const REFRESH_MS = 3000;
const MAX_HIGHLIGHTS = 8;
const FRAMES_PER_SECOND = 60;
/** A moment on the stage begins before its first frame and ends after its last one by so many seconds. */
const [LEAD_SECONDS, TAIL_SECONDS] = [2, 1];
/** A mark is what has just happened. */
const MARK_SECONDS = 8;

export class MomentsPanel {
  #root;
  #path;
  #station;
  #onChange;
  #onWatch;
  /** @type {Daemon | null} */ #daemon = null;
  /** @type {Mark[]} */ #marks = [];
  /** @type {Body[]} */ #highlights = [];
  /** Whether the daemon keeps marks of this station. */
  #isKnown = false;
  /** Whether the daemon has answered or was unreachable. */
  hasArrived = false;
  #hasDolphin = false;
  #loadedAt = -Infinity;
  #loading = false;
  #news = "";

  /**
   * @param {HTMLElement} root
   * @param {string} station
   * @param {() => void} onChange
   * @param {(moment: Moment) => void} onWatch  Shows a moment on the stage.
   */
  constructor(root, station, onChange, onWatch) {
    this.#root = root;
    this.#onWatch = onWatch;
    this.#station = station;
    this.#path = `v1/stations/${encodeURIComponent(station)}`;
    this.#onChange = onChange;
    fillTexts(root);
    find(".mark", root).addEventListener("click", () => this.#mark());
  }

  /** What the keys do. */
  get keys() {
    return { m: () => this.#isKnown && this.#mark() };
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    this.#daemon = daemon;
    if (!this.#loading && performance.now() - this.#loadedAt > REFRESH_MS) {
      this.#load(daemon);
    }
    const root = this.#root;
    root.hidden = !this.#isKnown;
    setText(find(".news", root), this.#news);
    find(".no-marks", root).hidden = this.#marks.length > 0;
    fill(find(".marks", root), this.#marks, () => this.#newMark(), (row, mark) => this.#showMark(row, mark));
    const best = find(".highlights", root);
    find(".best-moments", root).hidden = this.#highlights.length === 0;
    fill(best, this.#highlights, () => this.#newHighlight(), (row, item) => this.#showHighlight(row, item));
  }

  #newRow() {
    const row = clone("moment");
    fillTexts(row);
    find(".watch-moment", row).addEventListener("click", () => {
      const { game = "", first, last } = row.dataset;
      this.#onWatch({
        gameId: game,
        first: Number(first) - LEAD_SECONDS * FRAMES_PER_SECOND,
        last: Number(last) + TAIL_SECONDS * FRAMES_PER_SECOND,
      });
    });
    return row;
  }

  #newMark() {
    const row = this.#newRow();
    find(".play", row).addEventListener("click", () => this.#play({ moment: "mark", mark: Number(row.dataset.mark) }));
    find(".undo", row).addEventListener("click", () => this.#unmark(Number(row.dataset.mark)));
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {Mark} mark
   */
  #showMark(row, mark) {
    const what = [gameTime(mark.frame), mark.words].filter(Boolean).join(" · ");
    const first = mark.frame - MARK_SECONDS * FRAMES_PER_SECOND;
    Object.assign(row.dataset, { mark: mark.id, game: mark.gameId, first, last: mark.frame });
    setText(find(".what", row), what);
    find(".launcher", row).hidden = true;
    this.#name(row, what);
  }

  #newHighlight() {
    const row = this.#newRow();
    find(".undo", row).hidden = true;
    find(".play", row).addEventListener("click", () => {
      const { game, first, last } = row.dataset;
      this.#play({ moment: "frames", game, from: Number(first), to: Number(last) });
    });
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {Body} item
   */
  #showHighlight(row, item) {
    const { highlight, player, links } = item;
    const who = player.name ?? player.code ?? text("panel.port", { port: player.index + 1 });
    const reasons = highlight.reasons.map((/** @type {string} */ reason) => text(`moments.${reason.replaceAll("-", "_")}`));
    const why = highlight.situation ?? reasons.join(", ");
    const points = text("moments.points", { points: number(Math.round(highlight.score)) });
    const what = `${who} · ${why} · ${gameTime(highlight.startFrame)}`;
    Object.assign(row.dataset, { game: item.gameId, first: highlight.startFrame, last: highlight.endFrame });
    setText(find(".what", row), `${what} · ${points}`);
    const launcher = /** @type {HTMLAnchorElement} */ (find(".launcher", row));
    launcher.hidden = links.launcher === undefined;
    if (links.launcher !== undefined) {
      setAttribute(launcher, "href", links.launcher);
    }
    this.#name(row, what);
  }

  /**
   * @param {HTMLElement} row
   * @param {string} what
   */
  #name(row, what) {
    find(".play", row).hidden = !this.#hasDolphin;
    setAttribute(find(".watch-moment", row), "aria-label", text("moments.watch", { what: find(".what", row).textContent ?? "" }));
    for (const [part, key] of [[".play", "moments.play"], [".launcher", "moments.launcher"], [".undo", "panel.undo"]]) {
      setAttribute(find(part, row), "aria-label", `${text(key)}: ${what}`);
    }
  }

  async #mark() {
    const marked = await this.#send((api) => api.post(`${this.#path}/marks`, {}));
    if (marked !== null) {
      this.#say(text("moments.marked", { at: gameTime(marked.frame) }));
    }
  }

  /** @param {number} mark */
  async #unmark(mark) {
    const left = await this.#send((api) => api.delete(`${this.#path}/marks/${mark}`));
    if (left !== null) {
      find(".mark", this.#root).focus(); // the button that was pressed is gone
      this.#say(text("moments.removed"));
    }
  }

  /** @param {Body} wanted */
  async #play(wanted) {
    const shown = await this.#send((api) => api.post(`${this.#path}/instant-replay`, wanted));
    if (shown !== null) {
      this.#say(text("moments.playing", { seconds: number(Math.ceil(shown.seconds)) }));
    }
  }

  /**
   * Sends a request. Returns the body of the response, or `null` after a refusal, which is displayed.
   * @param {(api: import("../api.js").Api) => Promise<import("../api.js").Answer>} request
   */
  async #send(request) {
    if (this.#daemon === null) {
      return null;
    }
    try {
      const { status, body } = await request(this.#daemon.api);
      this.#loadedAt = -Infinity;
      if (status === Status.OK) {
        return body;
      }
      this.#say(body.detail);
    } catch {
      this.#say(text("detail.no_response"));
    }
    return null;
  }

  /** @param {string} news */
  #say(news) {
    this.#news = news;
    this.#onChange();
  }

  /** @param {Daemon} daemon */
  async #load(daemon) {
    this.#loading = true;
    this.#loadedAt = performance.now();
    const of = encodeURIComponent(this.#station);
    try {
      const [marks, found, dolphin] = await Promise.all([
        daemon.api.get(`${this.#path}/marks`),
        daemon.api.get(`v1/highlights?set=${of}&order=best&limit=${MAX_HIGHLIGHTS}`),
        daemon.api.get(`${this.#path}/instant-replay`),
      ]);
      this.#isKnown = marks.status === Status.OK;
      this.#marks = this.#isKnown ? marks.body.marks : [];
      this.#highlights = found.status === Status.OK ? found.body.highlights : [];
      this.#hasDolphin = dolphin.status === Status.OK && dolphin.body.configured;
    } catch {
      // the dashboard reports it, and a later drawing tries again
    }
    this.#loading = false;
    this.hasArrived = true;
    this.#onChange();
  }
}
