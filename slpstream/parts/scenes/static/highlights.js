/**
 * The highlights of a set, `/scenes/highlights/{station}`: its five best moments, four seconds each, again and again. With
 * `odds=1`, these are the moments that changed the chances to win the most.
 */

import { Status } from "../api.js";
import { attackName, loadAttackNames } from "../attacks.js";
import { find, make, setText } from "../dom.js";
import { killsOf } from "../kills.js";
import { setOf } from "../set_score.js";
import "../stage_view.js";
import { hasText, number, text } from "../texts/texts.js";
import { fitted, openBoard, rebuild } from "./boards.js";
import { Clip, showFighters } from "./clip.js";
import { currentStation } from "./page.js";
import { peopleOf } from "./people.js";
import { changeWords, placeWords } from "./words.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 *
 * @typedef {object} Moment  As `/v1/highlights` describes it.
 * @property {string} gameId
 * @property {number} number
 * @property {{of: string, playerIndex: number, opponentIndex: number, startFrame: number, endFrame: number,
 *     reasons: string[], damage?: number, moves?: number, situation?: string}} highlight
 * @property {{before: number, after: number}} [odds]
 */

const MAX_MOMENTS = 5;
/** How many to ask for, because moments of the game that is being played are left out. */
const ASKED_MOMENTS = 20;
const SHOWN_FRAMES = 240;
/** Of these, after the end of the moment. */
const AFTER_FRAMES = 45;
/** A kill is known this long after the last hit. */
const KILL_FRAMES = 90;
/** How long a moment without frames stays, and how long to wait before asking again for moments that are not known yet. */
const WAIT_MS = 4000;

/** @type {Moment[]} */
let moments = [];
/** The games that the moments were asked for. */
let asked = "";
/** @type {string | undefined} */
let playing;
let asking = false;
/** Whether the moments may have changed since they were last asked for. */
let isStale = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;
let place = 0;
/** What makes a moment the best. @type {"best" | "swing"} */
let order = "best";
/** Id of the set whose moments are shown. @type {string | undefined} */
let shownSet;
/** Moments that will be followed by the next one. @type {Set<string>} */
const leaving = new Set();
/** By `keyOf`: the clip that is shown, and the next one. @type {Map<string, Clip>} */
const clips = new Map();

const stage = /** @type {import("../stage_view.js").StageView} */ (document.createElement("stage-view"));
const drawSoon = openBoard({ draw });
loadAttackNames();

/** @param {import("./boards.js").Board} board */
function draw({ element, options, state, results }) {
  const { set } = state.view;
  order = options.odds ? "swing" : "best";
  const played = (set?.games ?? []).filter(({ verdict }) => verdict !== "playing");
  playing = set?.games?.find(({ verdict }) => verdict === "playing")?.gameId;
  if (set === null || played.length === 0) {
    [moments, asked] = [[], ""];
    return false;
  }
  if (shownSet !== set.setId) {
    [moments, place, shownSet] = [[], 0, set.setId];
  }
  const games = JSON.stringify([set.setId, played.map(({ gameId }) => gameId)]);
  if (asked !== games) {
    asked = games;
    load(results.get);
  }
  const moment = moments[place];
  const game = moment === undefined ? null : results.known(moment.gameId, state.view.game);
  if (game === null) {
    return clips.size > 0 && moments.length > 0;
  }
  const stats = results.stats(moment.gameId);
  const shown = clipOf(moment, game, results);
  const wanted = [shown];
  if (stats !== null) {
    // The next one is fetched after the first picture, and before it is shown.
    const next = moments[(place + 1) % moments.length];
    const nextGame = results.known(next.gameId, state.view.game);
    results.stats(next.gameId);
    if (nextGame !== null) {
      wanted.push(clipOf(next, nextGame, results));
    }
  }
  [...clips].filter(([, clip]) => !wanted.includes(clip)).forEach(([key]) => clips.delete(key));
  const gameSet = setOf(game, set);
  showFighters(stage, gameSet, options);
  if (stage.dataset.moment !== keyOf(moment)) {
    stage.dataset.moment = keyOf(moment);
    shown.replay.seek(shown.first);
    stage.match = shown.replay;
  }
  rebuild(element, "", () => [
    make("p.kicker", text("scene.highlights"), make("span.count", make("span.place"), "/", make("span.total"))),
    stage,
    make("div.caption", fitted("p.name.what", ""), make("p.details")),
  ]);
  setText(find(".place", element), number(place + 1));
  setText(find(".total", element), number(moments.length));
  const caption = whatWords(moment, peopleOf(game, gameSet), stats);
  rebuild(find(".caption", element), [caption, detailWords(moment, set, game)], () => [
    fitted("p.name.what", caption),
    make("p.details", detailWords(moment, set, game)),
  ]);
  return true;
}

