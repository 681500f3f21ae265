/**
 * `<stage-view>`: who is where, on a canvas. It needs nothing but the newest frames of a `Match`, or a `Replay`, which says
 * itself what is to be seen.
 *
 * Games hand their frames over in bursts, so the view stays a little behind the newest one and plays at the game's own speed.
 * The camera shows the stage and everybody in the game. Who asked the system for less motion gets the whole stage, unmoved,
 * a few times a second.
 */

import { players, stageName, stageOutline, stocksText } from "../slippi.js";
import { colourOf, setAttribute, sized, styleValue } from "./dom.js";
import { BELOW, ObservedGround } from "./stages.js";

/**
 * @typedef {import("./match.js").Match | import("./replay.js").Replay} Match
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {{left: number, right: number, top: number, bottom: number}} Box
 */

/** Frames that the view stays behind, for bursts of 85 ms. */
const BEHIND_FRAMES = 7;
/** Further behind, and it jumps. */
const MOST_BEHIND_FRAMES = 40;
const CALM_MS = 250;
const TEXT_MS = 1000;
const TRAIL_FRAMES = 14;
/** About a fighter's height; the replay does not have it. */
const BODY_UNITS = 14;
const SHIELD_UNITS = 10;
const FULL_SHIELD = 60;
const MARGIN_UNITS = 26;
const CAMERA_EASE = 0.07;
const DEFAULT_BOX = { left: -100, right: 100, top: 80, bottom: -40 };
const UNKNOWN_BLAST = { left: -400, right: 400, top: 400, bottom: -300 };
const CLOSEST_UNITS = 170;

/** Action states: first and last. From the game, documented. */
const DYING = /** @type {const} */ ([0x00, 0x0a]);
const REBIRTH = /** @type {const} */ ([0x0c, 0x0d]);
const DAMAGED = /** @type {const} */ ([0x4b, 0x5b]);
const SHIELDING = /** @type {const} */ ([0xb2, 0xb6]);
/** @type {(state: number | undefined, range: readonly [number, number]) => boolean} */
const within = (state, [first, last]) => state !== undefined && state >= first && state <= last;

export class StageView extends HTMLElement {
  /** The set that the game is part of. @type {import("../slpstream_types.js").SetScore | null} */ set = null;
  /** @type {Match | null} */ #match = null;
  /** What is shown. @type {Record<string, any> | null} */ frame = null;
  #canvas = document.createElement("canvas");
  #ground = new ObservedGround();
  #gameId = "";
  #shown = -Infinity;
  #drawnAt = 0;
  #toldAt = -Infinity;
  /** @type {Box | null} */ #camera = null;
  /** @type {number | undefined} */ #frameRequest;
  #calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Record<string, string>} */ #paint = {};
  #scheme = matchMedia("(prefers-color-scheme: light)");

  connectedCallback() {
    this.#canvas.setAttribute("role", "img");
    this.append(this.#canvas);
    this.#scheme.addEventListener("change", this.#forgetPaint);
    this.#request();
  }

  disconnectedCallback() {
    this.#scheme.removeEventListener("change", this.#forgetPaint);
    cancelAnimationFrame(this.#frameRequest ?? 0);
    this.#frameRequest = undefined;
  }

  /** What to show. @param {Match | null} match */
  set match(match) {
    this.#match = match;
    this.#toldAt = -Infinity;
    this.#forgetGame();
  }

  #forgetPaint = () => {
    this.#paint = {};
  };

  #forgetGame() {
    this.frame = null;
    this.#ground = new ObservedGround();
    this.#camera = null;
    this.#shown = -Infinity;
  }

