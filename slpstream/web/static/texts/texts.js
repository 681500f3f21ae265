/**
 * The texts of all pages in the language of the reader.
 *
 * Each language has a table: `en.js`, `ja.js`, `es.js`. A key names the page and the thing (`wall.filter`). A text may have
 * places in braces (`"{name} wins"`). Where the text depends on a number, the entry has one text for each plural category
 * of the language, and `count` chooses among them: `{one: "{count} game", other: "{count} games"}`.
 *
 * A part adds tables of its own with `addTexts`.
 *
 * Elements with an attribute `data-text` get their text from `fillTexts`, and attributes from `data-text-title`,
 * `data-text-aria-label`, `data-text-placeholder` and `data-text-alt`.
 */

/**
 * @typedef {string | Partial<Record<Intl.LDMLPluralRule, string>> & {other: string}} Text
 * @typedef {Record<string, Text>} Table
 */

export const LANGUAGES = Object.freeze(/** @type {const} */ (["en", "ja", "es"]));
/** @typedef {(typeof LANGUAGES)[number]} Language */

/** The name of each language in that language. @type {Readonly<Record<Language, string>>} */
export const LANGUAGE_NAMES = Object.freeze({ en: "English", ja: "日本語", es: "Español" });

const STORED = "slpstream.language";
const ATTRIBUTES = /** @type {const} */ (["title", "aria-label", "placeholder", "alt"]);
const PLACE = /\{(\w+)\}/gu;

export const language = chooseLanguage(
  typeof location === "undefined" ? "" : location.search,
  rememberedLanguage(),
  typeof navigator === "undefined" ? [] : (navigator.languages ?? []),
);
/** @type {Table} */
const table = (await import(`./${language}.js`)).default;
const plurals = new Intl.PluralRules(language);

/**
 * The language of the page: `lang=` of its address, then what was chosen on the dashboard, then the browser's preference.
 * @param {string} search            The query of the address.
 * @param {string | null} chosen
 * @param {readonly string[]} preferred  In descending order, such as `es-MX`.
 * @returns {Language}
 */
export function chooseLanguage(search, chosen, preferred) {
  for (const tag of [new URLSearchParams(search).get("lang"), chosen, ...preferred]) {
    const found = LANGUAGES.find((each) => each === tag?.split("-")[0].toLowerCase());
    if (found !== undefined) {
      return found;
    }
  }
  return "en";
}

/**
 * Chooses the language of all pages of this browser that do not have one in their address, from their next load on.
 * `null` leaves the choice to the browser's preference.
 * @param {Language | null} chosen
 */
export function rememberLanguage(chosen) {
  if (chosen === null) {
    localStorage.removeItem(STORED);
  } else {
    localStorage.setItem(STORED, chosen);
  }
}

/**
 * The text for a key. Throws for a key that the table does not have: that is a bug.
 * @param {string} key
 * @param {Readonly<Record<string, string | number>>} [values]  For the places in braces. Numbers are written as the language does.
 */
export function text(key, values = {}) {
  const entry = table[key];
  if (entry === undefined) {
    throw new Error(`there is no text ${key}`);
  }
  const chosen = typeof entry === "string" ? entry : (entry[plurals.select(Number(values.count))] ?? entry.other);
  return chosen.replace(PLACE, (place, name) => {
    const value = values[name];
    return value === undefined ? place : typeof value === "number" ? number(value) : value;
  });
}

/**
 * Adds the texts of a part: the table `texts/{language}.js` next to the module with this address.
 * @param {string} address  `import.meta.url`
 */
export async function addTexts(address) {
  Object.assign(table, (await import(new URL(`texts/${language}.js`, address).href)).default);
}

/**
 * Whether there is a text for a key.
 * @param {string} key
 */
export function hasText(key) {
  return Object.hasOwn(table, key);
}

/**
 * Fills in the texts that the elements of a page or a template name.
 * @param {ParentNode} [root]
 */
export function fillTexts(root = document) {
  if (root === document) {
    document.documentElement.lang = language;
  }
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-text]"))) {
    element.textContent = text(element.dataset.text ?? "");
  }
  for (const name of ATTRIBUTES) {
    for (const element of root.querySelectorAll(`[data-text-${name}]`)) {
      element.setAttribute(name, text(element.getAttribute(`data-text-${name}`) ?? ""));
    }
  }
  for (const template of root.querySelectorAll("template")) {
    fillTexts(template.content);
  }
}

/** @type {Map<string, Intl.NumberFormat>} */
const numberFormats = new Map();

/**
 * A number as the language writes it.
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [options]
 */
export function number(value, options = {}) {
  const key = JSON.stringify(options);
  let format = numberFormats.get(key);
  if (format === undefined) {
    format = new Intl.NumberFormat(language, options);
    numberFormats.set(key, format);
  }
  return format.format(value);
}

/** A list of texts, joined as the language does. @param {readonly string[]} items */
export function list(items) {
  return new Intl.ListFormat(language, { type: "conjunction", style: "long" }).format(items);
}

/**
 * A moment as the language writes it.
 * @param {Date} moment
 * @param {Intl.DateTimeFormatOptions} [options]
 */
export function date(moment, options = { dateStyle: "medium", timeStyle: "short" }) {
  return new Intl.DateTimeFormat(language, options).format(moment);
}

/** The language chosen on the dashboard; `null` without a choice. */
export function rememberedLanguage() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null; // no storage: node, or a browser that blocks it
  }
}
