/**
 * The controls of the options: one for each kind of option, so that a new option of the scenes has a control without a
 * change here. Labels are texts `editor.option.NAME`, and the name of the option without such a text.
 */

import { element, find, setAttribute, setText } from "../dom.js";
import { OPTIONS, expectedOf, readValue } from "../scene_options.js";
import { LANGUAGE_NAMES, hasText, number, text } from "../texts/texts.js";
import { sketchOf } from "./sketches.js";

/**
 * @typedef {import("./address.js").OptionName} OptionName
 *
 * @typedef {object} Control
 * @property {HTMLElement} element
 * @property {(value: any, isChanged: boolean) => void} show  Shows the value with which the scene is drawn.
 *
 * @typedef {(value: unknown) => void} Change  Receives the value; `null` for the default.
 */

const PERCENT_STEP = 5;
/** The options whose values have a drawing. */
const DRAWN = new Set(["layout", "theme"]);
/** Choices with more values are a list to pull down. */
const MAX_BUTTONS = 5;

/**
 * @param {OptionName} name
 * @param {Change} change
 * @returns {Control}
 */
export function controlOf(name, change) {
  const option = OPTIONS[name];
  switch (option.kind) {
    case "choice":
      return name === "lang" || (option.values ?? []).length > MAX_BUTTONS ? menu(name, change) : buttons(name, change);
    case "switch":
      return toggle(name, change);
    case "list":
      return parts(name, change);
    case "sizes":
      return sizes(name, change);
    case "duration":
      return duration(name, change);
    case "factor":
      return factor(name, change);
    case "players":
      return players(name, change);
    default:
      return line(name, change);
  }
}

/** @param {OptionName} name */
export function labelOf(name) {
  return hasText(`editor.option.${name}`) ? text(`editor.option.${name}`) : name;
}

/**
 * @param {OptionName} name
 * @param {string} value
 */
function valueLabel(name, value) {
  return hasText(`editor.value.${name}.${value}`) ? text(`editor.value.${name}.${value}`) : value;
}

/**
 * A radio button that looks like a tile.
 * @param {string} group
 * @param {string} value
 * @param {string} label
 * @param {Element | null} picture
 */
export function tile(group, value, label, picture = null) {
  const created = element("label", "", { class: "pick" });
  const input = element("input", "", { type: "radio", name: `editor-${group}`, value });
  created.append(input, ...(picture === null ? [] : [picture]), element("span", label, { class: "pick-name" }));
  return created;
}

/**
 * The radio button of a value; `null` if the value has none.
 * @param {HTMLElement} root
 * @param {string} value
 */
export function radioOf(root, value) {
  const radios = /** @type {HTMLInputElement[]} */ ([...root.querySelectorAll("input[type=radio]")]);
  return radios.find((each) => each.value === value) ?? null;
}

/**
 * A group of controls with a common label.
 * @param {OptionName} name
 */
function group(name) {
  const root = element("fieldset", "", { class: "control", "data-option": name });
  root.append(element("legend", labelOf(name)), ...hint(name));
  return root;
}

/**
 * A label around one control.
 * @param {OptionName} name
 * @param {HTMLElement} input
 */
function labelled(name, input) {
  const root = element("div", "", { class: "control", "data-option": name });
  const label = element("label", labelOf(name), { for: `editor-${name}` });
  input.id = `editor-${name}`;
  const notes = hint(name);
  if (notes.length > 0) {
    notes[0].id = `editor-${name}-hint`;
    input.setAttribute("aria-describedby", notes[0].id);
  }
  root.append(label, input, ...notes);
  return root;
}

/** @param {OptionName} name */
function hint(name) {
  return hasText(`editor.hint.${name}`) ? [element("p", text(`editor.hint.${name}`), { class: "hint" })] : [];
}

/**
 * @param {HTMLElement} root
 * @param {boolean} isChanged
 */
function mark(root, isChanged) {
  root.classList.toggle("changed", isChanged);
}

/** @type {(name: OptionName, change: Change) => Control} */
function buttons(name, change) {
  const root = group(name);
  const tiles = element("div", "", { class: DRAWN.has(name) ? "picks drawn" : "picks" });
  for (const value of OPTIONS[name].values ?? []) {
    tiles.append(tile(name, value, valueLabel(name, value), name === "layout" ? sketchOf(value) : name === "theme" ? swatch(value) : null));
  }
  find("legend", root).after(tiles);
  tiles.addEventListener("change", ({ target }) => change(/** @type {HTMLInputElement} */ (target).value));
  const show = (/** @type {string} */ value, /** @type {boolean} */ isChanged) => {
    const radio = radioOf(tiles, value);
    if (radio !== null) {
      radio.checked = true;
    }
    mark(root, isChanged);
  };
  return { element: root, show };
}

