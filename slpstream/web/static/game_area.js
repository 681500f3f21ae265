/**
 * The position of the game's picture in the page, and of the game's own display in the picture.
 *
 * The picture is as large as fits into the page and centred, as OBS places a capture with "fit to screen".
 */

/**
 * @typedef {{left: number, top: number, width: number, height: number}} Area  In CSS pixels, or in shares of a picture.
 *
 * @typedef {"pillars" | "bars" | "full"} Form  Where the page has room outside the picture: at its sides, above and below it,
 *     or nowhere.
 */

/**
 * The parts of Melee's picture that its own display needs, as shares of the picture's width and height.
 *
 * `figures` are percents, stocks and emblems. Computer vision of two projects finds them there: in downsmash a picture
 * of 548x411 has the ports from 308 to 382 and the percent signs from 358 to 390, with a distance of 132 between ports, so
 * that four ports use all of the width; in visor the digits of one of 1252x1028 end at 974. Digits shake when a player is
 * hit, by about a share of 0.005. `timer` is the clock, with margins; no project states its place.
 */
export const HUD = Object.freeze({
  figures: Object.freeze({ left: 0, top: 0.74, width: 1, height: 0.215 }),
  timer: Object.freeze({ left: 0.34, top: 0, width: 0.32, height: 0.12 }),
});

/** Smaller margins are too narrow for names, as a share of the page's width or height. */
const MIN_PILLAR = 0.085;
const MIN_BAR = 0.1;

/**
 * @param {number} width   Of the page.
 * @param {number} height
 * @param {number} aspect  Width divided by height of the picture.
 * @returns {Area & {form: Form}}
 */
export function gameArea(width, height, aspect) {
  const gameWidth = Math.min(width, height * aspect);
  const gameHeight = gameWidth / aspect;
  const left = (width - gameWidth) / 2;
  const top = (height - gameHeight) / 2;
  const form = left >= MIN_PILLAR * width ? "pillars" : top >= MIN_BAR * height ? "bars" : "full";
  return { left, top, width: gameWidth, height: gameHeight, form };
}

/**
 * Writes the area into custom properties of the page, and its form into `data-form`, now and after each change of size.
 * @param {number} aspect
 * @param {() => void} onChange
 */
export function followGameArea(aspect, onChange) {
  const root = document.documentElement;
  const update = () => {
    const { left, top, width, height, form } = gameArea(root.clientWidth, root.clientHeight, aspect);
    root.dataset.form = form;
    for (const [name, value] of Object.entries({ left, top, width, height })) {
      root.style.setProperty(`--game-${name}`, `${value.toFixed(2)}px`);
    }
    onChange();
  };
  addEventListener("resize", update);
  update();
}
