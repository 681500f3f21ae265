/**
 * The set of a station, for operators: names, score, length, which games count, a new set.
 *
 * What is changed is said to the daemon at once, and the panel shows what the daemon makes of it: there is nothing to save.
 * A field that somebody is writing into is left alone.
 */

import { stageOf, teamOf } from "../slippi.js";
import { colourOf, clone, element, fill, find, setAttribute, setText } from "./dom.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("../slpstream_types.js").SetSide} SetSide
 * @typedef {import("../slpstream_types.js").SetGame} SetGame
 * @typedef {import("../slpstream_types.js").SetPlayer} SetPlayer
 */

const LENGTHS = [1, 3, 5, 7, 9, 11];
const REFUSED = [401, 403];
const ASK_AGAIN_MS = 3000;
const STATES = { upcoming: "has not begun", running: "is being played", over: "is over" };

export class SetPanel {
  #root;
  #path;
  #onChange;
  /** @type {Daemon | null} */ #daemon = null;
  /** As it was answered, until the stream says it. @type {SetScore | null} */ #set = null;
  #askedAt = -Infinity;
  #problem = "";

  /**
   * @param {HTMLElement} root
   * @param {string} station
   * @param {() => void} onChange
   */
  constructor(root, station, onChange) {
    this.#root = root;
    this.#path = `v1/stations/${encodeURIComponent(station)}/set`;
    this.#onChange = onChange;
    this.#bestOf.addEventListener("change", () => this.#say({ bestOf: Number(this.#bestOf.value) }));
    find(".new", root).addEventListener("click", () => this.#say({ newSet: true }));
  }

  /**
   * The set, when that game is part of it; else names and score would be of others.
   * @param {string | undefined} gameId
   */
  scoreOf(gameId) {
    const set = this.#set;
    const ours = set?.games === undefined || set.gameId === undefined || set.games.some((game) => game.gameId === gameId);
    return ours ? set : null;
  }

  /**
   * @param {Daemon} daemon
   * @param {SetScore | null} set  As the stream says it.
   */
  draw(daemon, set) {
    this.#daemon = daemon;
    this.#set = set ?? this.#set;
    if (this.#set === null) {
      this.#ask();
    }
    this.#root.hidden = this.#set?.sides === undefined;
    if (this.#set?.sides !== undefined) {
      this.#show(this.#set);
    }
    const problem = find(".problem", this.#root);
    problem.hidden = this.#problem === "";
    setText(problem, this.#problem);
  }

  /** @returns {HTMLSelectElement} */
  get #bestOf() {
    return /** @type {HTMLSelectElement} */ (find(".best-of", this.#root));
  }

  // -- drawing ----------------------------------------------------------------------------------------------------------

  /** @param {SetScore} set */
  #show(set) {
    const { sides = [], games = [], players, state = "running", winner, bestOf = 3 } = set;
    const won = winner === undefined ? "" : ` · ${sideName(sides[winner], players)} wins`;
    setText(find(".standing", this.#root), `The set ${STATES[state]}${won}`);
    const lengths = LENGTHS.includes(bestOf) ? LENGTHS : [...LENGTHS, bestOf].sort((a, b) => a - b);
    fill(this.#bestOf, lengths, () => element("option"), (option, length) => setText(option, String(length)));
    if (document.activeElement !== this.#bestOf) {
      this.#bestOf.value = String(bestOf);
    }
    fill(find(".sides", this.#root), sides, () => this.#newSide(), (row, side) => {
      const members = players.filter(({ playerIndex }) => side.players.includes(playerIndex ?? -1));
      this.#showSide(row, side, members);
    });
    fill(find(".set-games", this.#root), games, () => this.#newGame(), (row, game, i) => {
      showGame(row, game, set, (set.olderGames ?? 0) + i + 1);
    });
  }

  #newSide() {
    const row = clone("set-side");
    for (const [button, step] of /** @type {const} */ ([[".less", -1], [".more", 1]])) {
      find(button, row).addEventListener("click", () => {
        const score = Number(row.dataset.score) + step;
        if (score >= 0) {
          this.#say({ score: { [row.dataset.index ?? ""]: score } });
        }
      });
    }
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {SetSide} side
   * @param {SetPlayer[]} members
   */
  #showSide(row, side, members) {
    const name = sideName(side, members);
    row.dataset.index = String(side.players[0]);
    row.dataset.score = String(side.score);
    row.dataset.colour = colourOf({ team: teamOf(members[0]?.team), port: members[0]?.port ?? 1 });
    fill(find(".names", row), members, () => this.#newName(), (field, member) => showName(field, member));
    const points = find(".points", row);
    setText(points, String(side.score));
    setAttribute(points, "aria-label", `Games won by ${name}`);
    setAttribute(find(".less", row), "aria-label", `One game less for ${name}`);
    setAttribute(find(".more", row), "aria-label", `One game more for ${name}`);
    /** @type {HTMLButtonElement} */ (find(".less", row)).disabled = side.score === 0;
  }

  #newName() {
    const field = /** @type {HTMLInputElement} */ (element("input", "", { maxlength: "60", spellcheck: "false", autocomplete: "off" }));
    field.addEventListener("change", () => this.#say({ names: { [field.dataset.index ?? ""]: field.value.trim() || null } }));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        field.blur();
      }
    });
    return field;
  }

  #newGame() {
    const row = clone("set-game");
    find(".toggle", row).addEventListener("click", () => {
      this.#say({ games: { [row.dataset.game ?? ""]: { counts: row.dataset.counts !== "true" } } });
    });
    return row;
  }

  // -- saying -----------------------------------------------------------------------------------------------------------

  /** @param {Record<string, any>} patch */
  async #say(patch) {
    await this.#answered((daemon) => daemon.say(this.#path, patch));
  }

  /** Before the first game nobody speaks of a set. */
  async #ask() {
    if (performance.now() - this.#askedAt > ASK_AGAIN_MS) {
      this.#askedAt = performance.now();
      await this.#answered((daemon) => daemon.ask(this.#path));
    }
  }

