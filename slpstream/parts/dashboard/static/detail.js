/** The panel next to the lists: a station with its live game, or a finished game. */

import { setUpCopying } from "../copying.js";
import { clone, find, setAttribute, setText } from "../dom.js";
import { clockText, placeName, playersOf, resultOf, whoText, winnersOf } from "../game_words.js";
import { arrivals } from "../late.js";
import { Match, PercentHistory } from "../match.js";
import { advantage, subscription } from "../odds_option.js";
import { STAGE_FIELDS } from "../replay.js";
import { setOf } from "../set_score.js";
import { FIELDS, FORMAT, minutesText, timerStart } from "../slippi.js";
import { Stream } from "../slpstream.js";
import { StageView } from "../stage_view.js";
import { date, text } from "../texts/texts.js";
import { ControllersPanel } from "./controllers_panel.js";
import { reasonText, stateText } from "./daemon.js";
import { FinishedGame } from "./finished_game.js";
import { GameSummary } from "./game_summary.js";
import { InstantReplay } from "./instant_replay.js";
import { gameAtEnd, lacksEnd, timesOf, withNames } from "./listed_game.js";
import { MomentsPanel } from "./moments.js";
import { partModule } from "./part_module.js";
import { ReplayBar } from "./replay_bar.js";
import { showPlayers } from "./rows.js";
import { SetPanel } from "./set_panel.js";
import { Shortcuts } from "./shortcuts.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("../slpstream.js").Game} Game
 */

const SUMMARY_MS = 500;
/** Addresses that only this computer can open. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
/** A panel appears when all of it has arrived, so that nothing moves, and after this time in any case. */
const MAX_LOADING_MS = 5000;

/** A station, with all frames of its live game. */
export class StationDetail {
  #root;
  #station;
  #overlay;
  #options;
  #feed;
  #match;
  #replay;
  #stageView;
  #setPanel;
  /** The view of the part `on_air`, once it is loaded. @type {{draw: (daemon: Daemon) => void} | null} */ #onAirButton = null;
  #moments;
  #controllers;
  /** The running game from its start, until `#match` has joined it. @type {{feed: Stream, match: Match} | null} */ #past = null;
  /** The last game, while the page has not seen one of this station. @type {FinishedGame | null} */ #lastGame = null;
  /** An earlier game, while a moment of it is on the stage. @type {FinishedGame | null} */ #earlier = null;
  /** The moment to show once its game has arrived. @type {import("./moments.js").Moment | null} */ #moment = null;
  #shortcuts;
  /** The odds of the game, if the page shows them. */
  #bar = advantage === null ? null : new advantage.Bar();
  /** @type {Daemon | null} */ #daemon = null;
  #summaryAt = -Infinity;
  #summaryKey = "";
  #curtain;

  /**
   * @param {HTMLElement} panel
   * @param {string} station
   * @param {{access: {token?: string, protocol: "json" | "delta"}, base: URL, overlay: string, onChange: () => void}} options
   */
  constructor(panel, station, { access, base, overlay, onChange }) {
    this.#root = clone("station-detail");
    panel.append(this.#root);
    this.#curtain = new Curtain(this.#root, onChange);
    this.#station = station;
    this.#overlay = overlay;
    this.#options = { station, base, onChange, ...access };
    this.#feed = new Stream({
      ...this.#options,
      topics: ["game", "frame", "event", "stats"],
      fields: [...FIELDS, ...STAGE_FIELDS],
      ...subscription,
      onMessage: (message) => this.#receive(message),
    });
    this.#match = new Match(this.#feed.station(station));
    const parts = stageParts(this.#root);
    this.#stageView = parts.stage;
    if (this.#bar !== null) {
      this.#stageView.before(this.#bar.root);
    }
    this.#replay = new InstantReplay({ ...parts, live: this.#match, onChange, onLive: () => (this.#earlier = null) });
    this.#setPanel = new SetPanel(find(".set", this.#root), station, onChange);
    this.#loadOnAirButton();
    this.#moments = new MomentsPanel(find(".moments", this.#root), station, onChange, (moment) => this.#watch(moment));
    const path = `v1/stations/${encodeURIComponent(station)}`;
    this.#controllers = new ControllersPanel(find(".controllers", this.#root), path, onChange);
    this.#setUpAddresses();
    find(".end-demo", this.#root).addEventListener("click", () => this.#daemon?.api.patch("v1/setup", { demo: false }));
    const onAirButton = find(".put-on-air", this.#root);
    this.#shortcuts = new Shortcuts({
      ...this.#setPanel.keys,
      ...this.#moments.keys,
      o: () => !onAirButton.hidden && onAirButton.click(),
    });
  }