/** A miniature plate in the colours of a theme, which `paintSwatches` fills in. @param {string} theme */
function swatch(theme) {
  const created = element("span", "", { class: "theme-swatch", "data-theme-name": theme, "aria-hidden": "true" });
  created.append(element("span", "2"), element("span", "Aa"), element("span", "1"));
  return created;
}

/**
 * Gives the tiles of the themes their colours.
 * @param {HTMLElement} root
 * @param {Map<string, Record<string, string>>} themes  As `themeColours` reads them.
 */
export function paintSwatches(root, themes) {
  for (const each of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".theme-swatch"))) {
    const colours = { ...themes.get(""), ...themes.get(each.dataset.themeName ?? "") };
    for (const [property, value] of Object.entries(colours)) {
      each.style.setProperty(property.replace("--", "--theme-"), value);
    }
  }
}

/** @type {(name: OptionName, change: Change) => Control} */
function menu(name, change) {
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  if (name === "lang") {
    select.append(element("option", text("editor.browsers_language"), { value: "" }));
  }
  for (const value of OPTIONS[name].values ?? []) {
    const label = name === "lang" ? LANGUAGE_NAMES[/** @type {keyof typeof LANGUAGE_NAMES} */ (value)] : valueLabel(name, value);
    select.append(element("option", label, { value }));
  }
  const root = labelled(name, select);
  select.addEventListener("change", () => change(select.value === "" ? null : select.value));
  const show = (/** @type {string | null} */ value, /** @type {boolean} */ isChanged) => {
    select.value = value ?? "";
    mark(root, isChanged);
  };
  return { element: root, show };
}

/** @type {(name: OptionName, change: Change) => Control} */
function toggle(name, change) {
  const input = /** @type {HTMLInputElement} */ (element("input", "", { type: "checkbox", class: "switch" }));
  const root = labelled(name, input);
  root.classList.add("inline");
  input.addEventListener("change", () => change(input.checked));
  const show = (/** @type {boolean} */ value, /** @type {boolean} */ isChanged) => {
    input.checked = value;
    mark(root, isChanged);
  };
  return { element: root, show };
}

/** @type {(name: OptionName, change: Change) => Control} */
function parts(name, change) {
  const root = group(name);
  const boxes = element("div", "", { class: "chips" });
  for (const value of OPTIONS[name].values ?? []) {
    boxes.append(chip(value, valueLabel(name, value)));
  }
  find("legend", root).after(boxes);
  boxes.addEventListener("change", () => change(checkedOf(boxes)));
  const show = (/** @type {string[]} */ value, /** @type {boolean} */ isChanged) => {
    check(boxes, value);
    mark(root, isChanged);
  };
  return { element: root, show };
}

/**
 * @param {string} value
 * @param {string} label
 */
function chip(value, label) {
  const created = element("label", "", { class: "chip" });
  created.append(element("input", "", { type: "checkbox", value }), element("span", label));
  return created;
}

/** @param {HTMLElement} root */
function checkedOf(root) {
  return [...root.querySelectorAll("input:checked")].map((each) => /** @type {HTMLInputElement} */ (each).value);
}

/**
 * @param {HTMLElement} root
 * @param {string[]} values
 */
function check(root, values) {
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (root.querySelectorAll("input[type=checkbox]"))) {
    box.checked = values.includes(box.value);
  }
}

/** @type {(name: OptionName, change: Change) => Control} */
function players(name, change) {
  const root = group(name);
  const tiles = element("div", "", { class: "picks" });
  for (const value of ["all", "left", "right", "ports"]) {
    tiles.append(tile(name, value, text(`editor.value.players.${value}`)));
  }
  const ports = element("div", "", { class: "chips ports" });
  for (const port of OPTIONS[name].values ?? []) {
    ports.append(chip(port, text("scene.port", { port })));
  }
  find("legend", root).after(tiles, ports);
  /** @type {string | number[]} */
  let shown = "all";
  tiles.addEventListener("change", ({ target }) => {
    const { value } = /** @type {HTMLInputElement} */ (target);
    change(value === "ports" ? [1, 2] : value);
  });
  ports.addEventListener("change", () => {
    const checked = checkedOf(ports);
    if (checked.length > 0) {
      change(checked.map(Number));
    } else {
      check(ports, /** @type {number[]} */ (shown).map(String)); // a scene without players shows nothing
    }
  });
  const show = (/** @type {string | number[]} */ value, /** @type {boolean} */ isChanged) => {
    shown = value;
    const radio = radioOf(tiles, Array.isArray(value) ? "ports" : value);
    if (radio !== null) {
      radio.checked = true;
    }
    ports.hidden = !Array.isArray(value);
    check(ports, Array.isArray(value) ? value.map(String) : []);
    mark(root, isChanged);
  };
  return { element: root, show };
}

