/**
 * `<stage-view>`: a drawing of the stage and its players on a canvas. It shows the newest frames of a `Match`, or the frames
 * that a `Replay` selects.
 *
 * Frames of a live game arrive in bursts, so the view trails the newest frame a little and plays at the speed of the game.
 * The camera follows the players. With reduced motion, the view shows the whole stage with a fixed camera, a few times a
 * second.
 */

import { resized, styleValue } from "./canvas.js";
import { setAttribute } from "./dom.js";
import { colourOf } from "./player_colour.js";
import { gamePlayers, pointsText, stageName, stageOutline, stocksText } from "./slippi.js";
import { OFF_STAGE_Y, ObservedGround } from "./stages.js";
import { text } from "./texts/texts.js";

/**
 * @typedef {import("./match.js").Match | import("./replay.js").Replay} Match
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {import("./slippi.js").Player} Player
 * @typedef {{left: number, right: number, top: number, bottom: number}} Box
 */

/** Distance to the newest frame, enough for bursts of 85 ms. */
const BUFFER_FRAMES = 7;
/** At a larger distance from its target, the view jumps. */
const MAX_DRIFT_FRAMES = 40;
const REDUCED_MOTION_MS = 250;
const TEXT_MS = 1000;
const TRAIL_FRAMES = 14;
/** Approximate height of a fighter, which replays do not contain. */
const BODY_UNITS = 14;
const SHIELD_UNITS = 10;
const FULL_SHIELD = 60;
const MARGIN_UNITS = 26;
const CAMERA_EASE = 0.07;
const DEFAULT_BOX = { left: -100, right: 100, top: 80, bottom: -40 };
const UNKNOWN_BLAST = { left: -400, right: 400, top: 400, bottom: -300 };
const MIN_WIDTH_UNITS = 170;

