/** One station on the wall: its name and state, a miniature of its stage, and its players. */

import { element, fill, find, setAttribute, setText } from "../dom.js";
import { clockText, placeName, playersOf, winnersOf } from "../game_words.js";
import { colourOf } from "../player_colour.js";
import { lengthText, scoreOf } from "../set_score.js";
import { pointsText, stageOutline, stocksText } from "../slippi.js";
import { number, text } from "../texts/texts.js";
import { MiniStage } from "./mini_stage.js";
import { Pacing } from "./pacing.js";

/**
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 *
 * @typedef {object} Shown          The content of a tile apart from the frames.
 * @property {string} id
 * @property {string} name
 * @property {string} state
 * @property {string} stateText
 * @property {boolean} isOnAir
 * @property {number} attention
 * @property {string} round
 * @property {string} lag
 * @property {string} note    Why it needs attention.
 * @property {string} result  Of its last game.
 * @property {Game | null} game
 * @property {SetScore | null} set
 */

const MAX_DOTS = 4;
const PARTS = `
  <div class="head">
    <span class="lamp" aria-hidden="true"></span>
    <h3 class="station-name"><a class="open"></a></h3>
    <span class="on-air" hidden></span>
    <span class="state-text"></span>
    <button class="scenes-of" type="button" aria-haspopup="dialog" aria-expanded="false"><span aria-hidden="true">⋯</span></button>
  </div>
  <div class="picture"><canvas aria-hidden="true"></canvas><p class="where"><span class="round"></span><span class="place"></span><span class="clock"></span></p><p class="note"></p><p class="result"></p></div>
  <ul class="sides"></ul>`;
const PLAYER = `<span class="who"><bdi class="player-name"></bdi></span>
  <span class="values"><span class="set-score" hidden></span><span class="lives"><span aria-hidden="true"></span><span class="hidden"></span></span><span class="damage"></span></span>`;

export class Tile {
  root = element("li", "", { class: "tile" });
  /** Whether the tile is within the window. */
  visible = false;
  /** Names that have changed since they were fitted. @type {Set<HTMLElement>} */ unfitted = new Set();
  #pacing = new Pacing();
  #stage;
  #picture;
  /** @type {Game | null} */ #game = null;
  #gameId = "";
  /** The displayed frame. @type {import("./pacing.js").Frame | null} */ #shown = null;
  /** @type {import("./mini_stage.js").Fighter[]} */ #fighters = [];
  /** By player index: the percent and the stocks that are displayed. @type {Map<number, string>} */ #values = new Map();
  #stale = true;

  /** @param {(opener: HTMLElement) => void} openScenes */
  constructor(openScenes) {
    this.root.innerHTML = PARTS;
    this.#stage = new MiniStage(/** @type {HTMLCanvasElement} */ (find("canvas", this.root)));
    this.#picture = find(".picture", this.root);
    const button = find(".scenes-of", this.root);
    button.addEventListener("click", () => openScenes(button));
    this.unfitted.add(find(".station-name", this.root));
  }

