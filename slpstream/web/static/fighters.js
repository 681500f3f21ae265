/**
 * How fighters are drawn on a canvas: on the stage view, and in the miniatures of the wall.
 *
 * A fighter is the glyph of its character in the colour of its costume, with an outline in the colour of its port or team. It
 * stands at its position and points where it faces. Everything that moves (trails, sparks, squashing on landing) follows from the
 * frames up to the displayed one, so the same frames give the same drawing.
 */

import { swatch } from "./costumes.js";
import { GLYPH_SIZE, characterShape } from "./icons/glyphs.js";
import { arrivals } from "./late.js";
import { colourOf } from "./player_colour.js";
import { costumeName, externalId } from "./slippi.js";

/**
 * @typedef {import("./stage_drawing.js").Camera} Camera
 * @typedef {Record<string, any>} Post  The `post` of a player in a frame.
 * @typedef {Record<string, any>} Frame
 * @typedef {ReadonlyMap<number, Frame>} Frames  Frames by number. Some may be missing.
 *
 * @typedef {object} Fighter
 * @property {number} index
 * @property {number} characterId   That of a frame takes precedence.
 * @property {number} costumeIndex
 * @property {string} colour        Name of the port's or the team's colour.
 * @property {boolean} hasStocks
 *
 * @typedef {object} Motion
 * @property {number} squash       From 0 to 1 at the moment of landing.
 * @property {number} hit          Remaining share of the spark of the last hit, from 0 to 1.
 * @property {number} damage       Of the last hit.
 * @property {number} hitFrame     Number of its frame.
 * @property {number} trailFrames  The faster a hit has sent the fighter flying, the more.
 * @property {number} dyingFrames  How long it has been losing a stock.
 *
 * @typedef {object} Scene
 * @property {Frame} frame    The displayed one.
 * @property {Frames} frames  Those before it.
 * @property {readonly Fighter[]} fighters
 * @property {Camera} camera
 * @property {{width: number, height: number}} size  Of the canvas, in CSS pixels.
 * @property {Record<string, string>} colours
 * @property {boolean} still                    Without trails, sparks and squashing.
 * @property {number} minHigh                   Least height of a fighter, in CSS pixels.
 */

/** Ranges of action state ids, first to last. `names/slippi/action_states.json` has their names. */
const DYING = /** @type {const} */ ([0x00, 0x0a]);
const REBIRTH = /** @type {const} */ ([0x0c, 0x0d]);
const TUMBLE = /** @type {const} */ ([0x26, 0x26]);
const LANDING = /** @type {const} */ ([0x2a, 0x2b]);
const AERIAL_LANDING = /** @type {const} */ ([0x46, 0x4a]);
const DAMAGED = /** @type {const} */ ([0x4b, 0x5b]);
const SHIELDING = /** @type {const} */ ([0xb2, 0xb6]);
const KNOCKED_DOWN = /** @type {const} */ ([0xb7, 0xc6]);
const LYING_ON_BACK = /** @type {const} */ ([0xb7, 0xb9]);
const LYING_ON_FRONT = /** @type {const} */ ([0xbf, 0xc1]);
const HELD = /** @type {const} */ ([0xdf, 0xf3]);

/** Approximate height of a fighter, which replays do not contain. */
export const BODY_UNITS = 14;
const FOLLOWER_SHARE = 0.8;
const SHIELD_UNITS = 10;
const FULL_SHIELD = 60;

const MAX_TRAIL_FRAMES = 24;
const MIN_TRAIL_FRAMES = 3;
const TRAIL_FRAMES_PER_SPEED = 6;
/** Faster than any hit: the fighter was put elsewhere. In game units per frame. */
const MAX_SPEED = 20;
const SQUASH_FRAMES = 7;
/** The game stops for about a third of the damage in frames; the spark is visible a little longer. */
const sparkFrames = (/** @type {number} */ damage) => Math.min(16, 6 + Math.floor(damage / 3));
const SPARK_POINTS = 8;
const KNOCKOUT_FRAMES = 36;
/** Directions and lengths of the rays of a lost stock. */
const RAYS = /** @type {const} */ ([[-0.62, 0.55], [-0.3, 0.85], [0, 1], [0.3, 0.8], [0.62, 0.6]]);
const DAMAGED_TILT = 0.4;

