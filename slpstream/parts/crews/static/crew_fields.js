/** The fields of the set panel with which operators begin, change and end a crew battle. */

import { element, loadStylesheet, make, setAttribute, setText } from "../dom.js";
import { addTexts, text } from "../texts/texts.js";

await Promise.all([addTexts(import.meta.url), loadStylesheet(import.meta, "crew_fields.css")]);

/** @typedef {import("../slpstream_types.js").SetScore} SetScore */

/** The crews that the fields suggest: five players each. */
const USUAL_CREWS = Object.freeze({ crews: [{ name: "", stocks: 20 }, { name: "", stocks: 20 }], stocksPerPlayer: 4 });
const MAX_CREW_STOCKS = 999;
const MAX_PLAYER_STOCKS = 99;

export class CrewFields {
  #root;
  #put;
  #names = [newNameField(), newNameField()];
  #stocks = [newStocksField("crew-stocks", MAX_CREW_STOCKS), newStocksField("crew-stocks", MAX_CREW_STOCKS)];
  #playerStocks = newStocksField("player-stocks", MAX_PLAYER_STOCKS);
  #begin = element("button", "", { class: "crew-begin", type: "button" });
  #end = element("button", text("crews.end"), { class: "crew-end", type: "button" });
  /** Whether the fields have text that was not sent: a button sends all of them together. */
  #areEdited = false;

  /**
   * @param {HTMLDetailsElement} root
   * @param {(field: HTMLInputElement, value: string) => void} put  Shows a value, unless the operator is editing the field.
   * @param {(change: {crewBattle: object | null}) => void} change  Sends a change of the set.
   */
  constructor(root, put, change) {
    this.#root = root;
    this.#put = put;
    const fields = make("div.set-fields");
    this.#names.forEach((name, i) => {
      const number = i + 1;
      const stocks = this.#stocks[i];
      setAttribute(stocks, "aria-label", text("crews.stocks_of", { number }));
      fields.append(labelled("label.wide", text("crews.name", { number }), name), labelled("label", text("crews.stocks"), stocks));
    });
    fields.append(labelled("label", text("crews.player_stocks"), this.#playerStocks));
    root.append(element("summary", text("crews.battle")), fields, make("p.set-buttons", this.#end, this.#begin));
    root.addEventListener("input", () => (this.#areEdited = true));
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.#restore());
    const send = (/** @type {object | null} */ crewBattle) => {
      change({ crewBattle });
      this.#areEdited = false; // from now on, the request that has no response yet keeps the text
    };
    this.#begin.addEventListener("click", () => send(this.#entered()));
    this.#end.addEventListener("click", () => send(null));
  }

  /** @param {SetScore} set */
  draw({ crewBattle, sides = [] }) {
    this.#root.hidden = sides.length !== 2 || sides.some(({ players }) => players.length !== 1);
    setText(this.#begin, text(crewBattle === undefined ? "crews.begin" : "crews.change"));
    this.#end.hidden = crewBattle === undefined;
    if (!this.#areEdited) {
      const { crews, stocksPerPlayer } = crewBattle ?? USUAL_CREWS;
      crews.forEach((crew, i) => {
        this.#put(this.#names[i], crew.name);
        this.#put(this.#stocks[i], String(crew.stocks));
      });
      this.#put(this.#playerStocks, String(stocksPerPlayer));
    }
  }

  #restore() {
    this.#areEdited = false;
    for (const field of [...this.#names, ...this.#stocks, this.#playerStocks]) {
      field.value = field.dataset.shown ?? "";
    }
  }

  /** The crews in the fields, as a change of the set has them. */
  #entered() {
    return {
      crews: this.#names.map(({ value }, i) => ({ name: value.trim(), stocks: Number(this.#stocks[i].value.trim()) })),
      stocksPerPlayer: Number(this.#playerStocks.value),
    };
  }
}

function newNameField() {
  const attributes = { class: "crew-name", maxlength: "60", autocomplete: "off", spellcheck: "false" };
  return /** @type {HTMLInputElement} */ (element("input", "", attributes));
}

/**
 * @param {string} kind  Its class.
 * @param {number} max
 */
function newStocksField(kind, max) {
  const attributes = { class: kind, type: "number", min: "1", max: String(max), inputmode: "numeric" };
  return /** @type {HTMLInputElement} */ (element("input", "", attributes));
}

/**
 * @param {string} kind  Tag and classes of the label.
 * @param {string} words
 * @param {HTMLInputElement} field
 */
function labelled(kind, words, field) {
  return make(kind, element("span", words), " ", field);
}
