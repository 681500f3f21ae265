/**
 * One game as the dashboard follows it: what a `StationView` does not keep. Fed with the messages of a station in their
 * order, it always belongs to the game that the view shows.
 *
 * `event` messages are about final frames, so what they say is never taken back. Frames may be: they are ahead, and a
 * rollback sends them again. While the game goes on its values are those of the newest frame; at the end those of the events.
 */

/**
 * @typedef {Record<string, any>} Message  As it comes from the daemon.
 * @typedef {import("../slpstream.js").StationView} StationView
 *
 * @typedef {{frame: number, percent: number}} Point
 * @typedef {{frame: number, percent: number, stocks: number}} Loss  A stock lost at `percent`; `stocks` are left.
 */

const KEPT_FRAMES = 90;

/** Percent over time of each player, by player index. */
export class PercentHistory {
  /** @type {Map<number, Point[]>} */ points = new Map();
  /** @type {Map<number, Loss[]>} */ losses = new Map();
  lastFrame = 0;

  /** @param {Message} event  An `event` message. */
  take({ kind, frame, playerIndex, percent, stocksRemaining, stock }) {
    this.lastFrame = Math.max(this.lastFrame, frame ?? 0);
    if (kind === "percent_changed") {
      at(this.points, playerIndex).push({ frame, percent });
    } else if (kind === "stock_lost") {
      const lost = { frame, percent: stock?.endPercent ?? this.percent(playerIndex), stocks: stocksRemaining };
      at(this.losses, playerIndex).push(lost);
    }
  }

  /**
   * Puts what another history of the same game knows up to a frame before what this one knows after it.
   * @param {PercentHistory} earlier
   * @param {number} through
   */
  precede(earlier, through) {
    for (const [own, others] of /** @type {const} */ ([[this.points, earlier.points], [this.losses, earlier.losses]])) {
      for (const index of new Set([...own.keys(), ...others.keys()])) {
        const before = (others.get(index) ?? []).filter(({ frame }) => frame <= through);
        const after = (own.get(index) ?? []).filter(({ frame }) => frame > through);
        /** @type {Map<number, any[]>} */ (own).set(index, [...before, ...after]);
      }
    }
    this.lastFrame = Math.max(this.lastFrame, earlier.lastFrame);
  }

  /** @param {number} index */
  percent(index) {
    return this.points.get(index)?.at(-1)?.percent ?? 0;
  }

  /**
   * Of a game that is known by its stats alone: percent rises with the moves of conversions, a stock ends at its percent.
   * @param {Record<string, any>} stats  `StatsType`
   */
  static ofStats(stats) {
    const history = new PercentHistory();
    history.lastFrame = stats.lastFrame ?? 0;
    const moves = (stats.conversions ?? []).flatMap((/** @type {any} */ conversion) =>
      (conversion.moves ?? []).map((/** @type {any} */ move) => ({ victim: conversion.playerIndex, ...move })),
    );
    moves.sort((/** @type {any} */ a, /** @type {any} */ b) => a.frame - b.frame);
    for (const stock of stats.stocks ?? []) {
      const index = stock.playerIndex;
      const points = at(history.points, index);
      let percent = stock.startPercent ?? 0;
      points.push({ frame: stock.startFrame, percent });
      const most = stock.endPercent ?? stock.currentPercent ?? Infinity;
      const endFrame = stock.endFrame ?? Infinity;
      for (const move of moves) {
        if (move.victim === index && move.frame >= stock.startFrame && move.frame <= endFrame) {
          percent = Math.min(most, percent + move.damage);
          points.push({ frame: move.frame, percent });
        }
      }
      if (stock.endFrame !== undefined && stock.endFrame !== null) {
        at(history.losses, index).push({ frame: stock.endFrame, percent: most, stocks: stock.count - 1 });
        points.push({ frame: stock.endFrame, percent: 0 });
      } else if (Number.isFinite(most)) {
        points.push({ frame: history.lastFrame, percent: most });
      }
    }
    return history;
  }
}

/** The game that a station's view shows. */
export class Match {
  gameId = "";
  history = new PercentHistory();
  /** @type {Record<string, any> | null} */ stats = null;
  /** Of the first and the newest `stats` message that came; final frames up to there have had their events. */
  firstStatsFrame = NaN;
  statsFrame = NaN;
  /** The newest frames by number, oldest first. @type {Map<number, Record<string, any>>} */ frames = new Map();
  /** Heights that stage events have said, by what they call the platform. @type {Map<number, number>} */
  platformHeights = new Map();
  durationSeconds = 0;
  /** What events have said of each player. @type {Map<number, Record<string, number>>} */ #final = new Map();

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

  /** Takes from another match of the same game what happened before this one came. @param {Match} earlier */
  join(earlier) {
    this.history.precede(earlier.history, this.game?.end ? Infinity : earlier.statsFrame);
  }

  /** The game, as long as what is kept here belongs to it. */
  get game() {
    return this.view.game !== null && this.view.game.gameId === this.gameId ? this.view.game : null;
  }

  /** After the view has taken it. @param {Message} message */
  take(message) {
    const { game } = this.view;
    if (game === null || (message.gameId !== undefined && message.gameId !== game.gameId)) {
      return;
    }
    // After a snapshot there is a gap: what happened before it is not known here.
    if (message.type === "game_start" || message.type === "snapshot" || game.gameId !== this.gameId) {
      this.#begin(game.gameId);
    }
    switch (message.type) {
      case "snapshot":
        this.stats = message.stats ?? this.stats;
        this.#frame(message.frame);
        break;
      case "frame":
        this.#frame(message.frame);
        break;
      case "event":
        this.history.take(message);
        this.#event(message);
        break;
      case "stats":
        this.stats = message.stats;
        this.statsFrame = message.frame;
        this.firstStatsFrame = Number.isNaN(this.firstStatsFrame) ? message.frame : this.firstStatsFrame;
        break;
      case "game_end":
        this.durationSeconds = message.durationSeconds ?? 0;
        this.#settle();
        break;
    }
  }

  /** @param {Record<string, any> | undefined} frame */
  #frame(frame) {
    if (!frame) {
      return;
    }
    this.frames.delete(frame.frame);
    this.frames.set(frame.frame, frame);
    while (this.frames.size > KEPT_FRAMES) {
      this.frames.delete(/** @type {number} */ (this.frames.keys().next().value));
    }
    for (const event of frame.stageEvents ?? []) {
      if (event.kind === "fod_platform") {
        this.platformHeights.set(event.platform, event.height);
      }
    }
  }

  /** @param {Message} event */
  #event({ kind, playerIndex, percent, stocksRemaining }) {
    if (playerIndex === undefined) {
      return;
    }
    const values = this.#final.get(playerIndex) ?? {};
    this.#final.set(playerIndex, values);
    if (kind === "percent_changed") {
      values.percent = percent;
    } else if (kind === "stock_lost" || kind === "player_spawned") {
      values.stocksRemaining = stocksRemaining;
    }
  }

  /** A subscription to some frames only does not have the last one: what it changed is in the events. */
  #settle() {
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
function at(lists, index) {
  let list = lists.get(index);
  if (list === undefined) {
    list = [];
    lists.set(index, list);
  }
  return list;
}