const ICE_CLIMBERS = 14;
/** The glyph of the Ice Climbers shows both, and that of Popo one. */
const ICE_CLIMBER_GLYPH = 32;

/** Space around a glyph for its outline and its pointer, in units of the glyph. */
const PADDING = 20;
const SPRITE_SHARE = (GLYPH_SIZE + 2 * PADDING) / GLYPH_SIZE;
const INK_WIDTH = 5;
const OUTLINE_WIDTH = 13;
/** Below this height in CSS pixels, outlines have a constant width. */
const FINE_HIGH = 26;
const MAX_SPRITES = 256;

/** @type {(state: number | undefined, range: readonly [number, number]) => boolean} */
const isWithin = (state, [first, last]) => state !== undefined && state >= first && state <= last;

/** @param {Post} post */
export const isDying = ({ actionStateId }) => isWithin(actionStateId, DYING);
/** Whether it waits above the stage after a lost stock. @param {Post} post */
export const isReborn = ({ actionStateId }) => isWithin(actionStateId, REBIRTH);
/** Whether an opponent's hit or grab still has an effect. @param {Post} post */
export const isPunished = ({ actionStateId: state }) =>
  isWithin(state, DAMAGED) || isWithin(state, TUMBLE) || isWithin(state, KNOCKED_DOWN) || isWithin(state, HELD);
/** @param {Post} post */
const isLanding = ({ actionStateId: state }) =>
  isWithin(state, LANDING) || isWithin(state, AERIAL_LANDING) || state === LYING_ON_BACK[0] || state === LYING_ON_FRONT[0];

/**
 * Whether the player is out of the game. In a game without stocks, the number in the frame is meaningless.
 * @param {Post} post
 * @param {boolean} hasStocks
 */
export const hasNoStocks = (post, hasStocks) => hasStocks && post.stocksRemaining === 0;

/**
 * @param {import("./slippi.js").Player} player
 * @returns {Fighter}
 */
export function fighterOf(player) {
  const { index, characterId, costumeIndex, stocks } = player;
  return { index, characterId, costumeIndex, colour: colourOf(player), hasStocks: stocks !== null };
}

/**
 * @param {Frame | undefined} frame
 * @param {number} index
 * @param {boolean} isFollower
 * @returns {Post | undefined}
 */
function postIn(frame, index, isFollower) {
  const post = (isFollower ? frame?.followers : frame?.players)?.[index]?.post;
  return post?.positionX === undefined ? undefined : post;
}

/**
 * The movement of a fighter in a frame, from that frame and those before it. Without earlier frames nothing moves.
 * @param {Frame} frame
 * @param {Frames} frames
 * @param {number} index
 * @param {boolean} [isFollower]
 * @returns {Motion}
 */
export function motionOf(frame, frames, index, isFollower = false) {
  const motion = { squash: 0, hit: 0, damage: 0, hitFrame: NaN, trailFrames: 0, dyingFrames: 0 };
  const number = frame.frame;
  let newer = postIn(frame, index, isFollower);
  if (newer === undefined) {
    return motion;
  }
  let [newerNumber, speed, landing, dying] = [number, 0, isLanding(newer), isDying(newer)];
  for (let i = number - 1; i >= number - KNOCKOUT_FRAMES; i--) {
    const older = postIn(frames.get(i), index, isFollower);
    if (older === undefined) {
      continue;
    }
    const age = number - newerNumber;
    if (landing && !isLanding(older)) {
      motion.squash = Math.max(0, 1 - age / SQUASH_FRAMES);
    }
    landing &&= isLanding(older);
    dying &&= isDying(older);
    motion.dyingFrames = dying ? number - i : motion.dyingFrames;
    const damage = newer.percent - older.percent;
    // Exactly 1 % without an effect is from the magnifying glass, outside of the picture.
    if (Number.isNaN(motion.hitFrame) && damage > 0 && (damage > 1.01 || isPunished(newer))) {
      Object.assign(motion, { damage, hitFrame: newerNumber, hit: Math.max(0, 1 - age / sparkFrames(damage)) });
    }
    if (age < MAX_TRAIL_FRAMES && isWithin(newer.actionStateId, DAMAGED)) {
      speed = Math.max(speed, speedBetween(older, newer, newerNumber - i));
    }
    newer = older;
    newerNumber = i;
  }
  motion.trailFrames = Math.min(MAX_TRAIL_FRAMES, Math.round(speed * TRAIL_FRAMES_PER_SPEED));
  return motion;
}