/** @param {Moment} moment */
function keyOf({ gameId, number: of }) {
  return `${gameId}/${of}`;
}

/**
 * @param {Moment} moment
 * @param {Game} game
 * @param {import("./results.js").Results} results
 */
function clipOf(moment, game, results) {
  const key = keyOf(moment);
  const known = clips.get(key);
  if (known !== undefined) {
    known.game = game;
    return known;
  }
  const to = moment.highlight.endFrame + AFTER_FRAMES;
  const clip = new Clip(results.get, game, { from: to - SHOWN_FRAMES, to }, {
    onMissing: () => leave(key, results.get, WAIT_MS),
    onEnd: () => leave(key, results.get, 0),
  });
  clips.set(key, clip);
  return clip;
}

/**
 * Shows the moment after one that has been shown.
 * @param {string} key
 * @param {(path: string) => Promise<import("../api.js").Answer>} get
 * @param {number} afterMs
 */
function leave(key, get, afterMs) {
  if (leaving.has(key)) {
    return;
  }
  leaving.add(key);
  setTimeout(() => {
    leaving.delete(key);
    if (moments.length === 0 || keyOf(moments[place]) !== key) {
      return;
    }
    place = (place + 1) % moments.length;
    if (place === 0) {
      load(get);
    }
    stage.dataset.moment = "";
    drawSoon();
  }, afterMs);
}

/**
 * Asks for the moments of the set, until the daemon has answered and there are some.
 * @param {(path: string) => Promise<import("../api.js").Answer>} get
 */
async function load(get) {
  isStale = true;
  if (asking) {
    return;
  }
  asking = true;
  let isKnown = false;
  while (isStale) {
    [isStale, isKnown] = [false, false];
    try {
      const { status, body } = await get(`v1/highlights?set=${encodeURIComponent(currentStation())}&order=${order}&limit=${ASKED_MOMENTS}`);
      if (status === Status.OK) {
        isKnown = true;
        const shown = moments[place];
        moments = body.highlights.filter((/** @type {Moment} */ { gameId }) => gameId !== playing).slice(0, MAX_MOMENTS);
        place = Math.max(0, moments.findIndex((moment) => shown !== undefined && keyOf(moment) === keyOf(shown)));
        drawSoon();
      }
    } catch {
      // The daemon is unreachable at the moment.
    }
  }
  asking = false;
  if ((!isKnown || moments.length === 0) && asked !== "") {
    clearTimeout(retry);
    retry = setTimeout(() => load(get), WAIT_MS);
  }
}

/**
 * Who did what: the kill, or else the damage.
 * @param {Moment} moment
 * @param {import("./people.js").Person[]} people
 * @param {import("../slpstream_types.js").Stats | null} stats
 */
function whatWords({ highlight }, people, stats) {
  const { playerIndex, opponentIndex, startFrame, endFrame, damage = 0, situation = "" } = highlight;
  const name = people.find(({ index }) => index === playerIndex)?.tag ?? "";
  const kill = (stats === null ? [] : killsOf(stats)).filter(
    ({ by, victim, frame }) => by === playerIndex && victim === opponentIndex && frame >= startFrame && frame <= endFrame + KILL_FRAMES,
  )[0];
  if (kill !== undefined) {
    return text("scene.kill", { name, move: attackName(kill.moveId), percent: String(Math.floor(kill.percent)) });
  }
  return situation === ""
    ? text("scene.damage_dealt", { name, percent: String(Math.floor(damage)) })
    : text("scene.situation", { name, situation });
}

/**
 * Game, stage, and what is special about the moment.
 * @param {Moment} moment
 * @param {SetScore} set
 * @param {Game | null} game
 */
function detailWords({ gameId, highlight, odds }, set, game) {
  const counted = (set.games ?? []).filter(({ counts }) => counts);
  const i = counted.findIndex((each) => [each, ...(each.suddenDeaths ?? [])].some((part) => part.gameId === gameId));
  const which = i < 0 ? "" : text("scene.game_number", { number: String(i + 1 + (set.olderGames ?? 0)) });
  const reasons = highlight.reasons
    .map((reason) => `scene.reason.${reason.replaceAll("-", "_")}`)
    .filter(hasText)
    .map((key) => text(key));
  const chances = odds === undefined ? "" : text("scene.chance_changed", { change: changeWords(odds) });
  return [which, game === null ? "" : placeWords(game), ...reasons, chances].filter(Boolean).join(" · ");
}
