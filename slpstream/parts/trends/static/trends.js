/**
 * The page of trends, `/trends?me=CODE`: how the games of one player change by week, opponent, character and stage. It shows
 * `/v1/trends` as plots, each with a table, and saves them as files.
 */

import { Api, ROOT, Status } from "../api.js";
import { clone, element, find, make, setText } from "../dom.js";
import { minutesText } from "../slippi.js";
import { thingText } from "../summary.js";
import { FORMAT } from "../texts/names.js";
import { addTexts, date, fillTexts, list, number, text } from "../texts/texts.js";
import { takeToken } from "../token.js";
import { barsChart, fileOf, weeksChart } from "./charts.js";

await addTexts(import.meta.url);

/**
 * @typedef {object} Row
 * @property {string} group
 * @property {string} [name]
 * @property {import("../slpstream_types.js").Thing} [thing]
 * @property {number} games
 * @property {number} won
 * @property {number} [winRate]
 * @property {number} [winRateLow]
 * @property {number} [winRateHigh]
 * @property {number} [averageSeconds]
 * @property {number} [openingsPerKill]
 * @property {number} [damagePerOpening]
 * @property {number} [neutralWinRate]
 * @property {number} [inputsPerMinute]
 *
 * @typedef {"week" | "opponent" | "character" | "against" | "stage"} By
 * @typedef {{me: string[], all: Row, leftOut?: Record<string, number>, limitedTo?: string} & Record<By, Row[]>} Trends
 */

const KINDS = /** @type {const} */ (["week", "opponent", "character", "against", "stage"]);
const REASONS = /** @type {const} */ (["notTwoPlayers", "computer", "undecided", "sameName"]);
const MAX_BARS = 10;
const FILE_WIDTH = 960;
const SLOW_MS = 60_000;
const KEPT_MS = 10_000;

const percent = (/** @type {number} */ share) => number(share, { style: "percent", maximumFractionDigits: 0 });
const decimal = (/** @type {number} */ value) => number(value, { maximumFractionDigits: 1 });
const whole = (/** @type {number} */ value) => number(value, { maximumFractionDigits: 0 });
const day = (/** @type {string} */ monday) => date(new Date(`${monday}T00:00Z`), { dateStyle: "medium", timeZone: "UTC" });

/** The columns of the tables. @type {readonly [string, (row: Row) => string][]} */
const COLUMNS = [
  ["games", ({ games }) => number(games)],
  ["won", ({ won }) => number(won)],
  ["rate", ({ winRate }) => shown(winRate, percent)],
  ["likely", likelyText],
  ["length", ({ averageSeconds }) => shown(averageSeconds, (seconds) => minutesText(Math.round(seconds)))],
  ["openings", ({ openingsPerKill }) => shown(openingsPerKill, decimal)],
  ["damage", ({ damagePerOpening }) => shown(damagePerOpening, decimal)],
  ["neutral", ({ neutralWinRate }) => shown(neutralWinRate, percent)],
  ["inputs", ({ inputsPerMinute }) => shown(inputsPerMinute, whole)],
];

const api = new Api(takeToken(), { timeoutMs: SLOW_MS });
const field = /** @type {HTMLInputElement} */ (find("#me"));
/** @type {Trends | null} */
let trends = null;
/** As in the address; empty for the player of the configuration. */
let shownPlayer = "";
/** Counts the loads, of which only the last one is shown. */
let loads = 0;

/** Loads and shows the player of the address, or the one of the configuration. */
async function load() {
  const me = new URLSearchParams(location.search).get("me") ?? "";
  const mine = ++loads;
  field.value = shownPlayer = me;
  find("p.loading").hidden = false;
  try {
    const { status, body } = await api.get(`v1/trends${queryOf(me)}`);
    if (mine === loads) {
      trends = status === Status.OK && body.all.games > 0 ? body : null;
      showProblem(problemOf(status, body), status === Status.UNAUTHORISED ? "#login" : "");
      show();
    }
  } catch {
    if (mine === loads) {
      showProblem(text("trends.no_response"));
    }
  }
}

/** @param {string} me */
function queryOf(me) {
  return me === "" ? "" : `?${new URLSearchParams({ me })}`;
}

/**
 * Why there is nothing to show; empty if there is something.
 * @param {number} status
 * @param {any} body
 */
