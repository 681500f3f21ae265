/**
 * The remote control of a station, for a phone: a game for either side, undo, swap, on air, and mark, as large buttons.
 *
 * `#remote/STATION` controls that station, and `#remote` the one on air.
 */

import { Status, isRefusal } from "../api.js";
import { clone, element, fill, find, setAttribute, setText } from "../dom.js";
import { colourOf } from "../player_colour.js";
import { gameTime, teamOf } from "../slippi.js";
import { fillTexts, text } from "../texts/texts.js";
import { stateText } from "./daemon.js";
import { partModule } from "./part_module.js";
import { SetRequests } from "./set_requests.js";
import { changeText, sideName } from "./set_words.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("./set_words.js").Change} Change
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 *
 * @typedef {object} Controlled  What belongs to the controlled station.
 * @property {string} station
 * @property {SetRequests} requests
 * @property {{draw: (daemon: Daemon) => void} | null} onAirButton  The view of the part `on_air`, once it is loaded.
 * @property {boolean} takesMarks
 */

export class Remote {
  #root;
  #wanted;
  #setOf;
  #onChange;
  /** @type {Controlled | null} */ #controlled = null;
  /** @type {Daemon | null} */ #daemon = null;
  #news = "";
  #problem = "";

  /**
   * @param {HTMLElement} panel
   * @param {string} wanted  The station; empty for the one on air.
   * @param {(station: string) => SetScore | null} setOf  The newest set of the stream.
   * @param {() => void} onChange
   */
  constructor(panel, wanted, setOf, onChange) {
    this.#root = clone("remote");
    this.#wanted = wanted;
    this.#setOf = setOf;
    this.#onChange = onChange;
    fillTexts(this.#root);
    panel.append(this.#root);
    const choice = /** @type {HTMLSelectElement} */ (find(".controlled", this.#root));
    choice.addEventListener("change", () => (location.hash = `#remote/${encodeURIComponent(choice.value)}`));
    find(".swap", this.#root).addEventListener("click", () => this.#controlled?.requests.change({ swapped: !this.#set?.swapped }));
    find(".undo", this.#root).addEventListener("click", () => this.#undo());
    find(".mark", this.#root).addEventListener("click", () => this.#mark());
  }

  close() {
    this.#root.remove();
  }

  get #set() {
    return this.#controlled?.requests.set ?? null;
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    this.#daemon = daemon;
    const stations = daemon.stations.filter(({ demo }) => !demo);
    const id = this.#wanted || daemon.onAir?.station || stations[0]?.id;
    const station = stations.find((each) => each.id === id);
    find(".no-station", this.#root).hidden = station !== undefined || daemon.health.state === "connecting";
    find(".controls", this.#root).hidden = station === undefined;
    this.#drawChoice(stations, station?.id ?? "");
    if (station === undefined) {
      return;
    }
    if (this.#controlled?.station !== station.id) {
      this.#control(station.id, daemon);
    }
    const { requests, onAirButton, takesMarks } = /** @type {Controlled} */ (this.#controlled);
    requests.draw(daemon, this.#setOf(station.id));
    onAirButton?.draw(daemon);
    find(".mark", this.#root).hidden = !takesMarks;
    find(".on-air", this.#root).hidden = daemon.onAir?.station !== station.id;
    setText(find(".state", this.#root), stateText(station.state));
    find(".state", this.#root).dataset.state = station.state;
    this.#drawSides(requests);
    setText(find(".news", this.#root), this.#news);
    const problem = this.#problem || requests.problem;
    find(".remote-problem", this.#root).hidden = problem === "";
    setText(find(".words", this.#root), problem);
    find(".to-login", this.#root).hidden = problem !== text("panel.not_operator");
  }

  /**
   * @param {Record<string, any>[]} stations
   * @param {string} id
   */
  #drawChoice(stations, id) {
    const choice = /** @type {HTMLSelectElement} */ (find(".controlled", this.#root));
    fill(choice, stations, () => element("option"), (option, station) => {
      setAttribute(option, "value", station.id);
      setText(option, station.name);
    });
    if (document.activeElement !== choice) {
      choice.value = id;
    }
  }

  /**
   * @param {string} station
   * @param {Daemon} daemon
   */
  #control(station, daemon) {
    const controlled = { station, requests: new SetRequests(station, this.#onChange), onAirButton: null, takesMarks: false };
    this.#controlled = controlled;
    this.#news = this.#problem = "";
    this.#loadOnAirButton(controlled);
    this.#askForMarks(controlled, daemon);
  }

  /** @param {Controlled} controlled */
  async #loadOnAirButton(controlled) {
    const part = await partModule("on_air/on_air_button.js");
    if (part !== null) {
      const old = find(".put-on-air", this.#root);
      const button = /** @type {HTMLElement} */ (old.cloneNode(true)); // without the listener for another station
      old.replaceWith(button);
      controlled.onAirButton = new part.OnAirButton(button, find(".on-air-problem", this.#root), controlled.station, this.#onChange);
      this.#onChange();
    }
  }

  /**
   * @param {Controlled} controlled
   * @param {Daemon} daemon
   */
  async #askForMarks(controlled, daemon) {
    const { status } = await daemon.api.get(marksOf(controlled)).catch(() => ({ status: 0 }));
    controlled.takesMarks = status === Status.OK;
    this.#onChange();
  }

  /** @param {SetRequests} requests */
  #drawSides(requests) {
    const { sides = [], players = [], swapped = false } = requests.set ?? {};
    const shown = swapped && sides.length === 2 ? [...sides].reverse() : sides;
    find(".swap", this.#root).hidden = sides.length !== 2;
    setAttribute(find(".swap", this.#root), "aria-pressed", String(swapped));
    fill(find(".remote-sides", this.#root), shown, () => this.#newSide(), (row, side) => {
      const who = sideName(side, players);
      const [first] = players.filter(({ playerIndex }) => side.players.includes(playerIndex ?? -1));
      row.dataset.side = String(sides.indexOf(side));
      row.dataset.colour = colourOf({ team: teamOf(first?.team), port: first?.port ?? 1 });
      setText(find(".name", row), who);
      setText(find(".points", row), String(requests.scoreOf(side)));
    });
  }

  #newSide() {
    const row = clone("remote-side");
    find("button", row).addEventListener("click", () => {
      const side = this.#set?.sides?.[Number(row.dataset.side)];
      if (side !== undefined) {
        this.#controlled?.requests.addScore(side, 1);
      }
    });
    return row;
  }

  /** Undoes the newest change that stands. */
  async #undo() {
    const [controlled, daemon] = [this.#controlled, this.#daemon];
    if (controlled === null || daemon === null) {
      return;
    }
    const answer = await this.#ask((api) => api.get(`${controlled.requests.path}/changes`));
    const changes = /** @type {Change[]} */ (answer?.changes ?? []);
    const change = changes.find(({ undoes, undoneBy }) => undoes === undefined && undoneBy === undefined);
    if (change !== undefined) {
      await controlled.requests.undo(change.id);
    }
    if (answer !== null && controlled.requests.problem === "") {
      const { set } = controlled.requests;
      const what = change === undefined || set === null ? "" : changeText(change, set);
      this.#say(change === undefined ? text("panel.no_changes") : text("panel.undone", { what }));
    }
  }

  async #mark() {
    const controlled = this.#controlled;
    if (controlled !== null) {
      const mark = await this.#ask((api) => api.post(marksOf(controlled), {}));
      if (mark !== null) {
        this.#say(text("moments.marked", { at: gameTime(mark.frame) }));
      }
    }
  }

  /**
   * The body of an answer; `null` after a refusal, which is displayed.
   * @param {(api: import("../api.js").Api) => Promise<import("../api.js").Answer>} send
   */
  async #ask(send) {
    this.#problem = "";
    try {
      const { status, body } = await send(/** @type {Daemon} */ (this.#daemon).api);
      if (status === Status.OK) {
        return body;
      }
      this.#problem = isRefusal(status) ? text("panel.not_operator") : body.detail;
    } catch {
      this.#problem = text("panel.not_responding");
    }
    this.#onChange();
    return null;
  }

  /** @param {string} news */
  #say(news) {
    this.#news = news;
    this.#onChange();
  }
}

/** @param {Controlled} controlled */
function marksOf({ station }) {
  return `v1/stations/${encodeURIComponent(station)}/marks`;
}
