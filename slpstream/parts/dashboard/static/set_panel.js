/**
 * The panel in which operators correct the set of a station, with the list of their changes.
 *
 * Each change is sent to the daemon immediately, and the panel displays the daemon's response, so there is nothing to save.
 * `keys` are the keys 1 and 2, which add a game to the side that is drawn on the left or right.
 * Changes by other operators appear as they are made, except in a field that is being edited.
 */

import { ROOT } from "../api.js";
import { clone, element, fill, find, setAttribute, setText } from "../dom.js";
import { colourOf } from "../player_colour.js";
import { stageOf, teamOf } from "../slippi.js";
import { fillTexts, text } from "../texts/texts.js";
import { ChangeList } from "./change_list.js";
import { partModule } from "./part_module.js";
import { SetRequests } from "./set_requests.js";
import { reasonOf, sideName } from "./set_words.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("../slpstream_types.js").SetSide} SetSide
 * @typedef {import("../slpstream_types.js").SetGame} SetGame
 * @typedef {import("../slpstream_types.js").SetPlayer} SetPlayer
 * @typedef {HTMLInputElement | HTMLSelectElement} Field
 *
 * @typedef {object} CrewFields  The fields of the part `crews`.
 * @property {(set: SetScore) => void} draw
 */

/** The lengths of most sets are the first choices. */
const USUAL_LENGTHS = [1, 3, 5, 7];
const MAX_LENGTH = 99;
/** Each of two sides has a key. */
const KEYED_SIDES = 2;
const LENGTHS = [...new Set([...USUAL_LENGTHS, ...Array.from({ length: MAX_LENGTH }, (_, i) => i + 1)])];
const SEPARATOR = /[,、，;]/u;
const DETAILS = /** @type {const} */ (["sponsor", "pronouns", "seed"]);

export class SetPanel {
  #root;
  #requests;
  #onChange;
  #changes;
  /** @type {Daemon | null} */ #daemon = null;
  /** The fields of crew battles; `null` without the part `crews`, and `undefined` until it is known. @type {CrewFields | null | undefined} */
  #crewFields;