/** Ranges of action state ids, first to last. `names/slippi/action_states.json` has their names. */
const DYING = /** @type {const} */ ([0x00, 0x0a]);
const REBIRTH = /** @type {const} */ ([0x0c, 0x0d]);
const DAMAGED = /** @type {const} */ ([0x4b, 0x5b]);
const SHIELDING = /** @type {const} */ ([0xb2, 0xb6]);
/** Height of the letters of names on the dashboard, in CSS pixels. */
const TAG_SIZE = 13;
/** @type {(state: number | undefined, range: readonly [number, number]) => boolean} */
const isWithin = (state, [first, last]) => state !== undefined && state >= first && state <= last;

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
  #scheme = matchMedia("(prefers-color-scheme: light)");
  /** Height of the letters of names, in CSS pixels. */
  tagSize = TAG_SIZE;

  connectedCallback() {
    this.#canvas.setAttribute("role", "img");
    this.append(this.#canvas);
    this.#scheme.addEventListener("change", this.#resetStyle);
    this.#requestDrawing();
  }

  disconnectedCallback() {
    this.#scheme.removeEventListener("change", this.#resetStyle);
    cancelAnimationFrame(this.#frameRequest ?? 0);
    this.#frameRequest = undefined;
  }

  /** The game to show. @param {Match | null} match */
  set match(match) {
    this.#match = match;
    this.#describedAt = -Infinity;
    this.#resetGame();
  }

  #resetStyle = () => {
    this.#style = {};
  };

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
      if (this.offsetParent !== null && (!this.#reducedMotion.matches || now - this.#drawnAt >= REDUCED_MOTION_MS)) {
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
    const target = game.end === null && !this.#reducedMotion.matches ? newest - BUFFER_FRAMES : newest;
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

  /** @param {number} now */
  #draw(now) {
    const elapsed = Math.min(1000, now - this.#drawnAt);
    this.#drawnAt = now;
    const match = this.#match;
    const game = match?.game ?? null;
    if (match === null || game === null) {
      setAttribute(this.#canvas, "aria-label", text("stage_view.no_game"));
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
    this.#readStyle();
    const players = gamePlayers(game, this.set);
    const stage = stageOutline(game);
    this.#observe(frame, stage);
    const camera = this.#moveCamera(frame, players, stage, width / height);
    const scale = width / (camera.right - camera.left);
    const toPixels = /** @type {ToPixels} */ ((x, y) => [(x - camera.left) * scale, (camera.top - y) * scale]);
    this.#drawStage(context, toPixels, stage, match);
    if (frame !== null) {
      this.#drawTrails(context, toPixels, match, players, frame.frame, scale);
      this.#drawItems(context, toPixels, frame, players, scale);
      this.#drawFighters(context, toPixels, frame, players, scale, { width, height });
    }
    if (now - this.#describedAt > TEXT_MS) {
      this.#describedAt = now;
      setAttribute(this.#canvas, "aria-label", textAlternative(game, players, frame ?? {}, stage));
      this.dataset.describedFrame = String(frame?.frame ?? "");
    }
    this.frame = frame;
    this.dataset.frame = String(frame?.frame ?? "");
  }

  #readStyle() {
    if (!this.#style.text) {
      for (const name of ["text", "quiet", "stage", "stage-edge", "sky", "red", "blue", "yellow", "green"]) {
        this.#style[name] = styleValue(this, `--${name}`);
      }
      this.#style.font = getComputedStyle(this).fontFamily;
    }
  }

  /**
   * @param {Record<string, any> | null} frame
   * @param {import("./stages.js").Outline | null} stage
   */
  #observe(frame, stage) {
    if (stage === null && frame !== null) {
      for (const { post } of Object.values(frame.players ?? {})) {
        if (post?.isAirborne === false && !isWithin(post.actionStateId, DYING) && !isWithin(post.actionStateId, REBIRTH)) {
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
    if (this.#reducedMotion.matches) {
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
   * @param {ToPixels} toPixels
   * @param {import("./stages.js").Outline | null} stage
   * @param {Match} match
   */
  #drawStage(context, toPixels, stage, match) {
    context.lineJoin = "round";
    context.lineCap = "round";
    if (stage === null) {
      for (const { left, right, y } of this.#ground.stretches) {
        this.#line(context, toPixels(left, y), toPixels(right, y), 3, this.#style["stage-edge"]);
      }
      return;
    }
    const { left, right, top, bottom } = stage.blast;
    context.setLineDash([6, 6]);
    context.strokeStyle = this.#style.quiet;
    context.globalAlpha = 0.6;
    context.lineWidth = 1.5;
    const [x, y] = toPixels(left, top);
    const [farX, farY] = toPixels(right, bottom);
    context.strokeRect(x, y, farX - x, farY - y);
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(...toPixels(-stage.edge, 0));
    for (const [cornerX, cornerY] of [/** @type {const} */ ([stage.edge, 0]), ...stage.underside]) {
      context.lineTo(...toPixels(cornerX, cornerY));
    }
    context.closePath();
    context.fillStyle = this.#style.stage;
    context.fill();
    this.#line(context, toPixels(-stage.edge, 0), toPixels(stage.edge, 0), 3, this.#style["stage-edge"]);
    const heights = match.platformHeights;
    for (const platform of stage.platforms) {
      const height = (platform.id === undefined ? undefined : heights.get(platform.id)) ?? platform.y;
      this.#line(context, toPixels(platform.left, height), toPixels(platform.right, height), 3, this.#style["stage-edge"]);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {[number, number]} from
   * @param {[number, number]} to
   * @param {number} width
   * @param {string} colour
   */
  #line(context, from, to, width, colour) {
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {ToPixels} toPixels
   * @param {Match} match
   * @param {Player[]} players
   * @param {number} number
   * @param {number} scale
   */
  #drawTrails(context, toPixels, match, players, number, scale) {
    if (this.#reducedMotion.matches) {
      return;
    }
    context.lineCap = "butt";
    for (const player of players) {
      let before = null;
      for (let i = number - TRAIL_FRAMES; i <= number; i++) {
        const post = match.frames.get(i)?.players?.[player.index]?.post;
        if (!post || isOut(post, player)) {
          before = null;
          continue;
        }
        const here = toPixels(post.positionX, post.positionY + BODY_UNITS / 2);
        if (before !== null) {
          context.globalAlpha = 0.28 * (1 - (number - i) / TRAIL_FRAMES);
          this.#line(context, before, here, Math.max(3, scale * 5), this.#style[colourOf(player)]);
        }
        before = here;
      }
    }
    context.lineCap = "round";
    context.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {ToPixels} toPixels
   * @param {Record<string, any>} frame
   * @param {Player[]} players
   * @param {number} scale
   */
  #drawItems(context, toPixels, frame, players, scale) {
    for (const item of frame.items ?? []) {
      const owner = players.find((player) => player.index === item.owner);
      const [x, y] = toPixels(item.positionX, item.positionY + 2);
      context.beginPath();
      context.arc(x, y, Math.max(3, scale * 2.2), 0, 2 * Math.PI);
      context.fillStyle = owner === undefined ? this.#style.quiet : this.#style[colourOf(owner)];
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = this.#style.sky;
      context.stroke();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {ToPixels} toPixels
   * @param {Record<string, any>} frame
   * @param {Player[]} players
   * @param {number} scale
   * @param {{width: number, height: number}} size
   */
  #drawFighters(context, toPixels, frame, players, scale, { width, height }) {
    /** @type {{text: string, x: number, y: number, colour: string}[]} */
    const tags = [];
    for (const player of players) {
      const colour = this.#style[colourOf(player)];
      const follower = frame.followers?.[player.index]?.post;
      if (follower && !isOut(follower, player)) {
        this.#drawFighter(context, toPixels, follower, colour, scale * 0.75);
      }
      const post = frame.players?.[player.index]?.post;
      if (!post || hasNoStocks(post, player) || post.positionX === undefined) {
        continue;
      }
      const [x, y] = toPixels(post.positionX, post.positionY);
      if (isWithin(post.actionStateId, DYING)) {
        this.#drawLoss(context, clamp(x, 14, width - 14), clamp(y, 14, height - 14), colour);
        continue;
      }
      this.#drawFighter(context, toPixels, post, colour, scale);
      const percent = typeof post.percent === "number" ? ` ${Math.floor(post.percent)}%` : "";
      tags.push({ text: player.name + percent, x, y: y - Math.max(15, BODY_UNITS * scale) - 9, colour });
    }
    this.#drawTags(context, tags, width);
  }

  /**
   * A body with its feet at the player's position, and a nose in the direction that it faces.
   * @param {CanvasRenderingContext2D} context
   * @param {ToPixels} toPixels
   * @param {Record<string, any>} post
   * @param {string} colour
   * @param {number} scale
   */
  #drawFighter(context, toPixels, post, colour, scale) {
    const [x, y] = toPixels(post.positionX, post.positionY);
    const high = Math.max(14, BODY_UNITS * scale);
    const wide = high * 0.5;
    const state = post.actionStateId;
    if (isWithin(state, REBIRTH)) {
      this.#line(context, [x - wide, y + 1], [x + wide, y + 1], 4, this.#style.quiet);
    }
    context.beginPath();
    context.roundRect(x - wide / 2, y - high, wide, high, wide / 2);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = isWithin(state, DAMAGED) ? 3 : 1.5;
    context.strokeStyle = isWithin(state, DAMAGED) ? this.#style.text : this.#style.sky;
    context.stroke();
    const facing = Math.sign(post.facingDirection ?? 0);
    if (facing !== 0) {
      const noseX = x + (facing * wide) / 2;
      context.beginPath();
      context.moveTo(noseX + facing * 2, y - high * 0.86);
      context.lineTo(noseX + facing * (2 + high * 0.3), y - high * 0.66);
      context.lineTo(noseX + facing * 2, y - high * 0.46);
      context.closePath();
      context.fillStyle = colour;
      context.fill();
      context.stroke();
    }
    if (isWithin(state, SHIELDING)) {
      context.beginPath();
      const share = (post.shieldSize ?? FULL_SHIELD) / FULL_SHIELD;
      context.arc(x, y - high / 2, Math.max(8, SHIELD_UNITS * scale * share), 0, 2 * Math.PI);
      context.globalAlpha = 0.3;
      context.fill();
      context.globalAlpha = 1;
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} x
   * @param {number} y
   * @param {string} colour
   */
  #drawLoss(context, x, y, colour) {
    for (const [dx, dy] of [[9, 9], [9, -9]]) {
      this.#line(context, [x - dx, y - dy], [x + dx, y + dy], 4, colour);
    }
  }

  /**
   * Names above the bodies, moved apart vertically if they would overlap.
   * @param {CanvasRenderingContext2D} context
   * @param {{text: string, x: number, y: number, colour: string}[]} tags
   * @param {number} width
   */
  #drawTags(context, tags, width) {
    const size = this.tagSize;
    const [high, edge] = [size * 1.54, size * 0.92];
    context.font = `600 ${size}px ${this.#style.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    /** @type {{x: number, y: number, half: number}[]} */
    const placed = [];
    for (const tag of tags.sort((a, b) => b.y - a.y)) {
      const half = context.measureText(tag.text).width / 2 + size * 0.46;
      const x = clamp(tag.x, half + 2, width - half - 2);
      let y = Math.max(edge, tag.y - (high - TAG_SIZE * 1.54) / 2);
      for (const other of placed) {
        if (Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) <= high) {
          y = other.y - high - 1 < edge ? other.y + high + 1 : other.y - high - 1;
        }
      }
      placed.push({ x, y, half });
      context.beginPath();
      context.roundRect(x - half, y - high / 2, 2 * half, high, size * 0.38);
      context.fillStyle = this.#style.sky;
      context.globalAlpha = 0.85;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = 1.5;
      context.strokeStyle = tag.colour;
      context.stroke();
      context.fillStyle = this.#style.text;
      context.fillText(tag.text, x, y + 0.5);
    }
  }
}

/** @typedef {(x: number, y: number) => [number, number]} ToPixels  Game units to pixels. */

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
  if (isWithin(post.actionStateId, DYING)) {
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
  return post.positionX === undefined || hasNoStocks(post, player) || isWithin(post.actionStateId, DYING);
}

/**
 * Whether the player is out of the game. In a game without stocks, the number in the frame is meaningless.
 * @param {Record<string, any>} post
 * @param {Player} player
 */
function hasNoStocks(post, player) {
  return player.stocks !== null && post.stocksRemaining === 0;
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