function problemOf(status, body) {
  switch (status) {
    case Status.OK:
      if (body.me.length === 0) {
        return text("trends.enter");
      }
      return body.all.games > 0 ? "" : [text("trends.none", { name: body.me.join(", ") }), leftOutText(body)].filter(Boolean).join(" ");
    case Status.UNAUTHORISED:
      return text("trends.no_token");
    case Status.NOT_FOUND:
      return text("trends.not_here");
    default:
      return typeof body?.detail === "string" ? body.detail : text("trends.no_response");
  }
}

/**
 * @param {string} problem
 * @param {string} [fragment]  The part of the dashboard that solves the problem.
 */
function showProblem(problem, fragment = "") {
  find("p.loading").hidden = true;
  const shownProblem = find("body > .problem");
  shownProblem.hidden = problem === "";
  shownProblem.classList.toggle("quiet", problem === text("trends.enter"));
  setText(shownProblem, problem);
  if (fragment !== "") {
    shownProblem.append(" ", element("a", text("login.log_in"), { href: new URL(fragment, ROOT).href }));
  }
}

function show() {
  find("main").hidden = trends === null;
  document.title = trends === null ? text("trends.title") : text("trends.title_of", { name: trends.me.join(", ") });
  if (trends === null) {
    return;
  }
  const { all } = trends;
  setText(find(".total"), text("trends.total", { name: trends.me.join(", "), count: all.games, won: all.won, rate: shown(all.winRate, percent), likely: likelyText(all) }));
  const limited = trends.limitedTo === undefined ? "" : text("trends.limited", { count: all.games, date: date(new Date(trends.limitedTo), { dateStyle: "medium" }) });
  setText(find(".notes"), [text("trends.about"), leftOutText(trends), limited].filter(Boolean).join(" "));
  for (const group of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".group"))) {
    const rows = trends[/** @type {By} */ (group.dataset.by)];
    const hidden = rows.length - MAX_BARS;
    find(".more", group).hidden = group.dataset.by === "week" || hidden <= 0;
    setText(find(".more", group), text("trends.more", { count: hidden }));
    find("tbody", group).replaceChildren(...rows.map((row) => tableRow(/** @type {By} */ (group.dataset.by), row)));
  }
  draw();
}

/** Draws all plots as wide as there is room. */
function draw() {
  if (trends === null) {
    return;
  }
  const colours = { text: "var(--text)", quiet: "var(--quiet)", edge: "var(--edge)", card: "var(--card)", accent: "var(--accent)" };
  for (const group of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".group"))) {
    const place = find(".drawing", group);
    if (place.clientWidth === 0) {
      continue; // its size is not known yet
    }
    const svg = plot(/** @type {By} */ (group.dataset.by), place.clientWidth, colours);
    if (svg === null) {
      place.replaceChildren(element("p", text("trends.no_dates"), { class: "quiet" }));
      continue;
    }
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", text("trends.plot", { what: find("h2", group).textContent ?? "" }));
    place.replaceChildren(svg);
  }
}

/**
 * The plot of a kind of rows; `null` if there is nothing to draw.
 * @param {By} by
 * @param {number} width
 * @param {import("./charts.js").Colours} colours
 */
function plot(by, width, colours) {
  const rows = trends?.[by] ?? [];
  if (by === "week") {
    const weeks = rows.filter(({ group }) => group !== "");
    const words = { rate: text("trends.rate"), openings: text("trends.openings"), games: text("trends.games"), percent, number: decimal, day };
    return weeks.length === 0 ? null : weeksChart(weeks.map(weekOf), width, colours, words);
  }
  return barsChart(rows.slice(0, MAX_BARS).map((row) => barOf(by, row)), width, colours);
}

/** @param {Row} row @returns {import("./charts.js").Week} */
function weekOf(row) {
  const { group, games, winRate, winRateLow, winRateHigh, openingsPerKill } = row;
  return { monday: group, told: toldText("week", row), games, rate: winRate, low: winRateLow, high: winRateHigh, openings: openingsPerKill };
}

/** @param {By} by @param {Row} row @returns {import("./charts.js").Row} */
function barOf(by, row) {
  const { games, won, winRate = 0, winRateLow = 0, winRateHigh = 1 } = row;
  const score = text("trends.score", { won, count: games, rate: percent(winRate) });
  return { label: labelOf(by, row), told: toldText(by, row), score, games, rate: winRate, low: winRateLow, high: winRateHigh };
}

