/** One station in the scene of the director: its name, its stage or its set, its players and their odds. */

import { make, setAttribute, setData, setText, fill } from "../dom.js";
import { fit } from "../fit.js";
import { placeName, playersOf, resultOf } from "../game_words.js";
import { arrivals } from "../late.js";
import { Match } from "../match.js";
import { advantage } from "../odds_option.js";
import { colourOf } from "../player_colour.js";
import { inShownOrder, isLeft, lengthText, scoreOf, setOf, wonText } from "../set_score.js";
import { FORMAT, playerOfSet, pointsText, stocksText } from "../slippi.js";
import { StationView } from "../slpstream.js";
import { StageView } from "../stage_view.js";
import { number, text } from "../texts/texts.js";

/**
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 *
 * @typedef {object} Shown  The players of a game, or those of the set between games.
 * @property {"playing" | "result" | "between"} phase
 * @property {Game | null} game
 * @property {SetScore | null} set  That of the game, if there is one.
 */

/** More stocks are shown as a number. */
const MAX_DOTS = 4;
/** More players than this are not shown one by one. */
const MAX_PLAYERS = 4;
/** Height of the letters of names on the stage, in rem. */
const TAG_REMS = { large: 1, small: 0.75 };
const MIN_TAG_PX = 10;

export class Tile {
  #station = fitted("p.station");
  #round = fitted("p.round");
  #headline = fitted("p.headline");
  #points = make("p.points");
  #players = make("ul.players");
  #bar = advantage === null ? null : new advantage.Bar();
  /** @type {StageView | null} */ #stage = null;
  #view;
  #match;
  #isQuad;
  #holdMs;
  #isLarge = false;
  #endedAt = -Infinity;
  /** What the drawn tile depends on, except the messages. */
  #drawn = "";
  /** When it changes without a message. @type {number | null} */ #changesAt = null;

