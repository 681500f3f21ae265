/** Draws one player of the live scene, changing only what differs. */

import { find, make, setData, setText } from "../dom.js";
import { characterPicture, sponsorLogo } from "../icons/icons.js";
import { arrivals } from "../late.js";
import { colourOf } from "../player_colour.js";
import { damageColour } from "../slippi.js";
import { portText } from "../texts/names.js";
import { language, number, text } from "../texts/texts.js";
import { inkOn, isDark, luminance, parsed, readable } from "./colours.js";
import { fit } from "../fit.js";
import { pointsWords, stocksWords } from "./words.js";

/**
 * @typedef {import("./people.js").Person} Person
 * @typedef {import("./state.js").ShownCombo} ShownCombo
 * @typedef {import("./state.js").Moment} Moment
 *
 * @typedef {object} CardOptions
 * @property {"left" | "right"} side  Side of the overlay.
 * @property {ShownCombo | null} combo
 * @property {number | null} score
 * @property {number} winsNeeded      Games that win the set; 0 if unknown.
 * @property {import("../controller.js").Held | undefined} held
 * @property {boolean} won
 * @property {Moment | null} moment
 * @property {boolean} setPoint
 * @property {boolean} matchPoint     Whether the next stock that the others lose wins the set.
 */

/** More stocks than this are shown as a number. */
const MAX_ICONS = 6;
/** More wins than this are shown as a number only. */
const MAX_PIPS = 5;
/** Damage of a hit with the strongest shake animation. */
const MAX_HIT_PERCENT = 20;
const MIN_CONTRAST_OF_PERCENT = 4.6;

/** An empty card. */
export function makeCard() {
  const line = (/** @type {string} */ name) => make(`p.${name}`, make("bdi"));
  const stocks = make("p.stocks", make("span.icons"), make("span.text"));
  find(".icons", stocks).setAttribute("aria-hidden", "true");
  const who = make(
    "div.who",
    line("sponsor"),
    line("name"),
    make("p.extra", make("span.pronouns"), make("span.seed")),
    make("p.character", make("span.fighter"), make("span.costume")),
    stocks,
  );
  const port = make("span.port", make("span.shape"), make("span.port-label"));
  const swatch = make("span.swatch");
  swatch.setAttribute("aria-hidden", "true");
  const score = make("p.score");
  score.setAttribute("aria-label", text("scene.games_won"));
  const pips = make("span.pips");
  pips.setAttribute("aria-hidden", "true");
  const percent = make("p.percent", make("span.value"), make("span.unit", "%"));
  const card = make("div.card", port, swatch, who, percent, score, pips, make("p.call"));
  const combo = make("p.combo", make("span.hits"), make("span.word", text("scene.hits")), make("span.damage"));
  const controller = document.createElement("controller-display");
  controller.className = "controller";
  return make("li.player", make("div.above", combo, controller), card);
}

/**
 * @param {HTMLElement} card
 * @param {Person} player
 * @param {CardOptions} options
 */
export function drawCard(card, player, { side, combo, score, winsNeeded, held, won, moment, setPoint, matchPoint }) {
  setData(card, "port", String(player.port));
  setData(card, "colour", colourOf(player));
  setData(card, "side", side);
  card.classList.toggle("out", player.stocks === 0);
  card.classList.toggle("won", won);
  card.classList.toggle("match-point", matchPoint);
  drawInk(card);
  setText(find(".port-label", card), portText(player.port));
  drawSponsor(find(".sponsor", card), player.sponsor);
  drawName(find(".name", card), player.tag);
  drawExtra(find(".extra", card), player);
  setText(find(".fighter", card), player.character);
  const costume = find(".costume", card);
  // Costumes have English names only.
  setText(costume, player.costume);
  costume.hidden = ["", "Default"].includes(player.costume) || language !== "en";
  drawPicture(find(".swatch", card), player.characterId, player.costumeIndex);
  drawStocks(find(".stocks", card), player);
  drawPercent(find(".percent", card), player);
  drawCombo(find(".combo", card), combo);
  drawScore(find(".score", card), find(".pips", card), score, winsNeeded);
  drawCall(card, moment, setPoint, won);
  if (held !== undefined) {
    /** @type {import("../controller.js").ControllerDisplay} */ (find("controller-display", card)).show(held);
  }
}