  async #loadOnAirButton() {
    const part = await partModule("on_air/on_air_button.js");
    if (part !== null) {
      const [button, problem] = [find(".put-on-air", this.#root), find(".on-air-problem", this.#root)];
      this.#onAirButton = new part.OnAirButton(button, problem, this.#station, this.#options.onChange);
      this.#options.onChange();
    }
  }

  /** @param {import("../match.js").Message} message */
  #receive(message) {
    this.#bar?.take(message);
    this.#match.take(message);
    if (message.type === "snapshot" && this.#past?.match.gameId !== message.gameId) {
      this.#loadPast();
    } else if (message.type === "game_start") {
      this.#dropPast();
    }
    this.#joinPast();
  }

  /**
   * Subscribes to the running game from its start, without frames: the stage shows live frames immediately, and the plot
   * follows. This is repeated after a connection that cannot be resumed.
   */
  #loadPast() {
    this.#dropPast();
    const feed = new Stream({
      ...this.#options,
      topics: ["game", "event", "stats"],
      cursor: "start",
      onReset: () => this.#loadPast(),
      onMessage: (message) => {
        match.take(message);
        this.#joinPast();
      },
    });
    const match = new Match(feed.station(this.#station));
    this.#past = { feed, match };
  }

  #dropPast() {
    this.#past?.feed.close();
    this.#past = null;
  }

