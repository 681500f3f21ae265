/**
 * Findings about the players' controllers, from the inputs of a game. Operators see the panel if the daemon checks controllers.
 * For all others, the check appears to be off, and the panel stays hidden.
 */

import { Status } from "../api.js";
import { clone, fill, find, setText } from "../dom.js";
import { gameTime } from "../slippi.js";
import { fillTexts, language, text } from "../texts/texts.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("./daemon.js").Body} Body
 * @typedef {{port: number, finding: Body}} Row
 */

const REFRESH_MS = 5000;
/** The check is turned on or off by restarting the daemon, and a page can stay open meanwhile. */
const OFF_MS = 60_000;
const MAX_FRAMES = 5;
const BUTTON = "button ";

export class ControllersPanel {
  #root;
  #path;
  #onChange;
  /** @type {Body | null} */ #report = null;
  /** Whether the game is over. */
  #isFinal = false;
  #isConfigured = false;
  /** Whether the daemon has answered or was unreachable. */
  hasArrived = false;
  #nextAt = -Infinity;
  #loading = false;

  /**
   * @param {HTMLElement} root
   * @param {string} path  `v1/stations/…` or `v1/games/…`
   * @param {() => void} onChange
   */
  constructor(root, path, onChange) {
    this.#root = root;
    this.#path = path;
    this.#onChange = onChange;
    fillTexts(root);
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    if (!this.#loading && performance.now() > this.#nextAt) {
      this.#load(daemon);
    }
    const root = this.#root;
    root.hidden = !this.#isConfigured || this.#report === null;
    /** @type {Body[]} */ const players = this.#report?.players ?? [];
    const rows = players.flatMap(({ port, findings }) => findings.map((/** @type {Body} */ finding) => ({ port, finding })));
    const nothing = find(".nothing", root);
    nothing.hidden = rows.length > 0;
    setText(nothing, text(this.#isFinal ? "controllers.nothing" : "controllers.nothing_yet"));
    find(".look", root).hidden = rows.length === 0;
    fill(find(".findings", root), rows, () => clone("finding"), showFinding);
  }

  /** @param {Daemon} daemon */
  async #load(daemon) {
    this.#loading = true;
    this.#nextAt = performance.now() + REFRESH_MS;
    try {
      const { status, body } = await daemon.api.get(`${this.#path}/controllers`);
      this.#isConfigured = status === Status.OK && body.configured;
      this.#report = this.#isConfigured ? (body.report ?? null) : null;
      this.#isFinal = body.final === true;
      if (!this.#isConfigured) {
        this.#nextAt = performance.now() + OFF_MS;
      }
    } catch {
      // the dashboard reports it, and a later drawing tries again
    }
    this.#loading = false;
    this.hasArrived = true;
    this.#onChange();
  }
}

/**
 * @param {HTMLElement} row
 * @param {Row} shown
 */
function showFinding(row, { port, finding }) {
  const what = [text("panel.port", { port }), partText(finding.part), text(`controllers.${finding.check}`)].join(" · ");
  setText(find(".what", row), what);
  setText(find(".confidence", row), text(`controllers.${finding.confidence}`));
  row.dataset.confidence = finding.confidence;
  const times = finding.frames.slice(0, MAX_FRAMES).map(gameTime);
  setText(find(".times", row), [...new Set(times)].join(", "));
  setText(find(".words", row), language === "en" ? finding.text : ""); // the daemon's sentence is in English
}

/** @param {string} part */
function partText(part) {
  if (part.startsWith(BUTTON)) {
    return text("controllers.button", { button: part.slice(BUTTON.length) });
  }
  return text(`controllers.part_${part.toLowerCase().replaceAll(/\W/g, "_")}`);
}
