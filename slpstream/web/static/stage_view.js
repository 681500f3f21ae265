/**
 * `<stage-view>`: a drawing of the stage and its players on a canvas. It shows the newest frames of a `Match`, or the frames
 * that a `Replay` selects.
 *
 * Frames of a live game arrive in bursts, so the view trails the newest frame a little and plays at the speed of the game.
 * The camera follows the players. With reduced motion, the view shows the whole stage with a fixed camera, a few times a
 * second.
 */

import { resized } from "./canvas.js";
import { setAttribute } from "./dom.js";
import { BODY_UNITS, drawFighters, fighterOf, hasNoStocks, isDying, isPunished, isReborn } from "./fighters.js";
import { colourOf } from "./player_colour.js";
import { gamePlayers, pointsText, stageName, stageOutline, stocksText } from "./slippi.js";
import { drawStage, stageColours } from "./stage_drawing.js";
import { OFF_STAGE_Y, ObservedGround } from "./stages.js";
import { text } from "./texts/texts.js";

/**
 * @typedef {import("./match.js").Match | import("./replay.js").Replay} Match
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {import("./slippi.js").Player} Player
 * @typedef {{left: number, right: number, top: number, bottom: number}} Box
 * @typedef {import("./stage_drawing.js").Camera} Camera
 */

/** Distance to the newest frame, enough for bursts of 85 ms. */
const BUFFER_FRAMES = 7;
/** At a larger distance from its target, the view jumps. */
const MAX_DRIFT_FRAMES = 40;
const REDUCED_MOTION_MS = 250;
const TEXT_MS = 1000;
const MIN_BODY_PX = 20;
const MARGIN_UNITS = 26;
const CAMERA_EASE = 0.07;
const DEFAULT_BOX = { left: -100, right: 100, top: 80, bottom: -40 };
const UNKNOWN_BLAST = { left: -400, right: 400, top: 400, bottom: -300 };
const MIN_WIDTH_UNITS = 170;

/** Height of the letters of names on the dashboard, in CSS pixels. */
const TAG_SIZE = 13;
/** More stocks are shown as a number. */
const MAX_DOTS = 5;
const MIN_COMBO = 2;

export class StageView extends HTMLElement {
  /** The set that the game belongs to. @type {import("./slpstream_types.js").SetScore | null} */ set = null;
  /** @type {Match | null} */ #match = null;
  /** The displayed frame. @type {Record<string, any> | null} */ frame = null;
  #canvas = document.createElement("canvas");
  #ground = new ObservedGround();
  #gameId = "";
  #shown = -Infinity;
  #drawnAt = 0;
  #describedAt = -Infinity;
  /** @type {Box | null} */ #camera = null;
  /** @type {number | undefined} */ #frameRequest;
  #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Record<string, string>} */ #style = {};
  /** Whether to draw as with reduced motion. */
  still = false;
  /** Height of the letters of names, in CSS pixels. */
  tagSize = TAG_SIZE;

  connectedCallback() {
    this.append(this.#canvas);
    this.#requestDrawing();
  }

  disconnectedCallback() {
    cancelAnimationFrame(this.#frameRequest ?? 0);
    this.#frameRequest = undefined;
  }

  /** The game to show. @param {Match | null} match */
  set match(match) {
    this.#match = match;
    this.#describedAt = -Infinity;
    this.#resetGame();
  }

  get #isStill() {
    return this.still || this.#reducedMotion.matches;
  }

  #resetGame() {
    this.frame = null;
    this.#ground = new ObservedGround();
    this.#camera = null;
    this.#shown = -Infinity;
  }