/** The state that colours depend on: the theme and the number of stylesheets, the last of which is the user's. */
function appearance() {
  return `${document.documentElement.dataset.theme}/${document.styleSheets.length}`;
}

/**
 * The colour of text on the port's colour. A stylesheet can change that colour, so it is read from the page.
 * @param {HTMLElement} card
 */
export function drawInk(card) {
  const key = `${card.dataset.colour}/${appearance()}`;
  if (card.dataset.inked !== key) {
    card.dataset.inked = key;
    const colour = parsed(getComputedStyle(card).getPropertyValue("--port")).rgb;
    card.style.setProperty("--port-ink", inkOn(colour));
  }
}

/**
 * @param {HTMLElement} line
 * @param {string} name
 */
export function drawName(line, name) {
  line.hidden = name === "";
  const content = /** @type {HTMLElement} */ (line.firstElementChild);
  if (content.textContent !== name || line.dataset.fitted === undefined) {
    setText(content, name);
    fit(line);
  }
}

/**
 * The logo of a sponsor, or its name if there is none.
 * @param {HTMLElement} line
 * @param {string} sponsor
 */
export function drawSponsor(line, sponsor) {
  const key = `${sponsor}/${arrivals()}`;
  if (line.dataset.key === key) {
    return;
  }
  line.dataset.key = key;
  const logo = sponsorLogo(sponsor);
  const showName = () => {
    line.classList.remove("logo");
    line.replaceChildren(make("bdi"));
    drawName(line, sponsor);
  };
  if (logo === null) {
    showName();
    return;
  }
  logo.addEventListener("error", showName, { once: true }); // the file has been removed since the page was loaded
  line.classList.add("logo");
  line.replaceChildren(logo);
  line.hidden = false;
}

/**
 * @param {HTMLElement} line
 * @param {Person} player
 */
export function drawExtra(line, { pronouns, seed }) {
  line.hidden = pronouns === "" && seed === null;
  setText(find(".pronouns", line), pronouns);
  setText(find(".seed", line), seed === null ? "" : text("scene.seed", { seed: String(seed) }));
}

/**
 * @param {HTMLElement} box
 * @param {number} characterId
 * @param {number} costumeIndex
 */
export function drawPicture(box, characterId, costumeIndex) {
  const key = `${characterId}/${costumeIndex}/${arrivals()}`;
  if (box.dataset.key !== key) {
    box.dataset.key = key;
    box.replaceChildren(characterPicture(characterId, costumeIndex));
  }
}

/**
 * The stocks, or the score in a game without stocks.
 * @param {HTMLElement} line
 * @param {Person} player
 */
function drawStocks(line, { stocks, startStocks, points }) {
  line.hidden = stocks === null && points === null;
  line.classList.toggle("points", points !== null);
  const key = points === null ? `${stocks}/${startStocks}` : `${points} points`;
  if (points !== null && line.dataset.key !== key) {
    line.dataset.key = key;
    setText(find(".text", line), pointsWords(points));
    find(".icons", line).replaceChildren(pointsWords(points));
  }
  if (stocks === null || line.dataset.key === key) {
    return;
  }
  line.dataset.key = key;
  line.dataset.stocks = String(stocks);
  setText(find(".text", line), stocksWords(stocks));
  const total = Math.max(stocks, startStocks);
  const icons = total > MAX_ICONS ? [icon(stocks === 0), `× ${number(stocks)}`] : discs(stocks, total);
  find(".icons", line).replaceChildren(...icons);
}

/**
 * @param {number} stocks
 * @param {number} total
 */
function discs(stocks, total) {
  return Array.from({ length: total }, (_, i) => icon(i >= stocks));
}

/** @param {boolean} lost */
function icon(lost) {
  return make(lost ? "span.icon.lost" : "span.icon");
}

/**
 * @param {HTMLElement} line
 * @param {Person} player
 */