  /** The element that determines the size of the drawing. */
  get picture() {
    return this.#picture;
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  resize(width, height) {
    this.#stale = this.#stage.resize(width, height) || this.#stale;
  }

  /** Draws the picture again, because colours or stages have changed. */
  invalidate() {
    this.#stale = true;
  }

  /** Fits all names again, because the tile has another size. */
  refit() {
    for (const name of this.root.querySelectorAll(".station-name, .player-name")) {
      this.unfitted.add(/** @type {HTMLElement} */ (name));
    }
  }

  /** @param {import("../match.js").Message} message */
  take(message) {
    if (message.type === "game_start" || message.type === "snapshot") {
      this.#pacing.begin(message.rate ?? [60, 1]);
      this.#gameId = message.gameId;
      this.#shown = null;
      if (message.frame) {
        this.#pacing.push(message.frame);
      }
    } else if (message.type === "frame" && message.gameId === this.#gameId) {
      this.#pacing.push(message.frame);
    }
  }

  /**
   * Shows the frame that is due, if the tile is visible.
   * @param {number} now
   * @param {boolean} atRest  Show the newest frame without pacing, for readers who prefer less motion.
   */
  advance(now, atRest) {
    const frame = this.#game?.end ? this.#pacing.rest() : atRest ? this.#pacing.rest() : this.#pacing.due(now);
    if (frame !== null) {
      this.#shown = frame;
      this.#stale = true;
    }
    if (!this.#stale || !this.visible) {
      return;
    }
    this.#stale = false;
    if (this.#shown !== null && this.#game?.gameId === this.#gameId && !this.#game.end) {
      this.#showValues(this.#shown);
    }
    const game = this.#game;
    const running = game !== null && game.end === null;
    this.#stage.draw(
      running ? this.#shown : null,
      this.#fighters,
      game?.settings.stageId ?? "",
      game === null ? null : stageOutline(game),
    );
    this.root.dataset.frame = String(this.#shown?.frame ?? "");
  }

  /** Shows everything that is not in the frames. A few times a second is enough. @param {Shown} shown */
  show(shown) {
    const { root } = this;
    const { game, set } = shown;
    const changedGame = game?.gameId !== this.#game?.gameId || game?.end !== this.#game?.end;
    this.#game = game;
    root.dataset.station = shown.id;
    root.dataset.state = shown.state;
    root.dataset.attention = String(shown.attention);
    root.dataset.ended = String(game !== null && game.end !== null);
    const link = find(".open", root);
    setAttribute(link, "href", `#station/${encodeURIComponent(shown.id)}`);
    this.#setName(find(".station-name", root), link, shown.name);
    setText(find(".state-text", root), shown.stateText);
    const mark = find(".on-air", root);
    setText(mark, text("on_air.mark"));
    mark.hidden = !shown.isOnAir;
    setAttribute(find(".scenes-of", root), "aria-label", text("wall.scenes_of", { station: shown.name }));
    setText(find(".round", root), [shown.round, lengthText(set)].filter(Boolean).join(" · "));
    setText(find(".place", root), game === null ? "" : placeName(game));
    setText(find(".clock", root), game === null || game.end !== null ? shown.lag : clockText(game));
    setText(find(".note", root), shown.note);
    setText(find(".result", root), shown.result);
    const players = playersOf(game, set);
    const winners = winnersOf(game, set);
    const list = find(".sides", root);
    setAttribute(list, "data-count", String(players.length));
    fill(list, players, newPlayer, (row, player) => this.#showPlayer(row, player, winners, set));
    const fighters = players.map((player) => ({
      index: player.index,
      port: player.port,
      colour: colourOf(player),
      hasStocks: player.stocks !== null,
    }));
    if (changedGame || JSON.stringify(fighters) !== JSON.stringify(this.#fighters)) {
      this.#fighters = fighters;
      this.#stale = true;
    }
  }

  /**
   * @param {HTMLElement} row
   * @param {Player} player
   * @param {number[]} winners
   * @param {SetScore | null} set
   */
  #showPlayer(row, player, winners, set) {
    row.dataset.index = String(player.index);
    row.dataset.colour = colourOf(player);
    row.classList.toggle("won", winners.includes(player.index));
    const name = find(".player-name", row);
    this.#setName(name, name, player.name);
    setAttribute(find(".who", row), "title", [player.name, player.character].filter(Boolean).join(" · "));
    const score = scoreOf(set, player);
    const badge = find(".set-score", row);
    badge.hidden = score === null;
    setText(badge, score === null ? "" : number(score));
    setAttribute(badge, "title", text("games.set_score"));
    const running = this.#game?.end === null && this.#shown !== null;
    if (!running || row.dataset.shown !== `${this.#gameId} ${player.index}`) {
      row.dataset.shown = `${this.#gameId} ${player.index}`;
      this.#values.delete(player.index);
      showLives(row, player, player.stocks, player.percent ?? null, player.percent !== undefined);
    }
  }

  /**
   * @param {HTMLElement} fitted
   * @param {HTMLElement} element
   * @param {string} name
   */
  #setName(fitted, element, name) {
    if (element.textContent !== name) {
      element.textContent = name;
      this.unfitted.add(fitted);
    }
  }

  /** Percents and stocks of a frame, where they have changed. @param {import("./pacing.js").Frame} frame */
  #showValues(frame) {
    const rows = find(".sides", this.root).children;
    for (const [i, { index, hasStocks }] of this.#fighters.entries()) {
      const post = frame.players?.[index]?.post;
      const row = /** @type {HTMLElement | undefined} */ (rows[i]);
      if (!post || row === undefined || typeof post.percent !== "number") {
        continue;
      }
      const percent = Math.floor(post.percent);
      const stocks = hasStocks ? (post.stocksRemaining ?? null) : null;
      const values = `${percent} ${stocks}`;
      if (this.#values.get(index) !== values) {
        this.#values.set(index, values);
        showLives(row, null, stocks, percent, true);
      }
    }
  }
}

function newPlayer() {
  const row = element("li", "", { class: "side-player" });
  row.innerHTML = PLAYER;
  return row;
}

/**
 * @param {HTMLElement} row
 * @param {Player | null} player  `null` to keep the number of stocks at the start.
 * @param {number | null} stocks
 * @param {number | null} percent
 * @param {boolean} hasPercent
 */
function showLives(row, player, stocks, percent, hasPercent) {
  if (player !== null) {
    row.dataset.stocks = String(player.startStocks ?? 0);
  }
  row.classList.toggle("out", stocks === 0);
  row.classList.toggle("last", stocks === 1 && Number(row.dataset.stocks) > 1);
  const lives = /** @type {HTMLElement} */ (find(".lives", row).firstElementChild);
  const points = typeof player?.points === "number" ? pointsText(player.points) : "";
  setText(lives, stocks === null ? points : stocks > MAX_DOTS ? `×${number(stocks)}` : "●".repeat(stocks));
  setText(find(".lives .hidden", row), stocks === null ? points : stocksText(stocks));
  const damage = find(".damage", row);
  setText(damage, stocks === 0 ? text("games.out") : !hasPercent ? "" : percent === null ? "–" : `${percent}%`);
}