  #request() {
    this.#frameRequest = requestAnimationFrame((now) => {
      if (this.isConnected) {
        this.#request();
      }
      if (this.offsetParent !== null && (!this.#calm.matches || now - this.#drawnAt >= CALM_MS)) {
        this.#draw(now);
      }
    });
  }

  // -- time -------------------------------------------------------------------------------------------------------------

  /**
   * @param {Match} match
   * @param {Game} game
   * @param {number} milliseconds  Since the last picture.
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
    const target = game.end === null && !this.#calm.matches ? newest - BEHIND_FRAMES : newest;
    const [numerator, denominator] = game.rate;
    const next = this.#shown + (milliseconds / 1000) * (numerator / denominator);
    // Drift is taken out slowly; after a gap or a game faster than real time there is no point in playing it all.
    this.#shown = Math.abs(target - next) > MOST_BEHIND_FRAMES ? target : next + (target - next) * 0.1;
    this.#shown = Math.min(this.#shown, newest);
    let best = numbers[0];
    for (const number of numbers) {
      if (number <= this.#shown + 0.5) {
        best = number;
      }
    }
    return match.frames.get(best) ?? null;
  }

  // -- drawing ----------------------------------------------------------------------------------------------------------

  /** @param {number} now */
  #draw(now) {
    const elapsed = Math.min(1000, now - this.#drawnAt);
    this.#drawnAt = now;
    const match = this.#match;
    const game = match?.game ?? null;
    if (match === null || game === null) {
      setAttribute(this.#canvas, "aria-label", "Stage view: no game");
      sized(this.#canvas);
      return;
    }
    if (game.gameId !== this.#gameId) {
      this.#gameId = game.gameId;
      this.#forgetGame();
    }
    const frame = this.#frameNow(match, game, elapsed);
    const { context, width, height } = sized(this.#canvas);
    if (width === 0 || height === 0) {
      return;
    }
    this.#readPaint();
    const everybody = players(game, this.set);
    const stage = stageOutline(game);
    this.#observe(frame, stage);
    const camera = this.#aim(frame, stage, width / height);
    const scale = width / (camera.right - camera.left);
    const place = /** @type {Place} */ ((x, y) => [(x - camera.left) * scale, (camera.top - y) * scale]);
    this.#drawStage(context, place, stage, match);
    if (frame !== null) {
      this.#drawTrails(context, place, match, everybody, frame.frame, scale);
      this.#drawItems(context, place, frame, everybody, scale);
      this.#drawFighters(context, place, frame, everybody, scale, { width, height });
    }
    if (now - this.#toldAt > TEXT_MS) {
      this.#toldAt = now;
      setAttribute(this.#canvas, "aria-label", textAlternative(game, everybody, frame ?? {}, stage));
      this.dataset.told = String(frame?.frame ?? "");
    }
    this.frame = frame;
    this.dataset.frame = String(frame?.frame ?? "");
  }

  #readPaint() {
    if (!this.#paint.text) {
      for (const name of ["text", "quiet", "stage", "stage-edge", "sky", "red", "blue", "yellow", "green"]) {
        this.#paint[name] = styleValue(this, `--${name}`);
      }
      this.#paint.font = getComputedStyle(this).fontFamily;
    }
  }

  /**
   * @param {Record<string, any> | null} frame
   * @param {import("./stages.js").Outline | null} stage
   */
  #observe(frame, stage) {
    if (stage === null && frame !== null) {
      for (const { post } of Object.values(frame.players ?? {})) {
        if (post?.isAirborne === false && !within(post.actionStateId, DYING) && !within(post.actionStateId, REBIRTH)) {
          this.#ground.add(post.positionX, post.positionY);
        }
      }
    }
  }

  /**
   * @param {Record<string, any> | null} frame
   * @param {import("./stages.js").Outline | null} stage
   * @param {number} aspect
   */
  #aim(frame, stage, aspect) {
    const blast = stage?.blast ?? UNKNOWN_BLAST;
    if (this.#calm.matches) {
      return (this.#camera = shaped(stage === null ? grown(DEFAULT_BOX, 100) : grown(blast, 4), aspect));
    }
    const points = alive(frame).map(({ positionX, positionY }) => [positionX, positionY + BODY_UNITS / 2]);
    if (stage !== null) {
      points.push([-stage.edge * 0.8, -12], [stage.edge * 0.8, -12], [0, 48]);
    }
    const wanted = points.length ? grown(around(points, blast), MARGIN_UNITS) : { ...DEFAULT_BOX };
    const goal = shaped(wanted, aspect);
    const from = this.#camera;
    if (from === null) {
      return (this.#camera = goal);
    }
    const eased = /** @type {Box} */ ({});
    for (const side of /** @type {const} */ (["left", "right", "top", "bottom"])) {
      eased[side] = from[side] + (goal[side] - from[side]) * CAMERA_EASE;
    }
    return (this.#camera = shaped(eased, aspect));
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Place} place
   * @param {import("./stages.js").Outline | null} stage
   * @param {Match} match
   */
  #drawStage(context, place, stage, match) {
    context.lineJoin = "round";
    context.lineCap = "round";
    if (stage === null) {
      for (const { left, right, y } of this.#ground.stretches) {
        this.#line(context, place(left, y), place(right, y), 3, this.#paint["stage-edge"]);
      }
      return;
    }
    const { left, right, top, bottom } = stage.blast;
    context.setLineDash([6, 6]);
    context.strokeStyle = this.#paint.quiet;
    context.globalAlpha = 0.6;
    context.lineWidth = 1.5;
    const [x, y] = place(left, top);
    const [farX, farY] = place(right, bottom);
    context.strokeRect(x, y, farX - x, farY - y);
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(...place(-stage.edge, 0));
    for (const [cornerX, cornerY] of [/** @type {const} */ ([stage.edge, 0]), ...stage.underside]) {
      context.lineTo(...place(cornerX, cornerY));
    }
    context.closePath();
    context.fillStyle = this.#paint.stage;
    context.fill();
    this.#line(context, place(-stage.edge, 0), place(stage.edge, 0), 3, this.#paint["stage-edge"]);
    const heights = match.platformHeights;
    for (const platform of stage.platforms) {
      const height = (platform.id === undefined ? undefined : heights.get(platform.id)) ?? platform.y;
      this.#line(context, place(platform.left, height), place(platform.right, height), 3, this.#paint["stage-edge"]);
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
   * @param {Place} place
   * @param {Match} match
   * @param {Player[]} everybody
   * @param {number} number
   * @param {number} scale
   */
  #drawTrails(context, place, match, everybody, number, scale) {
    if (this.#calm.matches) {
      return;
    }
    context.lineCap = "butt";
    for (const player of everybody) {
      let before = null;
      for (let i = number - TRAIL_FRAMES; i <= number; i++) {
        const post = match.frames.get(i)?.players?.[player.index]?.post;
        if (!post || isOut(post)) {
          before = null;
          continue;
        }
        const here = place(post.positionX, post.positionY + BODY_UNITS / 2);
        if (before !== null) {
          context.globalAlpha = 0.28 * (1 - (number - i) / TRAIL_FRAMES);
          this.#line(context, before, here, Math.max(3, scale * 5), this.#paint[colourOf(player)]);
        }
        before = here;
      }
    }
    context.lineCap = "round";
    context.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Place} place
   * @param {Record<string, any>} frame
   * @param {Player[]} everybody
   * @param {number} scale
   */
  #drawItems(context, place, frame, everybody, scale) {
    for (const item of frame.items ?? []) {
      const owner = everybody.find((player) => player.index === item.owner);
      const [x, y] = place(item.positionX, item.positionY + 2);
      context.beginPath();
      context.arc(x, y, Math.max(3, scale * 2.2), 0, 2 * Math.PI);
      context.fillStyle = owner === undefined ? this.#paint.quiet : this.#paint[colourOf(owner)];
      context.fill();
      context.lineWidth = 1.5;
      context.strokeStyle = this.#paint.sky;
      context.stroke();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Place} place
   * @param {Record<string, any>} frame
   * @param {Player[]} everybody
   * @param {number} scale
   * @param {{width: number, height: number}} size
   */
  #drawFighters(context, place, frame, everybody, scale, { width, height }) {
    /** @type {{text: string, x: number, y: number, colour: string}[]} */
    const tags = [];
    for (const player of everybody) {
      const colour = this.#paint[colourOf(player)];
      const follower = frame.followers?.[player.index]?.post;
      if (follower && !isOut(follower)) {
        this.#drawFighter(context, place, follower, colour, scale * 0.75);
      }
      const post = frame.players?.[player.index]?.post;
      if (!post || post.stocksRemaining === 0 || post.positionX === undefined) {
        continue;
      }
      const [x, y] = place(post.positionX, post.positionY);
      if (within(post.actionStateId, DYING)) {
        this.#drawLoss(context, clamp(x, 14, width - 14), clamp(y, 14, height - 14), colour);
        continue;
      }
      this.#drawFighter(context, place, post, colour, scale);
      const percent = typeof post.percent === "number" ? ` ${Math.floor(post.percent)}%` : "";
      tags.push({ text: player.name + percent, x, y: y - Math.max(15, BODY_UNITS * scale) - 9, colour });
    }
    this.#drawTags(context, tags, width);
  }

  /**
   * A body with its feet where the game says, and a nose where it faces.
   * @param {CanvasRenderingContext2D} context
   * @param {Place} place
   * @param {Record<string, any>} post
   * @param {string} colour
   * @param {number} scale
   */
  #drawFighter(context, place, post, colour, scale) {
    const [x, y] = place(post.positionX, post.positionY);
    const high = Math.max(14, BODY_UNITS * scale);
    const wide = high * 0.5;
    const state = post.actionStateId;
    if (within(state, REBIRTH)) {
      this.#line(context, [x - wide, y + 1], [x + wide, y + 1], 4, this.#paint.quiet);
    }
    context.beginPath();
    context.roundRect(x - wide / 2, y - high, wide, high, wide / 2);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = within(state, DAMAGED) ? 3 : 1.5;
    context.strokeStyle = within(state, DAMAGED) ? this.#paint.text : this.#paint.sky;
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
    if (within(state, SHIELDING)) {
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
   * Names above the bodies; where two would cover each other one goes up.
   * @param {CanvasRenderingContext2D} context
   * @param {{text: string, x: number, y: number, colour: string}[]} tags
   * @param {number} width
   */
  #drawTags(context, tags, width) {
    context.font = `600 13px ${this.#paint.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    /** @type {{x: number, y: number, half: number}[]} */
    const placed = [];
    for (const tag of tags.sort((a, b) => b.y - a.y)) {
      const half = context.measureText(tag.text).width / 2 + 6;
      const x = clamp(tag.x, half + 2, width - half - 2);
      let y = Math.max(12, tag.y);
      for (const other of placed) {
        if (Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < 21) {
          y = other.y - 21 < 12 ? other.y + 21 : other.y - 21;
        }
      }
      placed.push({ x, y, half });
      context.beginPath();
      context.roundRect(x - half, y - 10, 2 * half, 20, 5);
      context.fillStyle = this.#paint.sky;
      context.globalAlpha = 0.85;
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = 1.5;
      context.strokeStyle = tag.colour;
      context.stroke();
      context.fillStyle = this.#paint.text;
      context.fillText(tag.text, x, y + 0.5);
    }
  }
}

/** @typedef {(x: number, y: number) => [number, number]} Place  Game units to pixels. */

/**
 * The picture in words, as of its frame.
 * @param {Game} game
 * @param {Player[]} everybody
 * @param {Record<string, any>} frame
 * @param {import("./stages.js").Outline | null} stage
 */
export function textAlternative(game, everybody, frame, stage) {
  const lines = everybody.map((player) => {
    const post = frame.players?.[player.index]?.post ?? {};
    const parts = [`${player.name}, ${player.character}`];
    const percent = post.percent ?? player.percent;
    const stocks = player.stocks === null ? null : (post.stocksRemaining ?? player.stocks);
    if (typeof percent === "number") {
      parts.push(`${Math.floor(percent)} percent`);
    }
    if (stocks !== null) {
      parts.push(stocksText(stocks));
    }
    if (stocks !== 0 && post.positionX !== undefined) {
      parts.push(whereabouts(post, stage));
    }
    return parts.join(", ");
  });
  return `Stage view: ${[stageName(game), ...lines].join(". ")}.`;
}

/**
 * @param {Record<string, any>} post
 * @param {import("./stages.js").Outline | null} stage
 */
function whereabouts(post, stage) {
  if (within(post.actionStateId, DYING)) {
    return "losing a stock";
  }
  const facing = post.facingDirection > 0 ? ", facing right" : post.facingDirection < 0 ? ", facing left" : "";
  const beyond = stage !== null && Math.abs(post.positionX) > stage.edge;
  if (post.isAirborne !== false && (beyond || post.positionY < BELOW)) {
    return `off the stage on the ${post.positionX < 0 ? "left" : "right"}${facing}`;
  }
  const side = Math.abs(post.positionX) < 15 ? "in the middle" : post.positionX < 0 ? "on the left" : "on the right";
  return `${post.isAirborne === true ? "in the air" : "on the ground"} ${side}${facing}`;
}

/** @param {Record<string, any>} post */
function isOut(post) {
  return post.positionX === undefined || post.stocksRemaining === 0 || within(post.actionStateId, DYING);
}

/** @param {Record<string, any> | null} frame */
function alive(frame) {
  return Object.values(frame?.players ?? {})
    .map((entry) => entry.post)
    .filter((post) => post && !isOut(post));
}

/**
 * @param {number[][]} points
 * @param {Box} most
 * @returns {Box}
 */
function around(points, most) {
  const xs = points.map(([x]) => clamp(x, most.left, most.right));
  const ys = points.map(([, y]) => clamp(y, most.bottom, most.top));
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.max(...ys), bottom: Math.min(...ys) };
}

/**
 * @param {Box} box
 * @param {number} by
 * @returns {Box}
 */
function grown({ left, right, top, bottom }, by) {
  return { left: left - by, right: right + by, top: top + by, bottom: bottom - by };
}

/**
 * The same middle, as wide as the canvas is, and not too close.
 * @param {Box} box
 * @param {number} aspect
 * @returns {Box}
 */
function shaped({ left, right, top, bottom }, aspect) {
  const wide = Math.max(right - left, (top - bottom) * aspect, CLOSEST_UNITS);
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return { left: x - wide / 2, right: x + wide / 2, top: y + wide / aspect / 2, bottom: y - wide / aspect / 2 };
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function clamp(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

customElements.define("stage-view", StageView);