  /** @param {(daemon: Daemon) => Promise<{status: number, body: Record<string, any>}>} asking */
  async #answered(asking) {
    if (this.#daemon === null) {
      return;
    }
    try {
      const { status, body } = await asking(this.#daemon);
      const refused = REFUSED.includes(status) ? "Only operators may change sets: open this page with their ?token=." : "";
      this.#problem = status === 200 ? "" : refused || body.detail;
      this.#set = status === 200 ? /** @type {SetScore} */ (body) : this.#set;
    } catch {
      this.#problem = "The daemon does not answer.";
    }
    this.#onChange();
  }
}

/**
 * @param {HTMLElement} field
 * @param {SetPlayer} member
 */
function showName(field, { playerIndex, port, name = "", namedByOperator = false, netplayName, tag }) {
  const input = /** @type {HTMLInputElement} */ (field);
  input.dataset.index = String(playerIndex);
  setAttribute(input, "aria-label", `Name of the player at port ${port}`);
  setAttribute(input, "placeholder", netplayName || tag || `Port ${port}`);
  const value = namedByOperator ? name : "";
  if (document.activeElement !== input && input.value !== value) {
    input.value = value;
  }
}

/**
 * @param {HTMLElement} row
 * @param {SetGame} game
 * @param {SetScore} set
 * @param {number} number
 */
function showGame(row, game, set, number) {
  row.dataset.game = game.gameId;
  row.dataset.counts = String(game.counts);
  row.dataset.verdict = game.verdict;
  const side = game.winner === undefined ? undefined : set.sides?.[game.winner];
  const who = side === undefined ? "" : sideName(side, set.players);
  const what = [`Game ${number}`, stageOf(game.stageId), who && (game.counts ? `${who} won` : who)];
  setText(find(".what", row), what.filter(Boolean).join(" · "));
  const plain = game.counts || game.verdict === "playing";
  setText(find(".why", row), plain ? game.reason : `does not count: ${game.reason}`);
  const toggle = find(".toggle", row);
  toggle.hidden = game.verdict === "playing" || (!game.counts && side === undefined);
  setText(toggle, game.counts ? "Does not count" : "Counts");
  setAttribute(toggle, "aria-label", `Game ${number} ${game.counts ? "does not count" : "counts"}`);
}

/**
 * @param {SetSide} side
 * @param {SetPlayer[]} players
 */
function sideName(side, players) {
  const members = players.filter(({ playerIndex }) => side.players.includes(playerIndex ?? -1));
  return side.name ?? members.map(({ name, port }) => name ?? `Port ${port}`).join(" & ");
}
