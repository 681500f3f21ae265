/**
 * The instant replay, `/scenes/replay/{station}`: the last lost stock of the game, drawn at half speed, again and again.
 */

import { attackName, loadAttackNames } from "../attacks.js";
import { find, make, setText } from "../dom.js";
import { killsOf } from "../kills.js";
import { setOf } from "../set_score.js";
import "../stage_view.js";
import { text } from "../texts/texts.js";
import { openBoard } from "./boards.js";
import { Clip, showFighters } from "./clip.js";
import { currentStation } from "./page.js";
import { peopleOf } from "./people.js";
import { placeWords } from "./words.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {{gameId: string, frame: number}} Scene  The frame in which the stock was lost.
 * @typedef {Scene & {clip: Clip}} ShownScene
 */

const BEFORE_FRAMES = 300;
const AFTER_FRAMES = 60;
const SPEED = 0.5;
const PAUSE_MS = 1500;

/** @type {import("../stage_view.js").StageView | null} */
let stage = null;
/** @type {ShownScene | null} */
let shown = null;

openBoard({ topics: ["game", "event"], draw });
loadAttackNames();

/** @param {import("./boards.js").Board} board */
function draw({ element, options, state, results }) {
  const { game: current } = state.view;
  const last = () => state.lastGameId ?? results.newest(currentStation());
  const wanted = lastLoss(state) ?? lastLossOf(current?.gameId ?? "", results) ?? lastLossOf(last(), results);
  if (wanted === null) {
    return shown !== null;
  }
  const game = results.known(wanted.gameId, current);
  if (game === null || game.format !== "slippi") {
    return false;
  }
  if (shown?.gameId !== wanted.gameId || shown.frame !== wanted.frame) {
    shown = open(element, game, wanted, results);
  }
  shown.clip.game = game;
  const set = setOf(game, state.view.set);
  if (stage !== null) {
    showFighters(stage, set, options);
  }
  const stats = results.stats(wanted.gameId);
  const kill = stats === null ? undefined : killsOf(stats).find(({ frame }) => Math.abs(frame - wanted.frame) < AFTER_FRAMES);
  const by = peopleOf(game, set).find(({ index }) => index === kill?.by);
  const words = kill === undefined || by === undefined
    ? placeWords(game)
    : text("scene.kill", { name: by.tag, move: attackName(kill.moveId), percent: String(Math.floor(kill.percent)) });
  setText(find(".caption", element), words);
  return true;
}

/**
 * The last stock that was lost while the page was open.
 * @param {import("./state.js").SceneState} state
 * @returns {Scene | null}
 */
function lastLoss(state) {
  const { game } = state.view;
  const frames = [...state.history.losses.values()].flat().map(({ frame }) => frame);
  return game === null || frames.length === 0 ? null : { gameId: game.gameId, frame: Math.max(...frames) };
}

/**
 * The last stock that was lost in a game, by its stats.
 * @param {string} gameId
 * @param {import("./results.js").Results} results
 * @returns {Scene | null}
 */
function lastLossOf(gameId, results) {
  const stats = gameId === "" ? null : results.stats(gameId);
  const frames = (stats?.stocks ?? []).map(({ endFrame }) => endFrame).filter((frame) => typeof frame === "number");
  return frames.length === 0 ? null : { gameId, frame: Math.max(...frames) };
}

/**
 * @param {HTMLElement} element
 * @param {Game} game
 * @param {Scene} scene
 * @param {import("./results.js").Results} results
 * @returns {ShownScene}
 */
function open(element, game, scene, results) {
  if (stage === null) {
    stage = /** @type {import("../stage_view.js").StageView} */ (document.createElement("stage-view"));
    element.replaceChildren(
      make("p.kicker", text("scene.replay"), " ", make("span.speed", "½×")),
      stage,
      make("p.caption"),
    );
  }
  const range = { from: scene.frame - BEFORE_FRAMES, to: scene.frame + AFTER_FRAMES };
  const clip = new Clip(results.get, game, range, {
    onEnd: () => {
      clip.replay.playing = false;
      setTimeout(() => {
        clip.replay.seek(clip.first);
        clip.replay.playing = true;
      }, PAUSE_MS);
    },
  });
  clip.replay.speed = SPEED;
  stage.match = clip.replay;
  return { ...scene, clip };
}