/** @param {By} by @param {Row} row */
function labelOf(by, { group, name, thing }) {
  if (group === "") {
    return text(by === "opponent" ? "trends.no_name" : "trends.unknown");
  }
  if (by === "week") {
    return day(group);
  }
  if (by !== "opponent") {
    return thing === undefined ? group : thingText(thing, FORMAT);
  }
  return name ? `${isolated(name)} (${group})` : isolated(group);
}

/** A name that does not turn the direction of the text around it. @param {string} name */
function isolated(name) {
  return `\u2068${name}\u2069`;
}

/** @param {By} by @param {Row} row */
function toldText(by, row) {
  const figures = COLUMNS.map(([title, cell]) => `${text(`trends.${title}`)}: ${cell(row)}`);
  return [labelOf(by, row), ...figures].join("\n");
}

/** @param {By} by @param {Row} row */
function tableRow(by, row) {
  const cells = COLUMNS.map(([, cell]) => element("td", cell(row)));
  return make("tr", element("th", labelOf(by, row), { scope: "row" }), ...cells);
}

/** @param {Row} row */
function likelyText({ winRateLow, winRateHigh }) {
  return winRateLow === undefined || winRateHigh === undefined ? "–" : text("trends.range", { low: percent(winRateLow), high: percent(winRateHigh) });
}

/** @param {Trends} found */
function leftOutText({ leftOut = {} }) {
  const reasons = REASONS.filter((reason) => leftOut[reason] > 0).map((reason) => text(`trends.left_out.${reason}`, { count: leftOut[reason] }));
  return reasons.length === 0 ? "" : text("trends.left_out", { reasons: list(reasons) });
}

/**
 * @param {number | undefined} value
 * @param {(value: number) => string} format
 */
function shown(value, format) {
  return value === undefined ? "–" : format(value);
}

/** @param {HTMLElement} group */
function saveSvg(group) {
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const colours = { text: colour("--text"), quiet: colour("--quiet"), edge: colour("--edge"), card: colour("--card"), accent: colour("--accent") };
  const by = /** @type {By} */ (group.dataset.by);
  const svg = plot(by, FILE_WIDTH, colours);
  if (svg !== null) {
    const title = `${document.title}: ${find("h2", group).textContent}`;
    save(`trends_${by}.svg`, "image/svg+xml", fileOf(svg, title, colours.card));
  }
}

async function saveCsv() {
  try {
    save("trends.csv", "text/csv", await api.text(`v1/trends/rows.csv${queryOf(shownPlayer)}`));
  } catch {
    showProblem(text("trends.no_response"));
  }
}

/**
 * @param {string} name
 * @param {string} type
 * @param {string} content
 */
function save(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", "", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS); // some browsers read it only later
}

/** @param {By} by */
function newGroup(by) {
  const group = clone("group");
  group.dataset.by = by;
  const title = find("h2", group);
  Object.assign(title, { id: by, tabIndex: -1, textContent: text(`trends.by.${by}`) });
  group.setAttribute("aria-labelledby", by);
  const save = find("button", group);
  save.setAttribute("aria-label", `${text("trends.download_svg")}: ${title.textContent}`);
  save.addEventListener("click", () => saveSvg(group));
  find(".rows", group).setAttribute("aria-labelledby", by);
  const titles = COLUMNS.map(([name]) => element("th", text(`trends.${name}`), { scope: "col" }));
  find("thead tr", group).append(element("th", text(`trends.one.${by}`), { scope: "col" }), ...titles);
  return group;
}

fillTexts();
document.title = text("trends.title");
find(".groups").append(...KINDS.map(newGroup));
find("button.csv").addEventListener("click", saveCsv);
find("form.player").addEventListener("submit", (event) => {
  event.preventDefault();
  const url = new URL(location.href);
  url.searchParams.delete("me");
  if (field.value.trim() !== "") {
    url.searchParams.set("me", field.value.trim());
  }
  history.pushState(null, "", url);
  load();
});
window.addEventListener("popstate", load);
let drawnWidth = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width !== drawnWidth) {
    drawnWidth = contentRect.width;
    draw();
  }
}).observe(find(".groups"));
load();
