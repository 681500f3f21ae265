/**
 * The search field above the recent games: queries in the syntax of the Slippi Launcher, with completion.
 *
 * The key / moves the focus into the field, everywhere on the page except in fields. Arrow keys choose a suggestion, Enter and
 * Tab take it, Escape closes the suggestions.
 */

import { Status } from "../api.js";
import { element, fill, find, setAttribute, setText } from "../dom.js";
import { fillTexts, text } from "../texts/texts.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("./daemon.js").Body} Body
 * @typedef {{message: string, position: number, length: number}} Mistake
 * @typedef {{from: number, value: string}} Suggestion  `value` replaces the text from `from` to the caret.
 */

const TYPING_MS = 200;
const MAX_GAMES = 50;
const MAX_SUGGESTIONS = 8;
const FIELDS = "input, select, textarea, [contenteditable], dialog";

export class GameSearch {
  #root;
  #daemon;
  #onChange;
  #field;
  #words;
  /** @type {Record<string, string[]> | null} */ #keys = null;
  /** @type {Suggestion[]} */ #suggestions = [];
  #chosen = -1;
  /** @type {number | undefined} */ #timer;
  #asked = 0;
  /** The games that match; `null` without a query. @type {Body[] | null} */ games = null;

  /**
   * @param {HTMLElement} root
   * @param {Daemon} daemon
   * @param {() => void} onChange
   */
  constructor(root, daemon, onChange) {
    this.#root = root;
    this.#daemon = daemon;
    this.#onChange = onChange;
    this.#field = /** @type {HTMLInputElement} */ (find("input", root));
    this.#words = find(".words", root);
    fillTexts(root);
    this.#field.addEventListener("focus", () => this.#loadKeys());
    this.#field.addEventListener("input", () => {
      this.#suggest();
      this.#askSoon();
    });
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#field.addEventListener("blur", () => this.#close());
    root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#close();
      this.#ask();
    });
    document.addEventListener("keydown", (event) => {
      const writes = event.target instanceof Element && event.target.closest(FIELDS) !== null;
      if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey && this.#root.offsetParent !== null) {
        event.preventDefault();
        this.#field.focus();
      }
    });
  }

  get isActive() {
    return this.#field.value.trim() !== "";
  }

  async #loadKeys() {
    if (this.#keys === null) {
      this.#keys = {};
      try {
        const { status, body } = await this.#daemon.api.get("v1/search");
        this.#keys = status === Status.OK ? body.keys : null;
      } catch {
        this.#keys = null;
      }
      if (document.activeElement === this.#field) {
        this.#suggest(); // something may have been typed meanwhile
      }
    }
  }

  #askSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), TYPING_MS);
  }

  async #ask() {
    clearTimeout(this.#timer);
    const asked = ++this.#asked;
    const query = this.#field.value;
    if (!this.isActive) {
      this.games = null;
      this.#showMistakes(query, []);
      this.#onChange();
      return;
    }
    try {
      const { status, body } = await this.#daemon.api.get(`v1/games?query=${encodeURIComponent(query)}&limit=${MAX_GAMES}`);
      if (asked === this.#asked) {
        if (status === Status.OK) {
          this.games = body.games ?? [];
          this.#showMistakes(query, []);
        } else {
          this.#showMistakes(query, body.problems ?? [], body.detail);
        }
        this.#onChange();
      }
    } catch {
      if (asked === this.#asked) {
        this.#showMistakes(query, [], text("daemon.unreachable"));
      }
    }
  }

  /**
   * Shows the query with its mistakes marked. The games of the last query without mistakes stay.
   * @param {string} query
   * @param {Mistake[]} mistakes
   * @param {string} [other]  What is wrong if no place is known.
   */
  #showMistakes(query, mistakes, other = "") {
    const problem = find(".problem", this.#root);
    problem.hidden = mistakes.length === 0 && other === "";
    setText(find(".what", problem), mistakes.length ? mistakes.map(({ message }) => message).join("; ") : other);
    setAttribute(this.#field, "aria-invalid", String(!problem.hidden));
    const marked = find(".marked", problem);
    marked.replaceChildren();
    const characters = [...query]; // the daemon counts characters, a string of JavaScript counts UTF-16
    let done = 0;
    for (const { position, length } of mistakes) {
      if (position >= done) {
        marked.append(characters.slice(done, position).join(""));
        marked.append(element("mark", characters.slice(position, position + length).join("")));
        done = position + length;
      }
    }
    if (mistakes.length > 0) {
      marked.append(characters.slice(done).join(""));
    }
  }

  #suggest() {
    const caret = this.#field.selectionStart ?? 0;
    this.#suggestions = suggestionsFor(this.#field.value.slice(0, caret), this.#keys ?? {});
    this.#chosen = -1;
    this.#showSuggestions();
  }

  #close() {
    this.#suggestions = [];
    this.#chosen = -1;
    this.#showSuggestions();
  }

  #showSuggestions() {
    const isOpen = this.#suggestions.length > 0;
    this.#words.hidden = !isOpen;
    setAttribute(this.#field, "aria-expanded", String(isOpen));
    setAttribute(this.#field, "aria-activedescendant", this.#chosen < 0 ? "" : `game-word-${this.#chosen}`);
    fill(this.#words, this.#suggestions, () => this.#newSuggestion(), (row, { value }, i) => {
      row.id = `game-word-${i}`;
      setText(row, value);
      setAttribute(row, "aria-selected", String(i === this.#chosen));
    });
  }

  #newSuggestion() {
    const row = element("li", "", { role: "option" });
    row.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the focus stays in the field
      this.#take([...this.#words.children].indexOf(row));
    });
    return row;
  }

  /** @param {number} index */
  #take(index) {
    const { from, value } = this.#suggestions[index];
    const caret = this.#field.selectionStart ?? 0;
    const end = value.endsWith(":") ? value : `${value} `;
    this.#field.setRangeText(end, from, caret, "end");
    if (value.endsWith(":")) {
      this.#suggest();
    } else {
      this.#close();
    }
    this.#askSoon();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const count = this.#suggestions.length;
    if (event.key === "Escape" && (count > 0 || this.isActive)) {
      event.preventDefault();
      event.stopPropagation(); // Escape closes the details otherwise
      if (count > 0) {
        this.#close();
      } else {
        this.#field.value = "";
        this.#ask();
      }
    } else if (count > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const start = this.#chosen < 0 && event.key === "ArrowUp" ? 0 : this.#chosen;
      this.#chosen = (start + (event.key === "ArrowDown" ? 1 : -1) + count) % count;
      this.#showSuggestions();
    } else if (this.#chosen >= 0 && (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey))) {
      event.preventDefault();
      this.#take(this.#chosen);
    }
  }
}

