/**
 * The current game of a station, with the history that a `StationView` does not keep. `Match` takes the messages of a
 * station in order.
 *
 * `event` messages are about final frames and never change. Frames are newer, but a rollback may replace them. The displayed
 * values are those of the newest frame while the game is running, and those of the events at its end.
 */

import { timerStart } from "./slippi.js";

/**
 * @typedef {Record<string, any>} Message  A message of the daemon.
 * @typedef {import("./slpstream.js").StationView} StationView
 *
 * @typedef {{frame: number, percent: number}} Point
 * @typedef {{frame: number, percent: number, stocks: number | undefined}} Loss  A life lost at `percent`, with `stocks`
 *     left; `undefined` in a game without stocks.
 */

const MAX_FRAMES = 90;

/** Percent over time of each player, by player index. */
export class PercentHistory {
  /** @type {Map<number, Point[]>} */ points = new Map();
  /** @type {Map<number, Loss[]>} */ losses = new Map();
  lastFrame = 0;
  /** The frame in which the timer started. */
  timerStart = 0;

  /** @param {Message} event  An `event` message. */
  take({ kind, frame, playerIndex, percent, stocksRemaining, stock, life }) {
    this.lastFrame = Math.max(this.lastFrame, frame ?? 0);
    if (kind === "percent_changed") {
      listOf(this.points, playerIndex).push({ frame, percent });
    } else if (kind === "stock_lost" || kind === "fall") {
      const lost = { frame, percent: (stock ?? life)?.endPercent ?? this.percent(playerIndex), stocks: stocksRemaining };
      listOf(this.losses, playerIndex).push(lost);
    }
  }

  /**
   * Takes everything up to the frame `through` from another history of the same game.
   * @param {PercentHistory} earlier
   * @param {number} through
   */
  precede(earlier, through) {
    const pairs = /** @type {const} */ ([[this.points, earlier.points], [this.losses, earlier.losses]]);
    for (const [ownLists, otherLists] of pairs) {
      for (const index of new Set([...ownLists.keys(), ...otherLists.keys()])) {
        const before = (otherLists.get(index) ?? []).filter(({ frame }) => frame <= through);
        const after = (ownLists.get(index) ?? []).filter(({ frame }) => frame > through);
        /** @type {Map<number, any[]>} */ (ownLists).set(index, [...before, ...after]);
      }
    }
    this.lastFrame = Math.max(this.lastFrame, earlier.lastFrame);
  }

  /** @param {number} index */
  percent(index) {
    return this.points.get(index)?.at(-1)?.percent ?? 0;
  }

  /**
   * Reconstructs the history of a game from its stats: percent rises with the moves of conversions, and a stock ends at its
   * end percent.
   * @param {Record<string, any>} stats  `StatsType`
   */
  static fromStats(stats) {
    const history = new PercentHistory();
    history.lastFrame = stats.lastFrame ?? 0;
    history.timerStart = timerStart(stats);
    const moves = (stats.conversions ?? []).flatMap((/** @type {any} */ conversion) =>
      (conversion.moves ?? []).map((/** @type {any} */ move) => ({ victim: conversion.playerIndex, ...move })),
    );
    moves.sort((/** @type {any} */ a, /** @type {any} */ b) => a.frame - b.frame);
    for (const stock of stats.stocks ?? []) {
      const index = stock.playerIndex;
      const points = listOf(history.points, index);
      let percent = stock.startPercent ?? 0;
      points.push({ frame: stock.startFrame, percent });
      const finalPercent = stock.endPercent ?? stock.currentPercent ?? Infinity;
      const endFrame = stock.endFrame ?? Infinity;
      for (const move of moves) {
        if (move.victim === index && move.frame >= stock.startFrame && move.frame <= endFrame) {
          percent = Math.min(finalPercent, percent + move.damage);
          points.push({ frame: move.frame, percent });
        }
      }
      if (stock.endFrame !== undefined && stock.endFrame !== null) {
        const stocks = typeof stock.count === "number" ? stock.count - 1 : undefined;
        listOf(history.losses, index).push({ frame: stock.endFrame, percent: finalPercent, stocks });
        points.push({ frame: stock.endFrame, percent: 0 });
      } else if (Number.isFinite(finalPercent)) {
        points.push({ frame: history.lastFrame, percent: finalPercent });
      }
    }
    return history;
  }
}