  /**
   * @param {string} id
   * @param {string} name
   * @param {{isStill: boolean, isQuad: boolean, holdMs: number}} options  `holdMs` is how long the result of a game stays.
   */
  constructor(id, name, { isStill, isQuad, holdMs }) {
    this.#view = new StationView(id);
    this.#match = new Match(this.#view);
    this.#isQuad = isQuad;
    this.#holdMs = holdMs;
    const board = make("div.board", this.#headline, this.#points);
    const picture = make("div.picture", board);
    if (!isQuad) {
      this.#stage = new StageView();
      this.#stage.still = isStill;
      this.#stage.match = this.#match;
      picture.prepend(this.#stage);
    }
    const head = make("div.head", this.#station, this.#round);
    const bar = this.#bar === null || isQuad ? [] : [this.#bar.root];
    this.root = make("li.tile", head, picture, ...bar, this.#players);
    this.root.dataset.station = id;
    show(this.#station, name);
  }

  /**
   * @param {boolean} isLarge
   * @param {string} area  That of the grid.
   */
  place(isLarge, area) {
    this.#isLarge = isLarge;
    this.root.classList.toggle("large", isLarge);
    this.root.style.setProperty("--area", area);
  }

  /**
   * @param {Record<string, any>} message
   * @param {number} now
   */
  take(message, now) {
    this.#drawn = "";
    if (message.type === "reset") {
      this.#view.reset();
      return;
    }
    this.#view.take(message);
    this.#match.take(message);
    this.#bar?.take(message);
    if (message.type === "game_end") {
      this.#endedAt = now;
    }
  }

  /**
   * Draws the tile if it has changed, and returns when it changes without a message, or `null`.
   * @param {number} now
   * @param {number} rem  In pixels.
   */
  draw(now, rem) {
    if (this.#stage !== null) {
      this.#stage.tagSize = Math.max(MIN_TAG_PX, rem * TAG_REMS[this.#isLarge ? "large" : "small"]);
    }
    const key = String(arrivals());
    const isDue = this.#changesAt !== null && now >= this.#changesAt;
    if (!this.#view.catchingUp && (isDue || key !== this.#drawn)) {
      this.#drawn = key;
      this.#changesAt = this.#draw(now);
    }
    return this.#changesAt;
  }

  /** @param {number} now */
  #draw(now) {
    const { phase, game, set } = this.#shown(now);
    const headline = headlineOf(phase, game, set);
    const players = game === null ? playersOfSet(set) : playersOf(game, set);
    setData(this.root, "phase", phase);
    if (this.#stage !== null) {
      this.#stage.set = set;
      this.#stage.hidden = game === null || game.format !== FORMAT;
    }
    const round = [set?.round, lengthText(set)].filter(Boolean).join(" · ");
    show(this.#round, this.#isQuad && headline !== "" ? headline : round);
    show(this.#headline, this.#isQuad ? "" : headline);
    setText(this.#points, phase === "between" && !this.#isQuad ? pointsOf(set) : "");
    this.#points.hidden = this.#points.textContent === "";
    this.#bar?.draw(phase === "playing" ? game : null, players);
    if (players.length > MAX_PLAYERS) {
      setData(this.#players, "count", "1");
      fill(this.#players, [game?.summary?.who || players.map(({ name }) => name).join(", ")], newRow, showCrowd);
    } else {
      setData(this.#players, "count", String(players.length));
      fill(this.#players, inColumns(players), newRow, (row, player) => showPlayer(row, player, game, scoreOf(set, player)));
    }
    return phase === "result" && this.#endedAt + this.#holdMs > now ? this.#endedAt + this.#holdMs : null;
  }

  /**
   * @param {number} now
   * @returns {Shown}
   */
  #shown(now) {
    const { game, set } = this.#view;
    if (game !== null && game.end === null) {
      return { phase: "playing", game, set: setOf(game, set) };
    }
    const isNamed = set?.players.some(({ name }) => name) ?? false;
    const isAnnounced = set?.state === "upcoming" && isNamed;
    const hasPlayers = set !== null && set.players.length > 0 && (set.state !== "upcoming" || isNamed);
    if (game !== null && !isAnnounced && (now - this.#endedAt < this.#holdMs || !hasPlayers)) {
      return { phase: "result", game, set: setOf(game, set) };
    }
    return { phase: "between", game: null, set: hasPlayers ? set : null };
  }
}

/**
 * What a tile says over its picture.
 * @param {Shown["phase"]} phase
 * @param {Game | null} game
 * @param {SetScore | null} set
 */
function headlineOf(phase, game, set) {
  if (phase === "playing" || (game === null && set === null)) {
    return game !== null && game.format !== FORMAT ? placeName(game) : "";
  }
  const won = wonText(set);
  if (won !== "" || game !== null) {
    return won || resultOf(/** @type {Game} */ (game), set);
  }
  if (set === null || set.crewBattle !== undefined) {
    return "";
  }
  if (set.state !== "running") {
    return text(set.state === "over" ? "director.set_over" : "director.up_next");
  }
  const played = (set.games ?? []).filter(({ counts, verdict }) => counts && verdict !== "playing").length;
  return text("director.next_game", { game: String(played + (set.olderGames ?? 0) + 1) });
}

/**
 * The score of a set that is being played; empty without games, and once it is over, because its winner is named with the score.
 * @param {SetScore | null} set
 */
function pointsOf(set) {
  const scores = (set?.sides ?? []).map(({ score }) => score);
  if (set === null || wonText(set) !== "" || scores.length !== 2 || scores.every((score) => score === 0)) {
    return "";
  }
  return (set.swapped ? scores.reverse() : scores).map((score) => number(score)).join(" – ");
}

/** @param {SetScore | null} set */
function playersOfSet(set) {
  return inShownOrder((set?.players ?? []).map(playerOfSet).sort((one, other) => one.port - other.port), set);
}

/**
 * Players row by row, so that each of two columns has a side.
 * @param {Player[]} players
 */
function inColumns(players) {
  const left = players.filter((player, i) => isLeft(players, player, i));
  const right = players.filter((player) => !left.includes(player));
  return left.length < right.length ? players : left.flatMap((player, i) => [player, ...right.slice(i, i + 1)]);
}

/**
 * A line whose text is fitted into its width.
 * @param {string} kind
 */
function fitted(kind) {
  const line = make(kind, make("bdi"));
  line.classList.add("fitted");
  return line;
}

/**
 * @param {HTMLElement} line
 * @param {string} value
 * @param {string} [before]  A part that is not shown where there is little room.
 */
function show(line, value, before = "") {
  const key = `${arrivals()} ${before}${value}`;
  if (line.dataset.shown !== key) {
    line.dataset.shown = key;
    line.hidden = value === "";
    line.firstElementChild?.replaceChildren(...(before === "" ? [] : [make("span.before", before)]), value);
    fit(line);
  }
}

function newRow() {
  const name = fitted("p.name");
  const lives = make("p.lives");
  lives.setAttribute("role", "img");
  return make("li.player", name, lives, make("p.damage"), make("p.score"));
}

/**
 * @param {HTMLElement} row
 * @param {Player} player
 * @param {Game | null} game
 * @param {number | null} score
 */
function showPlayer(row, player, game, score) {
  const [name, lives, damage, points] = /** @type {HTMLElement[]} */ ([...row.children]);
  const { stocks } = player;
  const end = player.name.lastIndexOf(" | ") + 3;
  setData(row, "colour", colourOf(player));
  show(name, end > 2 ? player.name.slice(end) : player.name, end > 2 ? player.name.slice(0, end) : "");
  row.classList.toggle("last", game?.end === null && stocks === 1 && player.startStocks > 1);
  const isCounted = stocks !== null && stocks <= MAX_DOTS;
  const figure = typeof player.points === "number" ? pointsText(player.points) : "";
  const words = stocks === null ? figure : isCounted ? "" : `×${number(stocks)}`;
  if (isCounted) {
    fill(lives, Array.from({ length: stocks }), () => make("span.life"), () => {});
    setAttribute(lives, "aria-label", stocksText(stocks));
  } else {
    setText(lives, words);
    setAttribute(lives, "aria-label", words);
  }
  lives.hidden = stocks === null && words === "";
  setText(damage, stocks === 0 ? text("games.out") : typeof player.percent === "number" ? `${player.percent}%` : "");
  damage.hidden = damage.textContent === "";
  setText(points, score === null ? "" : number(score));
  points.hidden = score === null;
}

/**
 * @param {HTMLElement} row
 * @param {string} names
 */
function showCrowd(row, names) {
  const [name, ...others] = /** @type {HTMLElement[]} */ ([...row.children]);
  show(name, names);
  row.classList.remove("last");
  for (const other of others) {
    other.hidden = true;
  }
}