/**
 * Completions of the last word of a text.
 * @param {string} before  The query up to the caret.
 * @param {Record<string, string[]>} keys
 * @returns {Suggestion[]}
 */
function suggestionsFor(before, keys) {
  const [word] = /\S*$/.exec(before) ?? [""];
  const start = before.length - word.length;
  const [, sign, key, list] = /^(-?)(?:(\w+):)?(.*)$/.exec(word) ?? ["", "", undefined, ""];
  if (word === "" || word.includes('"')) {
    return [];
  }
  if (key === undefined) {
    const found = Object.keys(keys).filter((each) => each.startsWith(list.toLowerCase()) && list !== "");
    return found.slice(0, MAX_SUGGESTIONS).map((each) => ({ from: start + sign.length, value: `${each}:` }));
  }
  const part = list.slice(list.lastIndexOf(",") + 1);
  const from = before.length - part.length;
  const sought = part.toLowerCase().replaceAll("_", " ");
  const values = (keys[key.toLowerCase()] ?? []).filter((value) => value.toLowerCase().includes(sought));
  values.sort((a, b) => Number(b.toLowerCase().startsWith(sought)) - Number(a.toLowerCase().startsWith(sought)));
  // A comma divides values, except between quotes, and a value between quotes is alone.
  const possible = values.filter((value) => !value.includes(",") || part === list);
  return possible.slice(0, MAX_SUGGESTIONS).map((value) => ({
    from,
    value: value.includes(",") ? `"${value}"` : value.replaceAll(" ", "_"),
  }));
}
