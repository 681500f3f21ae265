/**
 * `<game-summary>`: the stats of a running or finished game. A plot of percent and stocks over time, a table with the stats
 * of each player, and a list of all kills.
 *
 * The stats have the shape of slippi-js's `StatsType`; its `extra` is optional.
 */

import { attackName } from "../attacks.js";
import { element, fill, setText } from "../dom.js";
import { killsOf } from "../kills.js";
import { colourOf } from "../player_colour.js";
import { gameTime, timerStart } from "../slippi.js";
import { number as numberText, text } from "../texts/texts.js";
import { PercentPlot } from "./percent_plot.js";

/**
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {import("../match.js").PercentHistory} PercentHistory
 * @typedef {import("../kills.js").Kill} Kill
 * @typedef {Record<string, any>} Stats
 *
 * @typedef {object} Summary
 * @property {Player[]} players
 * @property {PercentHistory} history
 * @property {Stats | null} stats
 * @property {number} toFrame     End of the plot.
 * @property {boolean} ended
 *
 * @typedef {{key: string, value: (stats: Stats, index: number) => string}} Row  `summary.KEY` is its text.
 */

const OPENINGS = /** @type {const} */ (["neutral-win", "counter-attack", "trade"]);

/** @type {(stats: Stats, index: number) => Record<string, any>} */
const overall = (stats, index) => stats.overall?.find((/** @type {any} */ o) => o.playerIndex === index) ?? {};
/** @type {(stats: Stats, index: number) => Record<string, any>} */
const actions = (stats, index) => stats.actionCounts?.find((/** @type {any} */ a) => a.playerIndex === index) ?? {};

/** @type {(stats: Stats, index: number) => Record<string, any>} */
const extra = (stats, index) => stats.extra?.players?.find((/** @type {any} */ p) => p.playerIndex === index) ?? {};

/** Further rows for games without stocks. @type {Row[]} */
const FALL_ROWS = [
  { key: "score", value: (stats, i) => number(extra(stats, i).score) },
  { key: "kos", value: (stats, i) => number(extra(stats, i).kos) },
  { key: "falls", value: (stats, i) => number(extra(stats, i).falls) },
  { key: "self_destructs", value: (stats, i) => number(extra(stats, i).selfDestructs) },
];

/** The rows of the table. @type {Row[]} */
const ROWS = [
  { key: "kills", value: (stats, i) => number(overall(stats, i).killCount) },
  { key: "damage", value: (stats, i) => number(overall(stats, i).totalDamage, 0, "%") },
  { key: "openings_per_kill", value: (stats, i) => number(overall(stats, i).openingsPerKill?.ratio, 1) },
  { key: "damage_per_opening", value: (stats, i) => number(overall(stats, i).damagePerOpening?.ratio, 1, "%") },
  ...OPENINGS.map((type) => /** @type {Row} */ ({ key: `${type}s`, value: (stats, i) => number(openings(stats, i, type)) })),
  { key: "l_cancels", value: (stats, i) => successes(actions(stats, i).lCancelCount) },
  { key: "inputs_per_minute", value: (stats, i) => number(overall(stats, i).inputsPerMinute?.ratio, 0) },
];

export class GameSummary extends HTMLElement {
  #plot = new PercentPlot();
  #numbers = element("table", "", { class: "numbers" });
  #head = element("tr");
  #body = element("tbody");
  #kills = element("ol", "", { class: "kills" });
  #killsTitle = element("h3", text("summary.kills"));
  #noKills = element("p", "", { class: "quiet" });

  connectedCallback() {
    const head = element("thead");
    head.append(this.#head);
    this.#numbers.append(element("caption", text("summary.stats"), { class: "hidden" }), head, this.#body);
    const scroll = element("div", "", { class: "scroll", role: "region", tabindex: "0", "aria-label": text("summary.stats") });
    scroll.append(this.#numbers);
    this.append(element("h3", text("summary.percent")), this.#plot, scroll, this.#killsTitle, this.#kills, this.#noKills);
  }

  /** @param {Summary} summary */
  show({ players, history, stats, toFrame, ended }) {
    const lines = players.map((player) => ({ ...player, percent: player.percent ?? null }));
    this.#plot.show(history, lines, toFrame);
    fill(this.#head, [null, ...players], () => element("th", "", { scope: "col" }), (cell, player) => {
      cell.dataset.colour = player === null ? "" : colourOf(player);
      setText(cell, player?.name ?? text("summary.player"));
    });
    const falls = stats !== null && players.some(({ index }) => extra(stats, index).falls !== undefined);
    fill(this.#body, falls ? [...FALL_ROWS, ...ROWS] : ROWS, () => element("tr"), (row, { key, value }) => {
      const values = players.map((player) => (stats === null ? "–" : value(stats, player.index)));
      fill(row, [text(`summary.${key}`), ...values], () => element(row.children.length ? "td" : "th"), (cell, shown) => {
        if (cell.tagName === "TH") {
          cell.setAttribute("scope", "row");
        }
        setText(cell, shown);
      });
    });
    const kills = stats === null ? [] : killsOf(stats);
    this.#noKills.hidden = kills.length > 0;
    setText(this.#noKills, text(ended ? "summary.no_kills" : "summary.no_kills_yet"));
    fill(this.#kills, kills, () => element("li"), (row, kill) => showKill(row, kill, players, timerStart(stats)));
  }
}

/**
 * @param {HTMLElement} row
 * @param {Kill} kill
 * @param {Player[]} players
 * @param {number} start  The frame in which the timer started.
 */
function showKill(row, { frame, by, victim, moveId, percent, opening }, players, start) {
  const name = (/** @type {number | null} */ index) => players.find((player) => player.index === index)?.name ?? text("summary.unknown");
  const openingName = OPENINGS.some((type) => type === opening) ? text(`summary.${opening}`) : "";
  const victimText = text("summary.victim", { name: name(victim), percent: Math.floor(percent) });
  const cells = [gameTime(frame - start), name(by), attackName(moveId), victimText, openingName];
  fill(row, cells, () => element("span"), setText);
  const killer = players.find((player) => player.index === by);
  row.dataset.colour = killer === undefined ? "" : colourOf(killer);
}

/**
 * The number of conversions that a player started with a type of opening.
 * @param {Stats} stats
 * @param {number} index
 * @param {string} type
 */
function openings(stats, index, type) {
  return (stats.conversions ?? []).filter((/** @type {any} */ conversion) => {
    const first = conversion.moves?.[0]?.playerIndex ?? conversion.lastHitBy;
    return first === index && conversion.openingType === type;
  }).length;
}

/** @param {{success: number, fail: number} | undefined} counts */
function successes(counts) {
  if (counts === undefined) {
    return "–";
  }
  const attempts = counts.success + counts.fail;
  return attempts === 0 ? "–" : `${number(counts.success)}/${number(attempts)} · ${number((100 * counts.success) / attempts, 0, "%")}`;
}

/**
 * @param {number | null | undefined} value
 * @param {number} [digits]
 * @param {string} [unit]
 */
function number(value, digits = 0, unit = "") {
  return typeof value === "number"
    ? numberText(value, { minimumFractionDigits: digits, maximumFractionDigits: digits }) + unit
    : "–";
}

customElements.define("game-summary", GameSummary);