  #requestDrawing() {
    this.#frameRequest = requestAnimationFrame((now) => {
      if (this.isConnected) {
        this.#requestDrawing();
      }
      if (this.offsetParent !== null && (!this.#isStill || now - this.#drawnAt >= REDUCED_MOTION_MS)) {
        this.#draw(now);
      }
    });
  }

  /**
   * @param {Match} match
   * @param {Game} game
   * @param {number} milliseconds  Time since the last drawing.
   * @returns {Record<string, any> | null}
   */
  #frameNow(match, game, milliseconds) {
    if ("play" in match) {
      return match.play(milliseconds);
    }
    const numbers = [...match.frames.keys()];
    const newest = numbers.at(-1);
    if (newest === undefined) {
      return null;
    }
    const target = game.end === null && !this.#isStill ? newest - BUFFER_FRAMES : newest;
    const [numerator, denominator] = game.rate;
    const next = this.#shown + (milliseconds / 1000) * (numerator / denominator);
    // Small drifts are corrected slowly. After a gap, or if the game runs faster than real time, the view jumps.
    this.#shown = Math.abs(target - next) > MAX_DRIFT_FRAMES ? target : next + (target - next) * 0.1;
    this.#shown = Math.min(this.#shown, newest);
    let best = numbers[0];
    for (const number of numbers) {
      if (number <= this.#shown + 0.5) {
        best = number;
      }
    }
    return match.frames.get(best) ?? null;
  }

  /** Describe the picture in words. It only becomes an image then, because images need a description. @param {string} words */
  #describe(words) {
    setAttribute(this.#canvas, "role", "img");
    setAttribute(this.#canvas, "aria-label", words);
  }

  /** @param {number} now */
  #draw(now) {
    const elapsed = Math.min(1000, now - this.#drawnAt);
    this.#drawnAt = now;
    const match = this.#match;
    const game = match?.game ?? null;
    if (match === null || game === null) {
      this.#describe(text("stage_view.no_game"));
      resized(this.#canvas);
      return;
    }
    if (game.gameId !== this.#gameId) {
      this.#gameId = game.gameId;
      this.#resetGame();
    }
    const frame = this.#frameNow(match, game, elapsed);
    const { context, width, height } = resized(this.#canvas);
    if (width === 0 || height === 0) {
      return;
    }
    this.#style = stageColours(this);
    const players = gamePlayers(game, this.set);
    const stage = stageOutline(game);
    this.#observe(frame, stage);
    const box = this.#moveCamera(frame, players, stage, width / height);
    const camera = { left: box.left, top: box.top, scale: width / (box.right - box.left), ratio: this.#canvas.width / width };
    this.#drawStage(context, camera, stage, match);
    if (frame !== null) {
      const size = { width, height };
      this.#drawItems(context, camera, frame, players);
      drawFighters(context, {
        frame,
        frames: match.frames,
        fighters: players.map(fighterOf),
        camera,
        size,
        colours: this.#style,
        still: this.#isStill,
        minHigh: MIN_BODY_PX,
      });
      this.#drawTags(context, this.#tags(frame, players, camera), size);
    }
    if (now - this.#describedAt > TEXT_MS) {
      this.#describedAt = now;
      this.#describe(textAlternative(game, players, frame ?? {}, stage));
      this.dataset.describedFrame = String(frame?.frame ?? "");
    }
    this.frame = frame;
    this.dataset.frame = String(frame?.frame ?? "");
  }

  /**
   * @param {Record<string, any> | null} frame
   * @param {import("./stages.js").Outline | null} stage
   */
  #observe(frame, stage) {
    if (stage === null && frame !== null) {
      for (const { post } of Object.values(frame.players ?? {})) {
        if (post?.isAirborne === false && !isDying(post) && !isReborn(post)) {
          this.#ground.add(post.positionX, post.positionY);
        }
      }
    }
  }

  /**
   * @param {Record<string, any> | null} frame
   * @param {Player[]} players
   * @param {import("./stages.js").Outline | null} stage
   * @param {number} aspect
   */
  #moveCamera(frame, players, stage, aspect) {
    const blast = stage?.blast ?? UNKNOWN_BLAST;
    if (this.#isStill) {
      return (this.#camera = fitted(stage === null ? expanded(DEFAULT_BOX, 100) : expanded(blast, 4), aspect));
    }
    const points = alive(frame, players).map(({ positionX, positionY }) => [positionX, positionY + BODY_UNITS / 2]);
    if (stage !== null) {
      points.push([-stage.edge * 0.8, -12], [stage.edge * 0.8, -12], [0, 48]);
    }
    const box = points.length ? expanded(boundingBox(points, blast), MARGIN_UNITS) : { ...DEFAULT_BOX };
    const goal = fitted(box, aspect);
    const from = this.#camera;
    if (from === null) {
      return (this.#camera = goal);
    }
    const eased = /** @type {Box} */ ({});
    for (const side of /** @type {const} */ (["left", "right", "top", "bottom"])) {
      eased[side] = from[side] + (goal[side] - from[side]) * CAMERA_EASE;
    }
    return (this.#camera = fitted(eased, aspect));
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Camera} camera
   * @param {import("./stages.js").Outline | null} stage
   * @param {Match} match
   */
  #drawStage(context, camera, stage, match) {
    const { left, top, scale } = camera;
    if (stage === null) {
      context.lineCap = "round";
      context.lineWidth = 3;
      context.strokeStyle = this.#style["stage-edge"];
      context.beginPath();
      for (const stretch of this.#ground.stretches) {
        context.moveTo((stretch.left - left) * scale, (top - stretch.y) * scale);
        context.lineTo((stretch.right - left) * scale, (top - stretch.y) * scale);
      }
      context.stroke();
      return;
    }
    const { blast } = stage;
    context.setLineDash([6, 6]);
    context.strokeStyle = this.#style.quiet;
    context.globalAlpha = 0.6;
    context.lineWidth = 1.5;
    const [wide, high] = [blast.right - blast.left, blast.top - blast.bottom];
    context.strokeRect((blast.left - left) * scale, (top - blast.top) * scale, wide * scale, high * scale);
    context.setLineDash([]);
    context.globalAlpha = 1;
    drawStage(context, camera, stage, { colours: this.#style, lineWidth: 3, heights: match.platformHeights });
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Camera} camera
   * @param {Record<string, any>} frame
   * @param {Player[]} players
   */
  #drawItems(context, { left, top, scale }, frame, players) {
    for (const item of frame.items ?? []) {
      const owner = players.find((player) => player.index === item.owner);
      context.beginPath();
      context.arc((item.positionX - left) * scale, (top - item.positionY - 2) * scale, Math.max(3, scale * 2.2), 0, 2 * Math.PI);
      context.fillStyle = owner === undefined ? this.#style.quiet : this.#style[colourOf(owner)];
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = this.#style.sky;
      context.stroke();
    }
  }

  /**
   * The words at the fighters.
   * @param {Record<string, any>} frame
   * @param {Player[]} players
   * @param {Camera} camera
   * @returns {Tag[]}
   */
  #tags(frame, players, { left, top, scale }) {
    const high = Math.max(MIN_BODY_PX, BODY_UNITS * scale);
    return players.flatMap((player) => {
      const post = frame.players?.[player.index]?.post ?? {};
      if (isOut(post, player)) {
        return [];
      }
      const percent = typeof post.percent === "number" ? ` ${Math.floor(post.percent)}%` : "";
      const hits = comboOf(frame, player.index);
      return {
        name: player.name,
        percent,
        stocks: player.stocks === null ? 0 : (post.stocksRemaining ?? 0),
        combo: hits < MIN_COMBO ? "" : text("stage_view.hits", { count: hits }),
        x: (post.positionX - left) * scale,
        y: (top - post.positionY) * scale - high,
        colour: this.#style[colourOf(player)],
      };
    });
  }

  /**
   * Names above the fighters, with their stocks below and their combos next to them. They are moved apart vertically if they would
   * overlap.
   * @param {CanvasRenderingContext2D} context
   * @param {Tag[]} tags
   * @param {{width: number, height: number}} size
   */
  #drawTags(context, tags, { width, height }) {
    const size = this.tagSize;
    const [high, edge] = [size * 1.54, size * 0.92];
    const dot = size * 0.23;
    context.textAlign = "left";
    context.textBaseline = "middle";
    /** @type {{x: number, y: number, half: number}[]} */
    const placed = [];
    for (const tag of tags.sort((a, b) => b.y - a.y)) {
      const stocks = tag.stocks > MAX_DOTS ? ` ×${tag.stocks}` : "";
      context.font = `600 ${size}px ${this.#style.font}`;
      const words = shortened(context, tag.name, width / 2 - size * 4) + tag.percent + stocks;
      const wide = context.measureText(words).width + size * 0.92;
      const comboWide = tag.combo === "" ? 0 : context.measureText(tag.combo).width + size * 0.8;
      const half = (wide + comboWide) / 2;
      const x = clamp(tag.x, half + 2, width - half - 2);
      let y = clamp(tag.y - high / 2 - dot * 2 - 2, edge, height - edge - dot);
      for (const other of placed) {
        if (Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) <= high + dot) {
          y = other.y - high - dot - 1 < edge ? other.y + high + dot + 1 : other.y - high - dot - 1;
        }
      }
      placed.push({ x, y, half });
      const [from, upper] = [x - half, y - high / 2];
      context.beginPath();
      context.roundRect(from, upper, wide + comboWide, high, size * 0.38);
      context.fillStyle = this.#style.sky;
      context.globalAlpha = 0.85;
      context.fill();
      context.globalAlpha = 1;
      if (comboWide > 0) {
        context.beginPath();
        context.roundRect(from + wide, upper, comboWide, high, [0, size * 0.38, size * 0.38, 0]);
        context.fillStyle = tag.colour;
        context.fill();
        context.fillStyle = this.#style.sky;
        context.fillText(tag.combo, from + wide + size * 0.4, y + 0.5);
      }
      context.beginPath();
      context.roundRect(from, upper, wide + comboWide, high, size * 0.38);
      context.lineWidth = 1.5;
      context.strokeStyle = tag.colour;
      context.stroke();
      context.fillStyle = this.#style.text;
      context.fillText(words, from + size * 0.46, y + 0.5);
      if (stocks === "") {
        this.#drawDots(context, tag, from + wide / 2, upper + high, dot);
      }
    }
  }

  /**
   * The stocks, on the lower edge of a tag.
   * @param {CanvasRenderingContext2D} context
   * @param {Tag} tag
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   */
  #drawDots(context, { stocks, colour }, x, y, radius) {
    context.fillStyle = colour;
    context.strokeStyle = this.#style.sky;
    context.lineWidth = 1.5;
    for (let i = 0; i < stocks; i++) {
      context.beginPath();
      context.arc(x + (i - (stocks - 1) / 2) * radius * 3, y, radius, 0, 2 * Math.PI);
      context.stroke();
      context.fill();
    }
  }
}