/**
 * In game units per frame; 0 if the fighter was put elsewhere.
 * @param {Post} older
 * @param {Post} newer
 * @param {number} frames
 */
function speedBetween(older, newer, frames) {
  const speed = Math.hypot(newer.positionX - older.positionX, newer.positionY - older.positionY) / frames;
  return speed > MAX_SPEED ? 0 : speed;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 */
export function drawFighters(context, scene) {
  const { frame, fighters, camera, minHigh } = scene;
  const high = Math.max(minHigh, BODY_UNITS * camera.scale);
  for (const fighter of fighters) {
    for (const isFollower of [true, false]) {
      const post = postIn(frame, fighter.index, isFollower);
      if (post !== undefined && !hasNoStocks(post, fighter.hasStocks)) {
        drawFighter(context, scene, fighter, isFollower, post, isFollower ? high * FOLLOWER_SHARE : high);
      }
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Fighter} fighter
 * @param {boolean} isFollower
 * @param {Post} post
 * @param {number} high
 */
function drawFighter(context, scene, fighter, isFollower, post, high) {
  const { frame, frames, camera, size, colours, still } = scene;
  const x = clamp((post.positionX - camera.left) * camera.scale, high / 2, size.width - high / 2);
  const y = clamp((camera.top - post.positionY) * camera.scale, high, size.height - 1);
  const colour = colours[fighter.colour] || colours.red;
  const motion = still ? null : motionOf(frame, frames, fighter.index, isFollower);
  if (motion !== null && motion.trailFrames >= MIN_TRAIL_FRAMES) {
    drawTrail(context, scene, fighter, isFollower, high, motion.trailFrames);
  }
  if (isDying(post)) {
    if (!isFollower) {
      drawLostStock(context, x, y - high / 2, high, colour, post.actionStateId, motion?.dyingFrames ?? KNOCKOUT_FRAMES);
    }
    return;
  }
  if (isReborn(post)) {
    context.beginPath();
    context.moveTo(x - high * 0.6, y + 1);
    context.lineTo(x + high * 0.6, y + 1);
    context.lineWidth = Math.max(2, high * 0.1);
    context.strokeStyle = colours.quiet;
    context.stroke();
  }
  if (motion !== null && motion.hit > 0) {
    drawSpark(context, x, y - high / 2, high, motion, colours);
  }
  drawBody(context, fighter, post, { x, y, high, colour, squash: motion?.squash ?? 0, ratio: camera.ratio });
  if (isWithin(post.actionStateId, SHIELDING)) {
    const share = clamp((post.shieldSize ?? FULL_SHIELD) / FULL_SHIELD, 0.2, 1);
    context.beginPath();
    context.arc(x, y - high / 2, high * (SHIELD_UNITS / BODY_UNITS) * (0.4 + 0.6 * share), 0, 2 * Math.PI);
    context.globalAlpha = 0.28;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = Math.max(1.5, high * 0.07);
    context.strokeStyle = colour;
    context.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Fighter} fighter
 * @param {Post} post
 * @param {{x: number, y: number, high: number, colour: string, squash: number, ratio: number}} place
 */
function drawBody(context, fighter, post, { x, y, high, colour, squash, ratio }) {
  const state = post.actionStateId;
  const facing = Math.sign(post.facingDirection ?? 0);
  const characterId = externalId(post.internalCharacterId) ?? fighter.characterId;
  const picture = sprite(characterId, fighter.costumeIndex, colour, facing !== 0, high, ratio);
  const wide = high * SPRITE_SHARE;
  // Hit fighters lean back, and those on the ground lie on it.
  const tilt = isWithin(state, DAMAGED) || isWithin(state, TUMBLE) ? -DAMAGED_TILT
    : isWithin(state, LYING_ON_BACK) ? -Math.PI / 2
    : isWithin(state, LYING_ON_FRONT) ? Math.PI / 2
    : 0;
  context.save();
  context.translate(x, y);
  context.scale((facing < 0 ? -1 : 1) * (1 + 0.3 * squash), 1 - 0.38 * squash);
  context.translate(0, -high / 2);
  context.rotate(tilt);
  context.drawImage(picture, -wide / 2, -wide / 2, wide, wide);
  context.restore();
}

/**
 * The way of a fighter who was sent flying, a ribbon that gets thinner towards its beginning.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Fighter} fighter
 * @param {boolean} isFollower
 * @param {number} high
 * @param {number} trailFrames
 */
function drawTrail(context, { frame, frames, camera, colours }, fighter, isFollower, high, trailFrames) {
  const number = frame.frame;
  let newer = /** @type {Post} */ (postIn(frame, fighter.index, isFollower));
  let newerNumber = number;
  /** @type {{x: number, y: number, half: number}[]} */
  const way = [];
  const add = (/** @type {Post} */ { positionX, positionY }, /** @type {number} */ at) => {
    const half = Math.max(0, high * 0.3 * (1 - (number - at) / trailFrames));
    way.push({ x: (positionX - camera.left) * camera.scale, y: (camera.top - positionY) * camera.scale - high / 2, half });
  };
  for (let i = number - 1; i >= number - trailFrames; i--) {
    const older = postIn(frames.get(i), fighter.index, isFollower);
    if (older === undefined) {
      continue;
    }
    if (isWithin(newer.actionStateId, DAMAGED) && speedBetween(older, newer, newerNumber - i) > 0) {
      if (way.length === 0) {
        add(newer, newerNumber);
      }
      add(older, i);
    } else if (way.length > 0) {
      break;
    }
    newer = older;
    newerNumber = i;
  }
  if (way.length > 1) {
    context.beginPath();
    way.forEach((_, i) => lineToEdge(context, way, i, 1));
    way.forEach((_, i) => lineToEdge(context, way, way.length - 1 - i, -1));
    context.closePath();
    context.globalAlpha = 0.45;
    context.fillStyle = colours[fighter.colour] || colours.red;
    context.fill();
    context.globalAlpha = 1;
  }
}

/**
 * Continues a path to the edge of a ribbon, on one side of one of its points.
 * @param {CanvasRenderingContext2D} context
 * @param {readonly {x: number, y: number, half: number}[]} way
 * @param {number} i
 * @param {1 | -1} side
 */
function lineToEdge(context, way, i, side) {
  const { x, y, half } = way[i];
  const [before, after] = [way[Math.max(0, i - 1)], way[Math.min(way.length - 1, i + 1)]];
  const [dx, dy] = [after.x - before.x, after.y - before.y];
  const share = (side * half) / (Math.hypot(dx, dy) || 1);
  context.lineTo(x - dy * share, y + dx * share);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} high
 * @param {Motion} motion
 * @param {Record<string, string>} colours
 */
function drawSpark(context, x, y, high, { hit, damage, hitFrame }, colours) {
  const radius = high * (0.75 + Math.min(0.7, damage * 0.035)) * (1.2 - 0.3 * hit);
  context.globalAlpha = Math.min(1, 0.3 + hit);
  context.lineWidth = Math.max(1, high * 0.05);
  context.lineJoin = "miter";
  context.strokeStyle = colours.sky;
  for (const [share, colour] of [[1, colours.yellow], [0.5, "#ffffff"]]) {
    context.beginPath();
    for (let i = 0; i < 2 * SPARK_POINTS; i++) {
      const angle = hitFrame + (i * Math.PI) / SPARK_POINTS;
      const length = radius * Number(share) * (i % 2 === 0 ? 1 : 0.12 + 0.32 * hit);
      context.lineTo(x + Math.cos(angle) * length, y + Math.sin(angle) * length);
    }
    context.closePath();
    context.fillStyle = String(colour);
    context.fill();
    if (share === 1) {
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  context.lineJoin = "round";
}

/**
 * A cross where a stock is lost, and rays from there into the picture, which fade.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} high
 * @param {string} colour
 * @param {number} state
 * @param {number} dyingFrames
 */
function drawLostStock(context, x, y, high, colour, state, dyingFrames) {
  const age = dyingFrames / KNOCKOUT_FRAMES;
  context.fillStyle = context.strokeStyle = colour;
  if (age < 1) {
    // Up from the lower edge, inwards from the sides, and down from the upper edge.
    const inwards = state === 0 ? -Math.PI / 2 : state === 1 ? 0 : state === 2 ? Math.PI : Math.PI / 2;
    const reach = high * 6 * (1 - (1 - age) ** 3);
    context.globalAlpha = 0.75 * (1 - age);
    for (const [angle, share] of RAYS) {
      const [dx, dy] = [Math.cos(inwards + angle), Math.sin(inwards + angle)];
      context.beginPath();
      context.moveTo(x - dy * high * 0.16, y + dx * high * 0.16);
      context.lineTo(x + dx * reach * share, y + dy * reach * share);
      context.lineTo(x + dy * high * 0.16, y - dx * high * 0.16);
      context.closePath();
      context.fill();
    }
    context.globalAlpha = 1;
  }
  const arm = high * 0.36;
  context.beginPath();
  context.moveTo(x - arm, y - arm);
  context.lineTo(x + arm, y + arm);
  context.moveTo(x + arm, y - arm);
  context.lineTo(x - arm, y + arm);
  context.lineWidth = Math.max(2.5, high * 0.16);
  context.lineCap = "round";
  context.stroke();
}

/** Drawn fighters that face right. Arrivals of glyphs and colours change them. @type {Map<string, HTMLCanvasElement>} */
const sprites = new Map();
let spritesAt = 0;

/**
 * @param {number} characterId
 * @param {number} costumeIndex
 * @param {string} colour    Of the outline.
 * @param {boolean} points   Whether it has a pointer to the right.
 * @param {number} high      In CSS pixels.
 * @param {number} ratio
 */
function sprite(characterId, costumeIndex, colour, points, high, ratio) {
  if (spritesAt !== arrivals()) {
    spritesAt = arrivals();
    sprites.clear();
  }
  // A camera that zooms needs only a few sizes.
  const pixels = Math.ceil((high * ratio) / 8) * 8;
  const key = `${characterId} ${costumeIndex} ${colour} ${points} ${pixels}`;
  let drawn = sprites.get(key);
  if (drawn === undefined) {
    drawn = drawSprite(characterId, costumeIndex, colour, points, pixels, ratio);
    if (sprites.size >= MAX_SPRITES) {
      sprites.delete(/** @type {string} */ (sprites.keys().next().value));
    }
    sprites.set(key, drawn);
  }
  return drawn;
}

/**
 * @param {number} characterId
 * @param {number} costumeIndex
 * @param {string} colour
 * @param {boolean} points
 * @param {number} pixels
 * @param {number} ratio
 */
function drawSprite(characterId, costumeIndex, colour, points, pixels, ratio) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.ceil(pixels * SPRITE_SHARE);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const { colour: costume, ink } = swatch(characterId, costumeName(characterId, costumeIndex));
  const shape = characterShape(characterId === ICE_CLIMBERS ? ICE_CLIMBER_GLYPH : characterId) ?? plainShape();
  const outline = OUTLINE_WIDTH * Math.max(1, (FINE_HIGH * ratio) / pixels);
  context.scale(pixels / GLYPH_SIZE, pixels / GLYPH_SIZE);
  context.translate(PADDING, PADDING);
  context.lineJoin = "round";
  context.fillStyle = context.strokeStyle = colour;
  if (points) {
    context.beginPath();
    context.moveTo(GLYPH_SIZE - 6, 14);
    context.lineTo(GLYPH_SIZE + PADDING - 3, 30);
    context.lineTo(GLYPH_SIZE - 6, 46);
    context.closePath();
    context.fill();
  }
  context.lineWidth = outline;
  context.stroke(shape.whole);
  // Black or white behind the glyph shows its lines and separates it from the outline.
  context.fillStyle = context.strokeStyle = ink;
  context.lineWidth = INK_WIDTH;
  shape.contours.forEach((contour) => context.fill(contour));
  context.stroke(shape.whole);
  context.fillStyle = costume;
  context.fill(shape.whole);
  return canvas;
}

/** The body of an unknown character, and of one whose glyph is not loaded yet. */
function plainShape() {
  const whole = new Path2D();
  whole.roundRect(16, 4, 32, 56, 16);
  return { whole, contours: [whole] };
}

/**
 * @param {number} value
 * @param {number} min
 * @param {number} max
 */
function clamp(value, min, max) {
  return Math.min(max, Math.max(min, value));
}