function drawPercent(line, { percent }) {
  line.hidden = percent === undefined;
  const shown = percent === undefined || percent === null ? "–" : String(percent);
  const value = find(".value", line);
  const key = `${shown}/${appearance()}`;
  if (line.dataset.drawn === key) {
    return;
  }
  line.dataset.drawn = key;
  const hit = percent === undefined || percent === null ? 0 : percent - Number(value.textContent || Infinity);
  if (hit > 0) {
    line.style.setProperty("--force", String(Math.min(1, 0.35 + hit / MAX_HIT_PERCENT).toFixed(2)));
    restartAnimation(line, "hit");
  }
  setText(value, shown);
  line.style.setProperty("--damage", readable(parsed(damageColour(percent ?? null)).rgb, panelColour(), MIN_CONTRAST_OF_PERCENT));
}

/** @type {{key: string, rgb: import("./colours.js").Rgb}} */
let panel = { key: "", rgb: [0, 0, 0] };

/**
 * The colour behind the percents: the end of the panel's gradient that is harder to read on. The panel is opaque, so that
 * the game's own figures do not show through.
 */
function panelColour() {
  const key = appearance();
  if (panel.key !== key) {
    const style = getComputedStyle(document.documentElement);
    const ends = ["--solid", "--solid-deep"].map((name) => parsed(style.getPropertyValue(name)).rgb);
    ends.sort((a, b) => luminance(a) - luminance(b));
    panel = { key, rgb: isDark(ends[0]) ? ends[1] : ends[0] };
  }
  return panel.rgb;
}

/**
 * @param {HTMLElement} tag
 * @param {ShownCombo | null} combo
 */
function drawCombo(tag, combo) {
  tag.classList.toggle("shown", combo !== null);
  if (combo === null) {
    setData(tag, "hits", "");
    return; // the text stays while the element fades out
  }
  tag.classList.toggle("ended", combo.ended);
  if (tag.dataset.hits !== String(combo.hits)) {
    setData(tag, "hits", String(combo.hits));
    setText(find(".hits", tag), String(combo.hits));
    restartAnimation(tag, "bump");
  }
  setText(find(".damage", tag), `${Math.floor(combo.damage)}%`);
}

/**
 * @param {HTMLElement} box
 * @param {HTMLElement} pips
 * @param {number | null} score
 * @param {number} winsNeeded
 */
export function drawScore(box, pips, score, winsNeeded) {
  const shown = score === null ? "" : String(score);
  if (box.textContent !== "" && shown !== "" && box.textContent !== shown) {
    restartAnimation(box, "bump");
  }
  box.hidden = score === null;
  setText(box, shown);
  const count = score === null || winsNeeded > MAX_PIPS ? 0 : winsNeeded;
  pips.hidden = count === 0;
  const key = `${score}/${count}`;
  if (pips.dataset.key !== key) {
    pips.dataset.key = key;
    pips.replaceChildren(...Array.from({ length: count }, (_, i) => make(i < (score ?? 0) ? "span.pip.won" : "span.pip")));
  }
}

/**
 * Draws the call of the card: a KO, a lost stock, that the game was won, or that the next one wins the set.
 * @param {HTMLElement} card
 * @param {Moment | null} moment
 * @param {boolean} setPoint
 * @param {boolean} won
 */
function drawCall(card, moment, setPoint, won) {
  const call = find(".call", card);
  const kind = moment?.kind ?? (won ? "won" : setPoint ? "set-point" : "");
  const key = moment === null ? kind : `${kind}/${moment.at}`;
  if (call.dataset.key === key) {
    return;
  }
  call.dataset.key = key;
  setData(card, "call", kind);
  const percent = moment?.percent === null || moment?.percent === undefined ? "" : `${Math.floor(moment.percent)}%`;
  switch (kind) {
    case "ko":
      call.replaceChildren(make("strong", text("scene.ko")), make("span", percent));
      break;
    case "stock":
      call.replaceChildren(make("span", text("scene.stock_lost")));
      break;
    case "won":
      call.replaceChildren(make("strong", text("scene.winner")));
      break;
    case "set-point":
      call.replaceChildren(make("strong", text("scene.set_point")));
      break;
    default:
      call.replaceChildren();
  }
  if (kind !== "") {
    restartAnimation(card, "called");
  }
}

/**
 * Restarts an animation. CSS restarts it only when its name changes, so there are two names for each animation.
 * @param {HTMLElement} element
 * @param {string} name
 */
function restartAnimation(element, name) {
  const playing = element.classList.contains(name);
  element.classList.toggle(name, !playing);
  element.classList.toggle(`${name}-again`, playing);
}