/**
 * @typedef {object} Tag  Over the point x, y.
 * @property {string} name
 * @property {string} percent
 * @property {number} stocks
 * @property {string} combo
 * @property {number} x
 * @property {number} y
 * @property {string} colour
 */

/**
 * A name that is not wider than `room` in pixels, with an ellipsis if it is shortened.
 * @param {CanvasRenderingContext2D} context
 * @param {string} name
 * @param {number} room
 */
function shortened(context, name, room) {
  let shown = name;
  for (let kept = [...name]; kept.length > 1 && context.measureText(shown).width > room; ) {
    kept = kept.slice(0, Math.min(kept.length - 1, Math.ceil((kept.length * room) / context.measureText(shown).width)));
    shown = `${kept.join("").trimEnd()}…`;
  }
  return shown;
}

/**
 * The hits of a player's combo in a frame, by the rules of the game; 0 unless an opponent still feels it.
 * @param {Record<string, any>} frame
 * @param {number} index
 */
function comboOf(frame, index) {
  const victims = Object.values(frame.players ?? {}).filter(({ post }) => post?.lastHitBy === index && isPunished(post));
  return victims.length === 0 ? 0 : (frame.players[index]?.post?.currentComboCount ?? 0);
}

/**
 * The text alternative of the drawing.
 * @param {Game} game
 * @param {Player[]} players
 * @param {Record<string, any>} frame
 * @param {import("./stages.js").Outline | null} stage
 */
