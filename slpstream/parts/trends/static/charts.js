/**
 * The plots of trends, drawn as SVG: the weeks as lines above bars, and groups as bars of their win rates. Thin lines show
 * between which win rates the true one is likely to be, so that three games do not look like three hundred.
 *
 * All colours and fonts are attributes of the elements, so a plot looks the same in a file of its own.
 */

/**
 * @typedef {object} Row
 * @property {string} label
 * @property {string} told      All figures of the row in words.
 * @property {string} score     The games and the win rate, in few words.
 * @property {number} games
 * @property {number} rate      From 0 to 1, as are the next two.
 * @property {number} low
 * @property {number} high
 *
 * @typedef {object} Week
 * @property {string} monday    As `2026-11-23`.
 * @property {string} told
 * @property {number} games
 * @property {number} [rate]
 * @property {number} [low]
 * @property {number} [high]
 * @property {number} [openings]  Openings per kill.
 *
 * @typedef {{text: string, quiet: string, edge: string, card: string, accent: string}} Colours
 * @typedef {{rate: string, openings: string, games: string, percent: (share: number) => string, number: (value: number) => string, day: (monday: string) => string}} Words
 */

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
const FONT_PX = 13;
const LEFT = 46;
const RIGHT = 12;
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
/** The weeks of ten years. Earlier ones are not drawn. */
const MAX_WEEKS = 520;
const MAX_BAR = 22;
const DAY_PX = 92;
const ROW_PX = 42;
const BAR_PX = 12;
/** Characters that XML does not allow, among them halves of surrogate pairs. */
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/**
 * The win rate and the openings per kill of each week, and how many games it has. Weeks without games have their place. If no
 * openings are known, their panel is left out.
 * @param {readonly Week[]} weeks  In their order.
 * @param {number} width
 * @param {Colours} colours
 * @param {Words} words
 */
export function weeksChart(weeks, width, colours, words) {
  const last = Date.parse(weeks[weeks.length - 1].monday);
  const drawn = weeks.filter(({ monday }) => last - Date.parse(monday) < MAX_WEEKS * WEEK_MS);
  const first = Date.parse(drawn[0].monday);
  const count = Math.round((last - first) / WEEK_MS) + 1;
  const step = (width - LEFT - RIGHT) / count;
  const placeOf = (/** @type {Week} */ { monday }) => Math.round((Date.parse(monday) - first) / WEEK_MS);
  const x = (/** @type {Week} */ week) => LEFT + (placeOf(week) + 0.5) * step;
  const known = drawn.map(({ openings }) => openings).filter((each) => each !== undefined);
  const mostGames = Math.max(1, ...drawn.map(({ games }) => games));
  const rates = { top: 26, height: 150, max: 1, title: words.rate, tick: words.percent };
  const openings = { top: 216, height: 110, max: niceMax(Math.max(1, ...known)), title: words.openings, tick: words.number };
  const games = { top: known.length > 0 ? 366 : 216, height: 64, max: niceMax(mostGames), title: words.games, tick: words.number };
  const panels = known.length > 0 ? [rates, openings, games] : [rates, games];
  const height = games.top + 64 + 28;
  const svg = root(width, height, colours);
  for (const { top, height: panelHeight, max, title, tick } of panels) {
    svg.append(label(LEFT, top - 10, title, { fill: colours.text, "font-weight": "600" }));
    for (const share of [0, 0.5, 1]) {
      const y = top + panelHeight * (1 - share);
      svg.append(line(LEFT, y, width - RIGHT, y, colours.edge));
      if (share !== 0.5 || panelHeight > 100) {
        svg.append(label(LEFT - 7, y + 4, tick(share * max), { fill: colours.quiet, "text-anchor": "end" }));
      }
    }
  }
  const y = (/** @type {typeof rates} */ panel, /** @type {number} */ value) => panel.top + panel.height * (1 - value / panel.max);
  drawn.forEach((week) => {
    const barWidth = Math.max(1, Math.min(MAX_BAR, step * 0.7));
    const top = y(games, week.games);
    const bar = { x: px(x(week) - barWidth / 2), y: px(top), width: px(barWidth), height: px(games.top + games.height - top) };
    svg.append(element("rect", { class: "games", ...bar, fill: colours.accent, "fill-opacity": "0.55" }));
    if (week.low !== undefined && week.high !== undefined) {
      svg.append(line(x(week), y(rates, week.low), x(week), y(rates, week.high), colours.quiet, { class: "likely" }));
    }
  });
  for (const [panel, name] of /** @type {const} */ ([[rates, "rate"], [openings, "openings"]])) {
    const points = drawn.filter((week) => week[name] !== undefined).map((week) => ({ week, x: x(week), y: y(panel, week[name] ?? 0) }));
    for (const run of runs(points, (a, b) => placeOf(b.week) - placeOf(a.week) === 1)) {
      const path = run.map((point) => `${px(point.x)},${px(point.y)}`).join(" ");
      svg.append(element("polyline", { points: path, fill: "none", stroke: colours.accent, "stroke-width": "2", "stroke-linejoin": "round" }));
    }
    const radius = step < 7 ? "2" : "3.5";
    for (const point of points) {
      svg.append(element("circle", { class: name, cx: px(point.x), cy: px(point.y), r: radius, fill: colours.accent, stroke: colours.card }));
    }
  }
  let free = 0;
  for (let place = 0; place < count; place += 1) {
    const left = Math.max(LEFT - 12, LEFT + (place + 0.5) * step - DAY_PX / 2);
    if (left >= free && left + DAY_PX <= width) {
      const monday = new Date(first + place * WEEK_MS).toISOString().slice(0, 10);
      svg.append(label(left + DAY_PX / 2, height - 8, words.day(monday), { fill: colours.quiet, "text-anchor": "middle" }));
      free = left + DAY_PX;
    }
  }
  drawn.forEach((week) => {
    const area = element("rect", { x: px(x(week) - step / 2), y: "0", width: px(step), height: String(height), fill: "transparent" });
    area.append(titled(week.told));
    svg.append(area);
  });
  return svg;
}

