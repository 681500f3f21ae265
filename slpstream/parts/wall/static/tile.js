/** One station on the wall: its name and state, a miniature of its stage, and its players. */

import { element, fill, find, setAttribute, setData, setText } from "../dom.js";
import { fighterOf } from "../fighters.js";
import { clockText, placeName, playersOf, winnersOf } from "../game_words.js";
import { arrivals, arrived } from "../late.js";
import { advantage } from "../odds_option.js";
import { colourOf } from "../player_colour.js";
import { inShownOrder, lengthText, scoreOf } from "../set_score.js";
import { playerOfSet, pointsText, stageOutline, stocksText } from "../slippi.js";
import { portText } from "../texts/names.js";
import { number, text } from "../texts/texts.js";
import { announcedSet, idleMinutes, idleText, isLong, nextText } from "./between.js";
import { MiniStage } from "./mini_stage.js";
import { showName } from "./names.js";
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
 * @property {string} note    Why it needs attention.
 * @property {string} result  Of its last game.
 * @property {Game | null} game
 * @property {SetScore | null} set        The set of the game.
 * @property {SetScore | null} newestSet  The newest set of the station.
 * @property {string} idleSince           When its last game ended; empty if unknown.
 */

/** The module with the pictures of characters. The wall does not wait for it. @type {typeof import("../icons/icons.js") | null} */
let icons = null;
import("../icons/icons.js").then((loaded) => {
  icons = loaded;
  arrived();
});

const MAX_DOTS = 4;
/** Earlier frames that a tile keeps, for what moves in its miniature. */
const MAX_FRAMES = 12;
const PARTS = `
  <div class="head">
    <span class="lamp" aria-hidden="true"></span>
    <h3 class="station-name"><a class="open"></a></h3>
    <span class="on-air" hidden></span>
    <span class="state-text"></span>
    <span class="idle-time"></span>
    <span class="head-score"></span>
    <button class="scenes-of" type="button" aria-haspopup="dialog" aria-expanded="false"><span aria-hidden="true">⋯</span></button>
  </div>
  <div class="picture"><canvas aria-hidden="true"></canvas><p class="where"><span class="round"></span><span class="place"></span><span class="clock"></span></p><p class="won-games"></p><p class="next"></p><p class="note"></p></div>
  <ul class="sides"></ul>`;
const PLAYER = `<span class="who"><span class="icon"></span><bdi class="player-name"></bdi></span>
  <span class="values"><span class="set-score" hidden></span><span class="lives"><span aria-hidden="true"></span><span class="hidden"></span></span><span class="damage"></span></span>`;

export class Tile {
  root = element("li", "", { class: "tile" });
  /** Whether the tile is within the window. */
  visible = false;
  /** Names that have changed since they were fitted. @type {Set<HTMLElement>} */ unfitted = new Set();
  /** The odds of the game, if the page shows them. */
  #bar = advantage === null ? null : new advantage.Bar();
  #pacing = new Pacing();
  #stage;
  #picture;
  /** @type {Game | null} */ #game = null;
  #gameId = "";
  /** The displayed frame. @type {import("./pacing.js").Frame | null} */ #shown = null;
  /** The displayed frames, newest last. @type {Map<number, import("./pacing.js").Frame>} */ #frames = new Map();
  /** @type {import("../fighters.js").Fighter[]} */ #fighters = [];
  /** By player index: the percent and the stocks that are displayed. @type {Map<number, string>} */ #values = new Map();
  #stale = true;