export function textAlternative(game, players, frame, stage) {
  const lines = players.map((player) => {
    const post = frame.players?.[player.index]?.post ?? {};
    const parts = [player.name, player.character];
    const percent = post.percent ?? player.percent;
    const stocks = player.stocks === null ? null : (post.stocksRemaining ?? player.stocks);
    if (typeof percent === "number") {
      parts.push(text("stage_view.percent", { percent: Math.floor(percent) }));
    }
    if (stocks !== null) {
      parts.push(stocksText(stocks));
    }
    if (player.points !== null) {
      parts.push(pointsText(player.points));
    }
    if (stocks !== 0 && post.positionX !== undefined) {
      parts.push(whereabouts(post, stage));
    }
    return parts.join(text("stage_view.comma"));
  });
  return text("stage_view.title", { contents: [stageName(game), ...lines].join(text("stage_view.stop")) });
}

/**
 * @param {Record<string, any>} post
 * @param {import("./stages.js").Outline | null} stage
 */
function whereabouts(post, stage) {
  if (isDying(post)) {
    return text("stage_view.dying");
  }
  const facing = post.facingDirection > 0 ? "facing_right" : post.facingDirection < 0 ? "facing_left" : "";
  return [placeOf(post, stage), facing].filter(Boolean).map((key) => text(`stage_view.${key}`)).join(text("stage_view.comma"));
}