/** The game in a station's view. */
export class Match {
  gameId = "";
  history = new PercentHistory();
  /** @type {Record<string, any> | null} */ stats = null;
  /** Frames of the first and the newest `stats` message. All events up to these frames have been received. */
  firstStatsFrame = NaN;
  statsFrame = NaN;
  /** The newest frames by number, oldest first. @type {Map<number, Record<string, any>>} */ frames = new Map();
  /** Heights from stage events, by platform id. @type {Map<number, number>} */
  platformHeights = new Map();
  durationSeconds = 0;
  /** Values from events, by player index. @type {Map<number, Record<string, number>>} */ #final = new Map();

  /** @param {StationView} view */
  constructor(view) {
    this.view = view;
  }

  /** @param {string} gameId */
  #begin(gameId) {
    this.gameId = gameId;
    this.history = new PercentHistory();
    this.stats = null;
    this.firstStatsFrame = this.statsFrame = NaN;
    this.frames = new Map();
    this.platformHeights = new Map();
    this.durationSeconds = 0;
    this.#final = new Map();
  }

  /** Adds the history before this match from an earlier match of the same game. @param {Match} earlier */
  join(earlier) {
    this.history.precede(earlier.history, this.game?.end ? Infinity : earlier.statsFrame);
  }

  /** The game of the view, if the history belongs to it. */
  get game() {
    return this.view.game !== null && this.view.game.gameId === this.gameId ? this.view.game : null;
  }

  /** Processes a message. The view has processed it already. @param {Message} message */
  take(message) {
    const { game } = this.view;
    if (game === null || (message.gameId !== undefined && message.gameId !== game.gameId)) {
      return;
    }
    // The history before a snapshot is unknown.
    if (message.type === "game_start" || message.type === "snapshot" || game.gameId !== this.gameId) {
      this.#begin(game.gameId);
    }
    switch (message.type) {
      case "snapshot":
        this.stats = message.stats ?? this.stats;
        this.#addFrame(message.frame);
        break;
      case "frame":
        this.#addFrame(message.frame);
        break;
      case "event":
        this.history.take(message);
        this.#addEvent(message);
        break;
      case "stats":
        this.stats = message.stats;
        this.statsFrame = message.frame;
        this.firstStatsFrame = Number.isNaN(this.firstStatsFrame) ? message.frame : this.firstStatsFrame;
        break;
      case "game_end":
        this.durationSeconds = message.durationSeconds ?? 0;
        this.#applyFinalValues();
        break;
    }
  }

  /** @param {Record<string, any> | undefined} frame */
  #addFrame(frame) {
    if (!frame) {
      return;
    }
    this.frames.delete(frame.frame);
    this.frames.set(frame.frame, frame);
    while (this.frames.size > MAX_FRAMES) {
      this.frames.delete(/** @type {number} */ (this.frames.keys().next().value));
    }
    for (const event of frame.stageEvents ?? []) {
      if (event.kind === "fod_platform" && event.height !== undefined) {
        this.platformHeights.set(event.platform, event.height);
      }
    }
  }

  /** @param {Message} event */
  #addEvent({ kind, playerIndex, percent, stocksRemaining }) {
    if (playerIndex === undefined) {
      return;
    }
    const values = this.#final.get(playerIndex) ?? {};
    this.#final.set(playerIndex, values);
    if (kind === "percent_changed") {
      values.percent = percent;
    } else if (stocksRemaining !== undefined && (kind === "stock_lost" || kind === "player_spawned")) {
      values.stocksRemaining = stocksRemaining;
    }
  }

  /** A subscription with a reduced rate may lack the last frame, but the events have its values. */
  #applyFinalValues() {
    for (const [index, values] of this.#final) {
      const entry = this.view.game?.players.get(index);
      if (entry?.post) {
        Object.assign(entry.post, values);
      }
    }
  }
}

/**
 * @template T
 * @param {Map<number, T[]>} lists
 * @param {number} index
 */
function listOf(lists, index) {
  let list = lists.get(index);
  if (list === undefined) {
    list = [];
    lists.set(index, list);
  }
  return list;
}