  /**
   * @param {HTMLElement} root
   * @param {string} station
   * @param {() => void} onChange
   */
  constructor(root, station, onChange) {
    this.#root = root;
    this.#onChange = onChange;
    const requests = new SetRequests(station, onChange, (before, after) => this.#changes.made(before, after));
    this.#requests = requests;
    fillTexts(root);
    this.#changes = new ChangeList(find(".changes", root), `${requests.path}/changes`, (change) => requests.undo(change), onChange);
    this.#bestOf.addEventListener("change", () => this.#change({ bestOf: Number(this.#bestOf.value) }));
    find(".new", root).addEventListener("click", () => this.#askForNewSet());
    find(".swap", root).addEventListener("click", () => this.#change({ swapped: !this.set?.swapped }));
    this.#whenEdited(this.#input(".round"), (value) => ({ round: value || null }));
    this.#whenEdited(this.#input(".event"), (value) => ({ event: value || null }));
    this.#whenEdited(this.#input(".casters"), (value) => ({ casters: castersIn(value) }));
    this.#loadCrewFields();
    const operator = this.#input(".operator");
    operator.value = requests.by;
    operator.addEventListener("input", () => requests.rememberOperator(operator.value.trim()));
    root.addEventListener("keydown", (event) => stopEscape(event));
  }

  /** The newest set of the station; `null` until it has arrived. */
  get set() {
    return this.#requests.set;
  }

  /** What the keys do. */
  get keys() {
    return { 1: () => this.#press("left"), 2: () => this.#press("right") };
  }

  /** Presses the button that adds a game to a side. @param {string} place */
  #press(place) {
    const sides = /** @type {HTMLElement[]} */ ([...find(".sides", this.#root).children]);
    if (!this.#root.hidden && sides.length === KEYED_SIDES) {
      sides.filter((side) => side.dataset.place === place).forEach((side) => find(".more", side).click());
    }
  }

  /** Whether the panel is complete. */
  get hasArrived() {
    return this.set !== null && this.#crewFields !== undefined;
  }

  /**
   * @param {Daemon} daemon
   * @param {SetScore | null} set  The set from the stream.
   * @param {boolean} withChanges
   */
  draw(daemon, set, withChanges) {
    this.#daemon = daemon;
    this.#requests.draw(daemon, set);
    const shown = this.set;
    this.#root.hidden = shown?.sides === undefined;
    if (shown?.sides !== undefined) {
      this.#show(shown);
      if (withChanges) {
        this.#changes.draw(daemon, shown);
      }
    }
    const problem = find(".set-problem", this.#root);
    problem.hidden = this.#requests.problem === "";
    setText(find(".words", problem), this.#requests.problem);
    find(".to-login", problem).hidden = !this.#requests.isRefused;
  }

  async #loadCrewFields() {
    const part = await partModule("crews/crew_fields.js");
    const put = (/** @type {Field} */ field, /** @type {string} */ value) => this.#put(field, value);
    const change = (/** @type {Record<string, any>} */ patch) => this.#change(patch);
    this.#crewFields = part === null ? null : new part.CrewFields(find(".crew-battle", this.#root), put, change);
    this.#onChange();
  }

  /** @returns {HTMLSelectElement} */
  get #bestOf() {
    return /** @type {HTMLSelectElement} */ (find(".best-of", this.#root));
  }

  /** @param {string} selector */
  #input(selector) {
    return /** @type {HTMLInputElement} */ (find(selector, this.#root));
  }

  /** @param {SetScore} set */
  #show(set) {
    const { sides = [], games = [], players, state = "running", winner, bestOf = 3, swapped = false } = set;
    const won = winner === undefined ? "" : ` · ${text("panel.wins", { who: sideName(sides[winner], players) })}`;
    setText(find(".standing", this.#root), `${text(`panel.state_${state}`)}${won}`);
    fill(this.#bestOf, LENGTHS, () => element("option"), (option, length) => setText(option, String(length)));
    this.#put(this.#bestOf, String(bestOf));
    this.#bestOf.disabled = set.crewBattle !== undefined;
    this.#put(this.#input(".round"), set.round ?? "");
    this.#put(this.#input(".event"), set.event ?? "");
    this.#put(this.#input(".casters"), (set.casters ?? []).join(", "));
    this.#offerReplays(set);
    this.#crewFields?.draw(set);
    const swap = find(".swap", this.#root);
    swap.hidden = sides.length !== 2;
    setAttribute(swap, "aria-pressed", String(swapped));
    fill(find(".sides", this.#root), sides, () => this.#newSide(), (row, side, place) => {
      const members = players.filter(({ playerIndex }) => side.players.includes(playerIndex ?? -1));
      const isLeft = (place === 0) !== swapped;
      row.dataset.side = String(place);
      row.dataset.place = sides.length === 2 && !isLeft ? "right" : "left";
      setText(find(".place", row), sides.length === 2 ? text(isLeft ? "panel.left" : "panel.right") : "");
      setAttribute(find(".more", row), "aria-keyshortcuts", sides.length === KEYED_SIDES ? (isLeft ? "1" : "2") : "");
      this.#showSide(row, side, members, set.crewBattle !== undefined);
    });
    const list = find(".set-games", this.#root);
    list.hidden = games.length === 0;
    fill(list, games, () => this.#newGame(), (row, game, i) => this.#showGame(row, game, set, i));
  }

  /** @param {SetScore} set */
  #offerReplays({ setId }) {
    const link = find(".replays", this.#root);
    link.hidden = setId === undefined || this.#daemon === null || this.#daemon.isGateway;
    if (this.#daemon !== null && setId !== undefined) {
      const url = new URL(`${this.#requests.path}s/${encodeURIComponent(setId)}/replays.zip`, ROOT);
      if (this.#daemon.api.token !== undefined) {
        url.searchParams.set("token", this.#daemon.api.token);
      }
      setAttribute(link, "href", url.href);
    }
  }

  #newSide() {
    const row = clone("set-side");
    fillTexts(row);
    for (const [button, step] of /** @type {const} */ ([[".less", -1], [".more", 1]])) {
      find(button, row).addEventListener("click", () => {
        const side = this.set?.sides?.[Number(row.dataset.side)];
        if (side !== undefined) {
          this.#requests.addScore(side, step);
        }
      });
    }
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {SetSide} side
   * @param {SetPlayer[]} members
   * @param {boolean} isCrew
   */
  #showSide(row, side, members, isCrew) {
    const name = sideName(side, members);
    const score = this.#requests.scoreOf(side);
    row.dataset.colour = colourOf({ team: teamOf(members[0]?.team), port: members[0]?.port ?? 1 });
    fill(find(".names", row), members, () => this.#newPlayer(), (fields, member) => this.#showPlayer(fields, member));
    const points = find(".points", row);
    setText(points, String(score));
    setAttribute(points, "aria-label", text(isCrew ? "panel.stocks_left" : "panel.games_won", { who: name }));
    for (const [button, words] of [[".less", isCrew ? "panel.fewer_stocks" : "panel.less"], [".more", isCrew ? "panel.more_stocks" : "panel.more"]]) {
      const pressed = find(button, row);
      setAttribute(pressed, "aria-label", `${pressed.textContent}: ${text(words, { who: name })}`);
    }
    /** @type {HTMLButtonElement} */ (find(".less", row)).disabled = score === 0;
  }

  #newPlayer() {
    const fields = clone("set-player");
    fillTexts(fields);
    const name = /** @type {HTMLInputElement} */ (find(".name", fields));
    this.#whenEdited(name, (value) => ({ names: { [name.dataset.index ?? ""]: value || null } }));
    for (const detail of DETAILS) {
      const field = /** @type {HTMLInputElement} */ (find(`.${detail}`, fields));
      this.#whenEdited(field, (value) => {
        const said = detail === "seed" ? Number(value) || null : value || null;
        return { players: { [field.dataset.index ?? ""]: { [detail]: said } } };
      });
    }
    return fields;
  }

  /**
   * @param {HTMLElement} fields
   * @param {SetPlayer} player
   */
  #showPlayer(fields, player) {
    const { playerIndex, port = 1, name = "", namedByOperator = false, seatName, netplayName, tag } = player;
    const values = {
      name: namedByOperator ? name : "",
      sponsor: player.sponsor ?? "",
      pronouns: player.pronouns ?? "",
      seed: String(player.seed ?? ""),
    };
    for (const [what, value] of Object.entries(values)) {
      const input = /** @type {HTMLInputElement} */ (find(`.${what}`, fields));
      if (this.#put(input, value)) {
        input.dataset.index = String(playerIndex);
        setAttribute(input, "aria-label", text(`panel.${what}_of`, { port }));
      }
    }
    setAttribute(find(".name", fields), "placeholder", seatName || netplayName || tag || text("panel.port", { port }));
  }

  #newGame() {
    const row = clone("set-game");
    fillTexts(row);
    const winner = /** @type {HTMLSelectElement} */ (find(".winner", row));
    winner.addEventListener("change", () => {
      const index = winner.value === "" ? null : Number(winner.value);
      this.#change({ games: { [winner.dataset.game ?? ""]: { winner: index } } });
    });
    find(".sides-swapped", row).addEventListener("click", () => {
      const { game = "", sides = "null" } = row.dataset;
      this.#change({ games: { [game]: { sides: JSON.parse(sides) } } });
    });
    find(".toggle", row).addEventListener("click", () => {
      const { game = "", counts, number = "" } = row.dataset;
      const change = { games: { [game]: { counts: counts !== "true" } } };
      if (counts === "true") {
        this.#ask("panel.ask_dont_count", "panel.dont_count_lost", "panel.dont_count", change, { number });
      } else {
        this.#change(change);
      }
    });
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {SetGame} game
   * @param {SetScore} set
   * @param {number} i
   */
  #showGame(row, game, set, i) {
    const { sides = [], players } = set;
    const number = (set.olderGames ?? 0) + i + 1;
    row.dataset.game = game.gameId;
    row.dataset.counts = String(game.counts);
    row.dataset.verdict = game.verdict;
    row.dataset.number = String(number);
    const side = game.winner === undefined ? undefined : sides[game.winner];
    const winner = side === undefined ? "" : sideName(side, players);
    const won = winner && (game.counts ? text("panel.won", { who: winner }) : winner);
    const turns = set.crewBattle === undefined ? won : game.players.map(turnOf).join(" – ");
    setText(find(".what", row), [text("panel.game", { number }), stageOf(game.stageId), turns].filter(Boolean).join(" · "));
    const accepted = game.counts || game.verdict === "playing";
    setText(find(".why", row), accepted ? reasonOf(game) : text("panel.not_counted", { reason: reasonOf(game) }));

    const choice = /** @type {HTMLSelectElement} */ (find(".winner", row));
    const decided = game.operator?.winner;
    const options = [
      { value: "", name: text("panel.automatic") },
      ...sides.map((each, place) => ({ value: String(playerOn(game, place) ?? ""), name: sideName(each, players) })),
    ].filter(({ value }, place) => place === 0 || value !== "");
    fill(choice, options, () => element("option"), (option, { value, name }) => {
      setAttribute(option, "value", value);
      setText(option, name);
    });
    const decidedSide = game.players.find(({ playerIndex }) => playerIndex === decided)?.side;
    const chosen = decidedSide === undefined ? "" : String(playerOn(game, decidedSide) ?? "");
    if (this.#put(choice, chosen)) {
      choice.dataset.game = game.gameId;
      setAttribute(choice, "aria-label", text("panel.winner_of", { number }));
    }

    this.#showKeptStocks(row, game, number);

    // Names in the replays identify the players. Without names, the operator can know better.
    const swap = find(".sides-swapped", row);
    const isNamed = players.some(({ connectCode, netplayName }) => connectCode || netplayName);
    swap.hidden = sides.length !== 2 || isNamed;
    const swapped = Object.fromEntries(game.players.map(({ playerIndex, side: place }) => [playerIndex, 1 - place]));
    row.dataset.sides = JSON.stringify(game.operator?.sides === undefined ? swapped : null);
    setAttribute(swap, "aria-pressed", String(game.operator?.sides !== undefined));
    setAttribute(swap, "aria-label", text("panel.swap_sides_of", { number }));

    const toggle = find(".toggle", row);
    toggle.hidden = game.verdict === "playing" || (!game.counts && side === undefined);
    setText(toggle, text(game.counts ? "panel.dont_count" : "panel.count"));
    setAttribute(toggle, "aria-label", text(game.counts ? "panel.dont_count_game" : "panel.count_game", { number }));
  }

  /**
   * Shows a field for the stocks that each player of a crew battle has kept.
   * @param {HTMLElement} row
   * @param {SetGame} game
   * @param {number} number
   */
  #showKeptStocks(row, game, number) {
    const kept = find(".kept", row);
    const players = game.players.filter(({ keptStocks }) => keptStocks !== undefined);
    kept.hidden = players.length === 0;
    fill(kept, players, () => this.#newStocksField(), (field, player) => {
      const input = /** @type {HTMLInputElement} */ (field);
      if (this.#put(input, String(player.keptStocks))) {
        input.dataset.game = game.gameId;
        input.dataset.index = String(player.playerIndex);
        const who = player.name ?? text("panel.port", { port: player.port });
        setAttribute(input, "aria-label", text("panel.kept_stocks_of", { who, number }));
      }
    });
  }

  #newStocksField() {
    const input = document.createElement("input");
    Object.assign(input, { type: "number", min: "0", max: "99", inputMode: "numeric", className: "kept-stocks" });
    this.#whenEdited(input, (value) => {
      const { game = "", index = "" } = input.dataset;
      return { games: { [game]: { stocks: { [index]: value === "" ? null : Number(value) } } } };
    });
    return input;
  }

  /**
   * Shows a value in a field, unless the operator is editing it. Returns whether the value is shown.
   * @param {Field} field
   * @param {string} value
   */
  #put(field, value) {
    const { shown, sent } = field.dataset;
    const isEdited = shown !== undefined && field.value !== shown;
    const isTyping = document.activeElement === field && field.value !== sent;
    if (isEdited && (isTyping || this.#requests.pending > 0 || this.#requests.isCutOff)) {
      return false;
    }
    delete field.dataset.sent;
    field.dataset.shown = value;
    if (field.value !== value) {
      field.value = value;
    }
    return true;
  }

  /**
   * Sends a change when the text of a field has been edited. Escape restores the text.
   * @param {HTMLInputElement} field
   * @param {(value: string) => Record<string, any>} patchOf
   */
  #whenEdited(field, patchOf) {
    field.addEventListener("change", () => {
      if (field.value.trim() !== field.dataset.shown) {
        field.dataset.sent = field.value;
        this.#change(patchOf(field.value.trim()));
      }
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) {
        field.blur();
        field.focus();
      } else if (event.key === "Escape") {
        field.value = field.dataset.shown ?? "";
      }
    });
  }

  #askForNewSet() {
    const { sides = [], players = [], games = [] } = this.set ?? {};
    if (games.length === 0) {
      this.#change({ newSet: true });
      return;
    }
    const score = sides.map((side) => `${sideName(side, players)} ${side.score}`).join(" – ");
    this.#ask("panel.ask_new_set", "panel.new_set_lost", "panel.new_set", { newSet: true }, { score });
  }

  /**
   * Asks before a change that removes something from view.
   * @param {string} question
   * @param {string} consequence
   * @param {string} button
   * @param {Record<string, any>} change
   * @param {Record<string, string | number>} values
   */
  #ask(question, consequence, button, change, values) {
    const dialog = /** @type {HTMLDialogElement} */ (find(".confirm", this.#root));
    setText(find(".question", dialog), text(question, values));
    setText(find(".consequence", dialog), text(consequence, values));
    setText(find(".yes", dialog), text(button, values));
    dialog.returnValue = "";
    dialog.addEventListener("close", () => dialog.returnValue === "yes" && this.#change(change), { once: true });
    dialog.showModal();
  }

  /** @param {Record<string, any>} patch */
  #change(patch) {
    return this.#requests.change(patch);
  }
}

/**
 * The index of a player on a side in a game.
 * @param {SetGame} game
 * @param {number} place
 */
function playerOn(game, place) {
  return game.players.find(({ side }) => side === place)?.playerIndex;
}

/**
 * A player's part in a game of a crew battle: the stocks before and after it.
 * @param {SetGame["players"][number]} player
 */
function turnOf({ name, port, enteredStocks = 0, keptStocks }) {
  const who = name ?? text("panel.port", { port });
  return keptStocks === undefined
    ? text("panel.crew_turn_open", { who, entered: enteredStocks })
    : text("panel.crew_turn", { who, entered: enteredStocks, kept: keptStocks });
}

/** @param {string} value */
function castersIn(value) {
  return value.split(SEPARATOR).map((name) => name.trim()).filter(Boolean);
}

/** Escape belongs to the field or the dialog that has the focus; elsewhere it closes the details. @param {KeyboardEvent} event */
function stopEscape(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && target.closest("input, select, dialog") !== null) {
    event.stopPropagation();
  }
}