  /** @param {(opener: HTMLElement) => void} openScenes */
  constructor(openScenes) {
    this.root.innerHTML = PARTS;
    this.#stage = new MiniStage(/** @type {HTMLCanvasElement} */ (find("canvas", this.root)));
    this.#picture = find(".picture", this.root);
    if (this.#bar !== null) {
      this.#picture.after(this.#bar.root);
    }
    const button = find(".scenes-of", this.root);
    button.addEventListener("click", () => openScenes(button));
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

  /**
   * Sets how much the tile shows, and fits its names again.
   * @param {string} size  `large`, `medium`, `small` or `tiny`.
   */
  arrange(size) {
    setData(this.root, "size", size);
    for (const name of this.root.querySelectorAll(".player-name")) {
      this.unfitted.add(/** @type {HTMLElement} */ (name));
    }
  }

  /** @param {import("../match.js").Message} message */
  take(message) {
    this.#bar?.take(message);
    if (message.type === "game_start" || message.type === "snapshot") {
      this.#pacing.begin(message.rate ?? [60, 1]);
      this.#gameId = message.gameId;
      this.#shown = null;
      this.#frames.clear();
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
      this.#keep(frame);
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
    const stage = { id: game?.settings.stageId ?? "", outline: game === null ? null : stageOutline(game) };
    this.#stage.draw(running ? this.#shown : null, this.#frames, this.#fighters, stage, atRest);
    this.root.dataset.frame = String(this.#shown?.frame ?? "");
  }

  /** @param {import("./pacing.js").Frame} frame */
  #keep(frame) {
    this.#frames.set(frame.frame, frame);
    if (this.#frames.size > MAX_FRAMES) {
      this.#frames.delete(/** @type {number} */ (this.#frames.keys().next().value));
    }
  }

  /** Shows everything that is not in the frames. A few times a second is enough. @param {Shown} shown */
  show(shown) {
    const { root } = this;
    const { game } = shown;
    const isRunning = game !== null && game.end === null;
    const announced = isRunning ? null : announcedSet(shown.newestSet);
    const set = announced ?? shown.set;
    const changedGame = game?.gameId !== this.#game?.gameId || game?.end !== this.#game?.end;
    this.#game = game;
    setData(root, "station", shown.id);
    setData(root, "state", shown.state);
    setData(root, "attention", String(shown.attention));
    setData(root, "between", String(!isRunning));
    find("canvas", root).hidden = game === null;
    const link = find(".open", root);
    setAttribute(link, "href", `#station/${encodeURIComponent(shown.id)}`);
    setText(link, shown.name);
    setAttribute(link, "title", shown.name);
    setText(find(".state-text", root), shown.stateText);
    const minutes = shown.state === "idle" ? idleMinutes(shown.idleSince, Date.now()) : null;
    setText(find(".idle-time", root), idleText(minutes));
    setData(root, "idle", minutes === null ? "" : isLong(minutes) ? "long" : "short");
    const mark = find(".on-air", root);
    setText(mark, text("on_air.mark"));
    mark.hidden = !shown.isOnAir;
    setAttribute(find(".scenes-of", root), "aria-label", text("wall.scenes_of", { station: shown.name }));
    setText(find(".round", root), [announced?.round ?? shown.round, lengthText(set)].filter(Boolean).join(" · "));
    setText(find(".place", root), game === null || announced !== null ? "" : placeName(game));
    setText(find(".clock", root), isRunning ? clockText(game) : "");
    const isQuiet = shown.state === "idle" && shown.attention === 0;
    setText(find(".next", root), isRunning ? "" : nextText(set) || shown.result || (isQuiet ? shown.note : ""));
    setText(find(".note", root), isQuiet ? "" : shown.note);
    const players = announced === null ? playersOf(game, set) : inShownOrder(announced.players.map(playerOfSet), announced);
    const [first] = players;
    players.sort((a, b) => Number(a.team !== first.team) - Number(b.team !== first.team));
    this.#showScore(announced === null ? set : null, players);
    this.#bar?.draw(isRunning ? game : null, players);
    const winners = announced === null ? winnersOf(game, set) : [];
    const won = players.filter(({ index }) => winners.includes(index));
    const losers = players.filter((player) => won.length > 0 && !won.some((each) => isOnSideOf(each, player)));
    const list = find(".sides", root);
    setAttribute(list, "data-count", String(players.length));
    fill(list, players, newPlayer, (row, player) => {
      row.classList.toggle("won", won.includes(player));
      row.classList.toggle("lost", losers.includes(player));
      this.#showPlayer(row, player, announced === null ? set : null);
    });
    const fighters = players.map(fighterOf);
    if (changedGame || JSON.stringify(fighters) !== JSON.stringify(this.#fighters)) {
      this.#fighters = fighters;
      this.#stale = true;
    }
  }

  /**
   * Shows the games that each of two sides has won, in large figures.
   * @param {SetScore | null} set
   * @param {readonly Player[]} players  Those of one side first.
   */
  #showScore(set, players) {
    const ends = set?.sides?.length === 2 ? [players[0], players[players.length - 1]] : [];
    const sides = ends.flatMap((player) => {
      const score = player === undefined ? null : scoreOf(set, player);
      return score === null ? [] : [{ score, colour: colourOf(player) }];
    });
    setData(this.root, "score", String(sides.length === 2));
    setText(find(".head-score", this.root), sides.length === 2 ? sides.map(({ score }) => number(score)).join("–") : "");
    fill(find(".won-games", this.root), sides.length === 2 ? sides : [], newFigure, (figure, { score, colour }) => {
      setText(figure, number(score));
      setData(figure, "colour", colour);
    });
  }

  /**
   * @param {HTMLElement} row
   * @param {Player} player
   * @param {SetScore | null} set
   */
  #showPlayer(row, player, set) {
    setData(row, "index", String(player.index));
    setData(row, "colour", colourOf(player));
    const hasName = player.name !== portText(player.port) || player.character === "";
    const name = find(".player-name", row);
    const shownName = hasName ? player.name : player.character;
    if (name.textContent !== shownName) {
      showName(name, shownName);
      this.unfitted.add(name);
    }
    setAttribute(find(".who", row), "title", hasName ? [player.name, player.character].filter(Boolean).join(" · ") : shownName);
    const icon = find(".icon", row);
    showIcon(icon, player);
    const room = `${icon.hidden} ${row.classList.contains("won")} ${this.root.dataset.between}`;
    if (row.dataset.room !== room) {
      row.dataset.room = room;
      this.unfitted.add(name);
    }
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

/**
 * @param {Player} player
 * @param {Player} other
 */
function isOnSideOf(player, other) {
  return player === other || (player.team !== "" && player.team === other.team);
}

function newFigure() {
  return element("span", "", { class: "figure" });
}

/**
 * Shows the icon of a player's character, which only games of Melee have.
 * @param {HTMLElement} place
 * @param {Player} player
 */
function showIcon(place, { characterId, costumeIndex }) {
  place.hidden = characterId < 0;
  const shown = `${characterId} ${costumeIndex} ${arrivals()}`;
  if (icons !== null && !place.hidden && place.dataset.shown !== shown) {
    place.dataset.shown = shown;
    place.replaceChildren(icons.characterPicture(characterId, costumeIndex));
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