/**
 * A slider in percent with its value next to it.
 * @param {string} id
 * @param {string} label
 * @param {number} min  A factor.
 * @param {number} max
 * @param {(factor: number) => void} change
 */
function slider(id, label, min, max, change) {
  const root = element("div", "", { class: "slider" });
  const attributes = { type: "range", id, min: String(min * 100), max: String(max * 100), step: String(PERCENT_STEP) };
  const input = /** @type {HTMLInputElement} */ (element("input", "", attributes));
  const output = element("output", "", { for: id });
  root.append(element("label", label, { for: id }), input, output);
  const write = (/** @type {number} */ value) => {
    const words = number(value, { style: "percent" });
    setText(output, words);
    setAttribute(input, "aria-valuetext", words);
    input.style.setProperty("--share", String((value - min) / (max - min)));
  };
  input.addEventListener("input", () => {
    write(Number(input.value) / 100);
    change(Number(input.value) / 100);
  });
  const show = (/** @type {number} */ value) => {
    input.value = String(Math.round(value * 100));
    write(value);
  };
  return { element: root, show };
}

/** @type {(name: OptionName, change: Change) => Control} */
function factor(name, change) {
  const { min = 0, max = 1 } = OPTIONS[name];
  const root = element("div", "", { class: "control", "data-option": name });
  const { element: row, show } = slider(`editor-${name}`, labelOf(name), min, max, change);
  root.append(row, ...hint(name));
  return {
    element: root,
    show: (value, isChanged) => {
      show(value);
      mark(root, isChanged);
    },
  };
}

/** @type {(name: OptionName, change: Change) => Control} */
function sizes(name, change) {
  const { values = [], min = 0, max = 1 } = OPTIONS[name];
  const root = group(name);
  /** @type {Record<string, number>} */
  let shown = {};
  const rows = values.map((value) => {
    const row = slider(`editor-${name}-${value}`, valueLabel(name, value), min, max, (size) => change({ ...shown, [value]: size }));
    root.append(row.element);
    return { value, show: row.show };
  });
  return {
    element: root,
    show: (value, isChanged) => {
      shown = value;
      rows.forEach((row) => row.show(shown[row.value] ?? 1));
      mark(root, isChanged);
    },
  };
}

/** @type {(name: OptionName, change: Change) => Control} */
function duration(name, change) {
  const seconds = (OPTIONS[name].max ?? 0) / 1000;
  const input = /** @type {HTMLInputElement} */ (
    element("input", "", { type: "number", min: "0", max: String(seconds), step: "any", inputmode: "decimal" })
  );
  const root = labelled(name, input);
  const unit = element("span", text("editor.seconds"), { class: "unit" });
  input.after(unit);
  root.classList.add("inline");
  input.addEventListener("input", () => {
    const value = readValue(name, input.value === "" ? "" : `${Number(input.value)}s`);
    setAttribute(input, "aria-invalid", String(value === undefined));
    if (value !== undefined) {
      change(value);
    }
  });
  const show = (/** @type {number} */ value, /** @type {boolean} */ isChanged) => {
    if (Number(input.value) !== value / 1000 || (input.value === "" && document.activeElement !== input)) {
      input.value = String(value / 1000);
    }
    setAttribute(input, "aria-invalid", "false");
    mark(root, isChanged);
  };
  input.addEventListener("blur", () => input.getAttribute("aria-invalid") === "true" && change(undefined));
  return { element: root, show };
}

/** @type {(name: OptionName, change: Change) => Control} */
function line(name, change) {
  const input = /** @type {HTMLInputElement} */ (element("input", "", { type: "text", spellcheck: "false", autocomplete: "off" }));
  const root = labelled(name, input);
  const problem = element("p", "", { class: "problem", role: "alert" });
  problem.hidden = true;
  root.append(problem);
  input.addEventListener("change", () => {
    const value = input.value.trim() === "" ? null : readValue(name, input.value);
    setAttribute(input, "aria-invalid", String(value === undefined));
    problem.hidden = value !== undefined;
    setText(problem, value === undefined ? text("editor.expected", { expected: expectedOf(name) }) : "");
    if (value !== undefined) {
      change(value);
    }
  });
  const show = (/** @type {string | null} */ value, /** @type {boolean} */ isChanged) => {
    if (problem.hidden) {
      input.value = value ?? "";
    }
    mark(root, isChanged);
  };
  return { element: root, show };
}
