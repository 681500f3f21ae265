/** The operators' changes on a station, each with a button that undoes it. */

import { Status } from "../api.js";
import { clone, fill, find, setAttribute, setText } from "../dom.js";
import { fillTexts, text } from "../texts/texts.js";
import { changeText, momentText } from "./set_words.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("./set_words.js").Change} Change
 */

const RETRY_MS = 1000;
/** Changes that are shown before the operator asks for all. */
const SHOWN_AT_FIRST = 6;

export class ChangeList {
  #root;
  #path;
  #undo;
  #onChange;
  /** Newest first. @type {Change[]} */ #changes = [];
  /** The newest change when the list was last loaded; `null` before that. @type {number | null} */ #loaded = null;
  #loading = false;
  #triedAt = -Infinity;
  #showsAll = false;
  #problem = "";
  /** Changes made on this page. @type {Set<number>} */ #own = new Set();

  /**
   * @param {HTMLElement} root
   * @param {string} path
   * @param {(id: number) => void} undo
   * @param {() => void} onChange
   */
  constructor(root, path, undo, onChange) {
    this.#root = root;
    this.#path = path;
    this.#undo = undo;
    this.#onChange = onChange;
    find(".all-changes", root).addEventListener("click", () => {
      this.#showsAll = !this.#showsAll;
      onChange();
    });
  }

  /**
   * Records the changes that this page has made, because those are not announced.
   * @param {number} before  The newest change before the request.
   * @param {number} after
   */
  made(before, after) {
    if (after > before) {
      this.#own.add(after);
    }
  }

  /**
   * @param {Daemon} daemon
   * @param {SetScore} set
   */
  draw(daemon, set) {
    const newest = set.lastChange ?? 0;
    if (newest === 0) {
      this.#loaded ??= 0; // so that the first change is news
    }
    if (newest !== (this.#loaded ?? 0)) {
      this.#load(daemon, set);
    }
    const shown = this.#showsAll ? this.#changes : this.#changes.slice(0, SHOWN_AT_FIRST);
    find(".no-changes", this.#root).hidden = newest > 0;
    const rows = find(".change-list", this.#root);
    const focused = /** @type {HTMLElement | null} */ (rows.contains(document.activeElement) ? document.activeElement : null);
    fill(rows, shown, () => this.#newRow(), (row, change) => this.#showRow(row, change, set));
    if (focused?.hidden || focused?.isConnected === false) {
      /** @type {HTMLElement | null} */ (rows.querySelector(".undo:not([hidden])"))?.focus();
    }
    const all = find(".all-changes", this.#root);
    all.hidden = this.#changes.length <= SHOWN_AT_FIRST;
    setText(all, this.#showsAll ? text("panel.fewer") : text("panel.all", { count: this.#changes.length }));
    setAttribute(all, "aria-expanded", String(this.#showsAll));
    const problem = find(".undo-problem", this.#root);
    problem.hidden = this.#problem === "";
    setText(problem, this.#problem);
  }

  #newRow() {
    const row = clone("set-change");
    fillTexts(row);
    find(".undo", row).addEventListener("click", () => this.#undoOrTell(Number(row.dataset.change)));
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {Change} change
   * @param {SetScore} set
   */
  #showRow(row, change, set) {
    const what = changeText(change, set);
    const isUndoing = change.undoes !== undefined;
    row.dataset.change = String(change.id);
    row.dataset.undone = String(change.undoneBy !== undefined);
    const time = find("time", row);
    setAttribute(time, "datetime", change.at);
    setText(time, momentText(change.at));
    setText(find(".by", row), change.by ?? "");
    setText(find(".what", row), isUndoing ? text("panel.undone", { what }) : what);
    find(".is-undone", row).hidden = change.undoneBy === undefined;
    const undo = find(".undo", row);
    undo.hidden = change.undoneBy !== undefined;
    setText(undo, text(isUndoing ? "panel.redo" : "panel.undo"));
    setAttribute(undo, "aria-label", `${text(isUndoing ? "panel.redo" : "panel.undo")}: ${what}`);
  }

  /** @param {number} id */
  #undoOrTell(id) {
    const later = this.#changes.find((change) => change.id === id)?.blockedBy;
    const blocking = this.#changes.find((change) => change.id === later);
    this.#problem = "";
    if (blocking !== undefined && this.#lastSet !== null) {
      const [what, at] = [changeText(blocking, this.#lastSet), momentText(blocking.at)];
      this.#problem = text("panel.undo_first", { what, at });
      this.#onChange();
    } else {
      this.#undo(id);
    }
  }

  /** @type {SetScore | null} */ #lastSet = null;

  /**
   * @param {Daemon} daemon
   * @param {SetScore} set
   */
  async #load(daemon, set) {
    this.#lastSet = set;
    if (this.#loading || performance.now() - this.#triedAt < RETRY_MS && this.#failed) {
      return;
    }
    this.#loading = true;
    this.#triedAt = performance.now();
    try {
      const { status, body } = await daemon.api.get(this.#path);
      this.#failed = status !== Status.OK;
      if (status === Status.OK) {
        this.#take(/** @type {Change[]} */ (body.changes), set);
      }
    } catch {
      this.#failed = true; // the dashboard reports it, and the next drawing tries again
    }
    this.#loading = false;
    this.#onChange();
  }

  #failed = false;

  /**
   * @param {Change[]} changes
   * @param {SetScore} set
   */
  #take(changes, set) {
    const before = this.#loaded;
    this.#changes = changes;
    this.#loaded = changes[0]?.id ?? 0;
    this.#problem = "";
    const [news] = changes.filter(({ id }) => before !== null && id > before && !this.#own.has(id));
    if (news !== undefined) {
      const who = news.by ?? text("panel.another_operator");
      setText(find(".news", this.#root), text("panel.news", { who, what: changeText(news, set) }));
    }
  }
}