/**
 * The position of a player, as the last part of a text's key.
 * @param {Record<string, any>} post
 * @param {import("./stages.js").Outline | null} stage
 */
function placeOf(post, stage) {
  const beyond = stage !== null && Math.abs(post.positionX) > stage.edge;
  if (post.isAirborne !== false && (beyond || post.positionY < OFF_STAGE_Y)) {
    return post.positionX < 0 ? "off_left" : "off_right";
  }
  const side = Math.abs(post.positionX) < 15 ? "middle" : post.positionX < 0 ? "left" : "right";
  return `${post.isAirborne === true ? "air" : "ground"}_${side}`;
}

/**
 * @param {Record<string, any>} post
 * @param {Player} player
 */
function isOut(post, player) {
  return post.positionX === undefined || hasNoStocks(post, player.stocks !== null) || isDying(post);
}

/**
 * @param {Record<string, any> | null} frame
 * @param {Player[]} players
 */
function alive(frame, players) {
  return players
    .filter((player) => !isOut(frame?.players?.[player.index]?.post ?? {}, player))
    .map((player) => frame?.players[player.index].post);
}

/**
 * @param {number[][]} points
 * @param {Box} limits
 * @returns {Box}
 */
function boundingBox(points, limits) {
  const xs = points.map(([x]) => clamp(x, limits.left, limits.right));
  const ys = points.map(([, y]) => clamp(y, limits.bottom, limits.top));
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.max(...ys), bottom: Math.min(...ys) };
}

/**
 * @param {Box} box
 * @param {number} by
 * @returns {Box}
 */
function expanded({ left, right, top, bottom }, by) {
  return { left: left - by, right: right + by, top: top + by, bottom: bottom - by };
}

/**
 * A box with the same centre and the aspect ratio of the canvas, not smaller than `MIN_WIDTH_UNITS`.
 * @param {Box} box
 * @param {number} aspect
 * @returns {Box}
 */
function fitted({ left, right, top, bottom }, aspect) {
  const wide = Math.max(right - left, (top - bottom) * aspect, MIN_WIDTH_UNITS);
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return { left: x - wide / 2, right: x + wide / 2, top: y + wide / aspect / 2, bottom: y - wide / aspect / 2 };
}

/**
 * @param {number} value
 * @param {number} min
 * @param {number} max
 */
function clamp(value, min, max) {
  return Math.min(max, Math.max(min, value));
}

customElements.define("stage-view", StageView);