/**
 * A bar for the win rate of each group, with its likely range.
 * @param {readonly Row[]} rows
 * @param {number} width
 * @param {Colours} colours
 */
export function barsChart(rows, width, colours) {
  const svg = root(width, rows.length * ROW_PX + 4, colours);
  const x = (/** @type {number} */ share) => 6 + share * (width - 12);
  rows.forEach((row, place) => {
    const top = place * ROW_PX;
    const group = element("g", { class: "row" });
    group.append(titled(row.told));
    const scoreWidth = textWidth(row.score, FONT_PX);
    const name = fitted(row.label, width - 12 - scoreWidth - 14);
    group.append(label(6, top + 16, name, { class: "label", fill: colours.text, "font-weight": "600" }));
    group.append(label(width - 6, top + 16, row.score, { class: "score", fill: colours.quiet, "text-anchor": "end" }));
    const at = { y: px(top + 23), height: px(BAR_PX), rx: "2" };
    group.append(element("rect", { x: px(x(0)), width: px(x(1) - x(0)), ...at, fill: colours.edge }));
    group.append(element("rect", { class: "bar", x: px(x(0)), width: px(x(row.rate) - x(0)), ...at, fill: colours.accent, "fill-opacity": "0.75" }));
    group.append(line(x(0.5), top + 21, x(0.5), top + 25 + BAR_PX, colours.quiet, { "stroke-dasharray": "2 2" }));
    const middle = top + 23 + BAR_PX / 2;
    const [low, high] = [x(row.low), x(row.high)];
    const path = `M${px(low)} ${px(middle - 4)}V${px(middle + 4)}M${px(low)} ${px(middle)}H${px(high)}M${px(high)} ${px(middle - 4)}V${px(middle + 4)}`;
    group.append(element("path", { class: "likely", d: path, stroke: colours.text, "stroke-width": "1.5", fill: "none" }));
    svg.append(group);
  });
  return svg;
}

/**
 * A plot as the text of an SVG file.
 * @param {SVGElement} svg
 * @param {string} title
 * @param {string} background
 */
export function fileOf(svg, title, background) {
  const shape = element("rect", { width: "100%", height: "100%", fill: background });
  svg.prepend(titled(title), shape);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

/**
 * A round number that is at least as large as the value, and even if it is above 1.
 * @param {number} value
 */
function niceMax(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 6, 8, 10].find((each) => each * power >= value) ?? 10;
  return Math.max(2, factor * power);
}

/**
 * The longest pieces of a list in which each two neighbours belong together.
 * @template T
 * @param {readonly T[]} items
 * @param {(a: T, b: T) => boolean} belong
 */
function runs(items, belong) {
  /** @type {T[][]} */
  const found = [];
  items.forEach((item, i) => {
    if (i > 0 && belong(items[i - 1], item)) {
      found[found.length - 1].push(item);
    } else {
      found.push([item]);
    }
  });
  return found;
}

/** @type {CanvasRenderingContext2D | null} */
let measuring = null;

/**
 * @param {string} words
 * @param {number} size
 * @param {string} weight
 */
function textWidth(words, size, weight = "400") {
  measuring ??= document.createElement("canvas").getContext("2d");
  if (measuring === null) {
    return words.length * size;
  }
  measuring.font = `${weight} ${size}px ${FONT}`;
  return measuring.measureText(words).width;
}

/**
 * A text that is cut if it is too wide.
 * @param {string} words
 * @param {number} width
 */
function fitted(words, width) {
  const letters = [...words];
  if (textWidth(words, FONT_PX, "600") <= width) {
    return words;
  }
  let [fits, tooMany] = [0, letters.length];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (textWidth(`${letters.slice(0, middle).join("")}…`, FONT_PX, "600") <= width) {
      fits = middle;
    } else {
      tooMany = middle;
    }
  }
  return `${letters.slice(0, fits).join("")}…`;
}

/**
 * @param {number} width
 * @param {number} height
 * @param {Colours} colours
 */
function root(width, height, colours) {
  const size = { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}` };
  return /** @type {SVGSVGElement} */ (element("svg", { ...size, "font-family": FONT, "font-size": String(FONT_PX), fill: colours.text }));
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {Record<string, string>} attributes
 */
function label(x, y, words, attributes) {
  const created = element("text", { x: px(x), y: px(y), ...attributes });
  created.textContent = words.replace(NOT_XML, "\uFFFD");
  return created;
}

/** @param {string} words */
function titled(words) {
  const created = element("title", {});
  created.textContent = words.replace(NOT_XML, "\uFFFD");
  return created;
}

/**
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 * @param {string} stroke
 * @param {Record<string, string>} attributes
 */
function line(x1, y1, x2, y2, stroke, attributes = {}) {
  return element("line", { x1: px(x1), y1: px(y1), x2: px(x2), y2: px(y2), stroke, ...attributes });
}

/** @param {number} value */
function px(value) {
  return String(Math.round(value * 10) / 10);
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @returns {SVGElement}
 */
function element(tag, attributes) {
  const created = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  return created;
}