  #joinPast() {
    const past = this.#past?.match;
    const live = this.#match;
    if (past?.game == null || live.game === null) {
      return;
    }
    if (past.gameId === live.gameId) {
      // Live events begin before the first live stats. If the past has stats of that frame, it has all earlier events.
      if (past.game.end !== null || past.statsFrame >= live.firstStatsFrame) {
        live.join(past);
        this.#dropPast();
      }
    } else if (past.game.end !== null) {
      this.#dropPast();
    }
  }

  close() {
    this.#dropPast();
    this.#feed.close();
    this.#shortcuts.close();
    this.#root.remove();
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    const described = daemon.stations.find(({ id }) => id === this.#station);
    const view = this.#match.view;
    const live = this.#feed.connection === "open" && view.state !== "unknown" ? view : described;
    const state = live?.starting ? "starting" : (live?.state ?? "");
    const root = this.#root;
    const name = described?.name ?? this.#station;
    setText(find("#detail-title", root), name);
    setAttribute(find(".url", root), "aria-label", text("detail.address_of", { name }));
    setAttribute(find(".copy", root), "aria-label", text("detail.copy_address_of", { name }));
    setAttribute(find(".remote-address .url", root), "aria-label", text("remote.address_of", { name }));
    setAttribute(find(".remote-address .copy", root), "aria-label", text("remote.copy_address_of", { name }));
    setText(find(".state", root), stateText(state));
    find(".state", root).dataset.state = state;
    const exists = described !== undefined || daemon.health.state !== "ready";
    const reason = ["idle", "playing", "starting"].includes(state) ? "" : reasonText(described?.reason);
    const lag = daemon.lag(this.#station);
    setText(find(".lag", root), lag === "" || state !== "playing" ? "" : text("detail.lag", { lag }));
    this.#daemon = daemon;
    const isDemo = described?.demo === true;
    find(".end-demo", root).hidden = !isDemo;
    find(".on-air", root).hidden = daemon.onAir?.station !== this.#station;
    const hasStage = !this.isLoading; // everything else is requested later
    if (hasStage) {
      this.#onAirButton?.draw(daemon);
    }
    if (hasStage || view.set !== null) {
      this.#setPanel.draw(daemon, view.set, hasStage);
    }
    find(".remote-address", root).hidden = isDemo;
    if (isDemo) {
      find(".set", root).hidden = true; // a demo belongs to no set
    } else if (described && hasStage) {
      this.#moments.draw(daemon); // the index has no games of a demo
      this.#controllers.draw(daemon);
    }
    setText(find(".note", root), exists ? this.#feed.problem || reason : text("detail.no_station", { station: this.#station }));
    if (!view.catchingUp) {
      this.#drawGame(daemon, ["playing", "stalled"].includes(state));
    }
    const arrived = this.#feed.connection === "open" && view.state !== "unknown" && !view.catchingUp;
    const hasGame = this.#match.game !== null || this.#lastGame?.match != null;
    const awaitsGame = !hasGame && (state === "playing" || described?.files?.finished > 0);
    const panels = isDemo || (this.#moments.hasArrived && this.#controllers.hasArrived);
    const isOver = !exists || this.#feed.problem !== "";
    this.#curtain.draw((arrived && !awaitsGame) || isOver, (panels && this.#setPanel.hasArrived) || isOver);
  }

  /** Whether the stage has not appeared yet. */
  get isLoading() {
    return this.#curtain.isClosed;
  }

  /**
   * The last game, if the page has not seen it; `null` until it has arrived.
   * @param {Daemon} daemon
   * @param {Record<string, any> | null} listed  The last game as lists have it.
   */
  #unseenGame(daemon, listed) {
    if (listed === null) {
      return null;
    }
    const known = this.#lastGame;
    const last = known !== null && known.gameId === listed.gameId ? known : new FinishedGame(listed.gameId, this.#options.onChange);
    this.#lastGame = last;
    last.load(daemon);
    return last.match;
  }

  /** @param {import("./moments.js").Moment} moment */
  #watch(moment) {
    this.#moment = moment;
    this.#earlier = moment.gameId === this.#root.dataset.game ? null : new FinishedGame(moment.gameId, this.#options.onChange);
    this.#options.onChange();
  }

  /**
   * Draws the stage with its controls. It shows the station's game, or the earlier one of which a moment is watched.
   * @param {Daemon} daemon
   * @param {{game: Game | null, last: number, stats: Record<string, any> | null}} current
   */
  #drawStage(daemon, current) {
    this.#earlier?.load(daemon);
    const earlier = this.#earlier?.match ?? null;
    const { game, last, stats } = earlier === null ? current : { ...earlier, last: earlier.game.frame ?? -Infinity };
    this.#replay.draw(game?.format === FORMAT ? game : null, last, (path) => daemon.api.get(path), stats);
    const moment = this.#moment;
    if (moment !== null && game?.gameId === moment.gameId) {
      this.#moment = null;
      this.#replay.playMoment(moment.first, moment.last);
      requestAnimationFrame(() => this.#stageView.scrollIntoView({ block: "nearest" }));
    }
  }

  /**
   * @param {Daemon} daemon
   * @param {boolean} isPlaying
   */
  #drawGame(daemon, isPlaying) {
    const root = this.#root;
    const listed = daemon.lastGame(this.#station);
    const isUnseen = (this.#match.game === null && !isPlaying) || lacksEnd(this.#match.game, listed);
    const match = (isUnseen ? this.#unseenGame(daemon, listed) : null) ?? this.#match;
    const game = withNames(match.game, listed);
    const ended = game !== null && game.end !== null;
    const melee = game?.format === FORMAT;
    const set = setOf(game, this.#setPanel.set);
    const last = game?.frame ?? match.stats?.lastFrame ?? -Infinity;
    this.#drawStage(daemon, { game, last, stats: match.stats });
    const replayed = this.#replay.game;
    const displayed = replayed ?? game;
    const over = ended && replayed === null;
    const shownSet = setOf(displayed, this.#setPanel.set);
    this.#stageView.set = shownSet;
    const players = playersOf(displayed, shownSet);
    root.dataset.game = game?.gameId ?? "";
    root.dataset.ended = String(ended);
    setText(find(".stage", root), displayed === null ? text("detail.no_game") : placeName(displayed));
    const time = displayed === null ? "" : over ? minutesText(match.durationSeconds) : clockText(displayed);
    setText(find(".clock", root), time);
    setText(find(".result", root), over ? resultOf(game, set) : "");
    this.#bar?.draw(replayed === null && !ended ? game : null, players);
    showPlayers(find(".players", root), players, winnersOf(displayed, shownSet), shownSet);
    this.#stageView.hidden = displayed?.format !== FORMAT || over;
    const summary = /** @type {GameSummary} */ (find("game-summary", root));
    summary.hidden = !melee;
    const now = performance.now();
    const state = `${game?.gameId} ${ended} ${players.map(({ name }) => name)} ${arrivals()}`;
    if (game !== null && melee && (now - this.#summaryAt > SUMMARY_MS || state !== this.#summaryKey)) {
      this.#summaryAt = now;
      this.#summaryKey = state;
      const { stats } = match;
      const past = this.#past?.match;
      const history = past?.gameId === game.gameId ? past.history : match.history; // grows while the past is received
      history.timerStart = timerStart(stats);
      summary.show({ players: playersOf(game, set), history, stats, toFrame: Math.max(0, game.frame ?? 0, history.lastFrame), ended });
    }
  }

  #setUpAddresses() {
    const remote = new URL(`#remote/${encodeURIComponent(this.#station)}`, this.#options.base).href;
    for (const [place, link, address] of [[".address", ".overlay", this.#overlay], [".remote-address", ".open-remote", remote]]) {
      const root = find(place, this.#root);
      /** @type {HTMLInputElement} */ (find(".url", root)).value = address;
      setAttribute(find(link, root), "href", address);
      setUpCopying(root);
    }
    const isOnlyHere = LOOPBACK.includes(location.hostname);
    find(".only-here", this.#root).hidden = !isOnlyHere;
    if (!isOnlyHere) {
      import("./qr_code.js").then(({ drawCode }) => drawCode(find(".code", this.#root), remote));
    }
  }
}

/** Hides a panel until its stage and players have arrived, and everything else until all of it has. */
class Curtain {
  #root;
  #onChange;
  #openedAt = performance.now();

  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.#root = root;
    this.#onChange = onChange;
    root.classList.add("loading", "incomplete");
    setTimeout(onChange, MAX_LOADING_MS);
  }

  get isClosed() {
    return this.#root.classList.contains("loading");
  }

  /**
   * @param {boolean} hasStage
   * @param {boolean} [hasRest]
   */
  draw(hasStage, hasRest = hasStage) {
    const isLate = performance.now() - this.#openedAt >= MAX_LOADING_MS;
    if (this.isClosed && (hasStage || isLate)) {
      this.#root.classList.remove("loading");
      this.#onChange();
    }
    if (!this.isClosed && (hasRest || isLate)) {
      this.#root.classList.remove("incomplete");
    }
  }
}

/** A game from the list. */
export class GameDetail {
  #root;
  #curtain;
  #finished;
  #replay;
  #controllers;
  #drawn = "";

  /**
   * @param {HTMLElement} panel
   * @param {string} gameId
   * @param {() => void} onChange
   */
  constructor(panel, gameId, onChange) {
    this.#root = clone("game-detail");
    panel.append(this.#root);
    this.#curtain = new Curtain(this.#root, onChange);
    this.#finished = new FinishedGame(gameId, onChange);
    this.#replay = new InstantReplay({ ...stageParts(this.#root), live: null, onChange });
    const path = `v1/games/${encodeURIComponent(gameId)}`;
    this.#controllers = new ControllersPanel(find(".controllers", this.#root), path, onChange);
  }

  close() {
    this.#root.remove();
  }

  /** Whether the game has not appeared yet. */
  get isLoading() {
    return this.#curtain.isClosed;
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    this.#finished.load(daemon);
    const root = this.#root;
    setText(find(".note", root), this.#finished.note);
    const { gameId: wanted, stats } = this.#finished;
    const item = this.#finished.item ?? daemon.games?.find(({ gameId }) => gameId === wanted);
    if (item === undefined) {
      this.#curtain.draw(this.#finished.note !== "");
      return;
    }
    const game = gameAtEnd(item, stats);
    const players = playersOf(game);
    const hasLoaded = this.#finished.item !== null; // before that, the first frame is not known
    const watched = hasLoaded && game.format === FORMAT && game.end !== null ? game : null;
    this.#replay.draw(watched, game.frame ?? -Infinity, (path) => daemon.api.get(path), stats);
    find("stage-view", root).hidden = this.#replay.game === null || find("replay-bar", root).hidden;
    const station = daemon.stations.find(({ id }) => id === item.station)?.name ?? item.station ?? "";
    root.dataset.game = item.gameId;
    setText(find("#detail-title", root), players.length ? whoText(game, players) : placeName(game));
    setText(find(".stage", root), [station, placeName(game)].filter(Boolean).join(" · "));
    setText(find(".clock", root), typeof item.durationSeconds === "number" ? minutesText(item.durationSeconds) : "");
    const { moment, own } = timesOf(item);
    const shown = moment ? date(new Date(moment)) : "";
    setText(find(".when", root), own ? text("detail.own_clock", { moment: shown, own: date(new Date(own)) }) : shown);
    setText(find(".result", root), players.length ? resultOf(game) : "");
    const melee = game.format === FORMAT;
    if (melee && !this.#curtain.isClosed) {
      this.#controllers.draw(daemon); // the end of the panel
    }
    const summary = /** @type {GameSummary} */ (find("game-summary", root));
    summary.hidden = !melee || stats === null || !players.length;
    find(".players", root).hidden = melee && stats === null;
    showPlayers(find(".players", root), players, winnersOf(game));
    const drawn = `${stats !== null} ${item === this.#finished.item} ${arrivals()}`;
    if (melee && stats !== null && drawn !== this.#drawn) {
      this.#drawn = drawn;
      const history = PercentHistory.fromStats(stats);
      summary.show({ players, history, stats, toFrame: history.lastFrame, ended: true });
    }
    const hasStats = !melee || (stats !== null && !this.#replay.isLoading);
    this.#curtain.draw((hasLoaded && hasStats) || this.#finished.note !== "");
  }
}

/** @param {HTMLElement} root */
function stageParts(root) {
  const stage = /** @type {StageView} */ (find("stage-view", root));
  stage.dataset.replay = text("replay.title"); // a badge while it does not show the live game
  return { stage, bar: /** @type {ReplayBar} */ (find("replay-bar", root)) };
}
