/**
 * The panel in which operators correct the set of a station: names, score, length, and which games count.
 *
 * Each change is sent to the daemon at once, and the panel displays the daemon's response, so there is nothing to save. A
 * field with the focus is not overwritten.
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
const NOT_OPERATOR = "Only operators can change sets: open this page with ?token=OPERATOR_TOKEN";
const RETRY_MS = 3000;
const STATES = { upcoming: "has not started", running: "is in progress", over: "is over" };

export class SetPanel {
  #root;
  #path;
  #onChange;
  /** @type {Daemon | null} */ #daemon = null;
  /** From the stream, or from the last response. @type {SetScore | null} */ #set = null;
  #loadedAt = -Infinity;
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
    this.#bestOf.addEventListener("change", () => this.#change({ bestOf: Number(this.#bestOf.value) }));
    find(".new", root).addEventListener("click", () => this.#change({ newSet: true }));
  }

  /**
   * The set, if the game belongs to it; otherwise its names and score are not those of the game.
   * @param {string | undefined} gameId
   */
  scoreOf(gameId) {
    const set = this.#set;
    const { games, gameId: newest } = set ?? {};
    const ids = games?.flatMap((game) => [game, ...(game.suddenDeaths ?? [])]).map((game) => game.gameId);
    return ids === undefined || newest === undefined || ids.includes(gameId ?? "") ? set : null;
  }

  /**
   * @param {Daemon} daemon
   * @param {SetScore | null} set  The set from the stream.
   */
  draw(daemon, set) {
    this.#daemon = daemon;
    this.#set = set ?? this.#set;
    if (this.#set === null) {
      this.#load();
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
          this.#change({ score: { [row.dataset.index ?? ""]: score } });
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
    setAttribute(find(".less", row), "aria-label", `Remove a game from ${name}`);
    setAttribute(find(".more", row), "aria-label", `Add a game to ${name}`);
    /** @type {HTMLButtonElement} */ (find(".less", row)).disabled = side.score === 0;
  }

  #newName() {
    const field = /** @type {HTMLInputElement} */ (element("input", "", { maxlength: "60", spellcheck: "false", autocomplete: "off" }));
    field.addEventListener("change", () => this.#change({ names: { [field.dataset.index ?? ""]: field.value.trim() || null } }));
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
      this.#change({ games: { [row.dataset.game ?? ""]: { counts: row.dataset.counts !== "true" } } });
    });
    return row;
  }

  /** @param {Record<string, any>} patch */
  async #change(patch) {
    await this.#request((daemon) => daemon.patch(this.#path, patch));
  }

  /** Loads the set, because the stream has none before the first game. */
  async #load() {
    if (performance.now() - this.#loadedAt > RETRY_MS) {
      this.#loadedAt = performance.now();
      await this.#request((daemon) => daemon.get(this.#path));
    }
  }

  /** @param {(daemon: Daemon) => Promise<{status: number, body: Record<string, any>}>} send */
  async #request(send) {
    if (this.#daemon === null) {
      return;
    }
    try {
      const { status, body } = await send(this.#daemon);
      const refused = REFUSED.includes(status);
      this.#problem = status === 200 ? "" : refused ? NOT_OPERATOR : body.detail;
      this.#set = status === 200 ? /** @type {SetScore} */ (body) : this.#set;
    } catch {
      this.#problem = "The daemon is not responding.";
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
  setAttribute(input, "aria-label", `Name of the player on port ${port}`);
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
  const winner = side === undefined ? "" : sideName(side, set.players);
  const parts = [`Game ${number}`, stageOf(game.stageId), winner && (game.counts ? `${winner} won` : winner)];
  setText(find(".what", row), parts.filter(Boolean).join(" · "));
  const accepted = game.counts || game.verdict === "playing";
  setText(find(".why", row), accepted ? game.reason : `not counted: ${game.reason}`);
  const toggle = find(".toggle", row);
  toggle.hidden = game.verdict === "playing" || (!game.counts && side === undefined);
  setText(toggle, game.counts ? "Don't count" : "Count");
  setAttribute(toggle, "aria-label", `${game.counts ? "Don't count" : "Count"} game ${number}`);
}

/**
 * @param {SetSide} side
 * @param {SetPlayer[]} players
 */
function sideName(side, players) {
  const members = players.filter(({ playerIndex }) => side.players.includes(playerIndex ?? -1));
  return side.name ?? members.map(({ name, port }) => name ?? `Port ${port}`).join(" & ");
}
