/**
 * The visual editor of scenes, at `#editor/STATION/SCENE?options` of the dashboard: choose options, see the scene over a test
 * picture, copy the address. The address is the only result; nothing is stored.
 */

import { copyText } from "../copying.js";
import { element, find, loadStylesheet, setAttribute, setText } from "../dom.js";
import { SCENES, TICKER } from "../scene_names.js";
import { ASPECTS } from "../scene_options.js";
import { addTexts, text } from "../texts/texts.js";
import { addressOf, draftOf, effective, hashOf, optionsOf, readAddress, withOption } from "./address.js";
import { controlOf, paintSwatches, radioOf, tile } from "./controls.js";
import { Preview, SIZES } from "./preview.js";
import { sketchOf } from "./sketches.js";
import { themeColours } from "./theme_colours.js";

await addTexts(import.meta.url);

/**
 * @typedef {import("./address.js").Draft} Draft
 * @typedef {import("./address.js").OptionName} OptionName
 * @typedef {import("./address.js").SceneName} SceneName
 * @typedef {import("./preview.js").Background} Background
 */

/** The groups of options. Options without a group are in the last one. @type {readonly [string, OptionName[]][]} */
const GROUPS = [
  ["look", ["theme", "layout", "at", "fill", "scale"]],
  ["game", ["aspect", "hud", "odds"]],
  ["parts", ["show", "players", "casters", "sponsors"]],
  ["sizes", ["sizes"]],
  ["time", ["motion", "hold", "delay"]],
  ["more", ["lang", "css"]],
];
/** Groups that are closed at first. */
const CLOSED = new Set(["more"]);

/**
 * Loads the stylesheet of the editor, and makes the editor.
 * @param {HTMLElement} root
 * @param {{base: URL, token: string | undefined}} daemon
 */
export async function openEditor(root, daemon) {
  await loadStylesheet(import.meta, "editor.css");
  return new Editor(root, daemon);
}

export class Editor {
  #root;
  #base;
  #token;
  #preview;
  /** @type {Map<OptionName, import("./controls.js").Control>} */ #controls = new Map();
  /** @type {Draft} */ #draft = { scene: "live", station: "", query: new URLSearchParams() };
  /** The token of an address that was pasted. @type {string | undefined} */ #pastedToken;
  #isOpen = false;
  #isLive = false;
  /** Ids and names. @type {[string, string][]} */ #stations = [];

  /**
   * @param {HTMLElement} root
   * @param {{base: URL, token: string | undefined}} daemon
   */
  constructor(root, { base, token }) {
    this.#root = root;
    this.#base = base;
    this.#token = token;
    root.append(this.#heading(), this.#scenes(), this.#middle(), this.#inspector());
    this.#preview = new Preview(find(".screen", root), (page) => paintSwatches(root, themeColours(page)));
    this.#followPictures();
  }

  /**
   * Shows the draft of a fragment.
   * @param {string} hash
   * @param {string} back  The fragment to which the editor leads back.
   */
  open(hash, back) {
    setAttribute(find(".back", this.#root), "href", back || "#");
    this.#isOpen = true;
    this.#draft = draftOf(hash);
    if (this.#draft.station === "") {
      this.#draft.station = this.#stations[0]?.[0] ?? "";
    }
    this.#say([]);
    this.#show();
    this.#preview.draw();
  }

  /** Ends the preview. */
  close() {
    this.#isOpen = false;
    this.#preview.close();
  }

  /** Moves the focus to the heading, for keyboards and screen readers. */
  focus() {
    find("h2", this.#root).focus({ preventScroll: true });
  }

  /**
   * Offers the stations of the daemon.
   * @param {readonly Record<string, any>[]} stations  As `/v1/stations` describes them.
   */
  draw(stations) {
    const known = stations.map(({ id, name }) => /** @type {[string, string]} */ ([String(id), String(name)]));
    if (this.#isOpen && JSON.stringify(known) !== JSON.stringify(this.#stations)) {
      this.#stations = known;
      if (this.#draft.station === "" && known.length > 0) {
        this.#draft.station = known[0][0];
      }
      this.#show();
    }
  }

  /** The address that is copied. */
  get #address() {
    return addressOf(this.#draft, this.#base, this.#token ?? this.#pastedToken);
  }

  /**
   * Shows another draft, and keeps it in the address of the dashboard.
   * @param {Draft} draft
   */
  #change(draft) {
    this.#draft = draft;
    history.replaceState(history.state, "", hashOf(draft));
    this.#say([]);
    this.#show();
  }

  #show() {
    const { scene, station, query } = this.#draft;
    const root = this.#root;
    this.#showStations();
    const radio = radioOf(find(".scene-picks", root), scene);
    if (radio !== null) {
      radio.checked = true;
    }
    setText(find(".about", root), text(`editor.about.${scene}`));
    const options = effective(this.#draft);
    const names = optionsOf(scene);
    for (const [name, control] of this.#controls) {
      control.element.hidden = !names.includes(name);
      control.show(options[name], query.has(name));
    }
    for (const group of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".group"))) {
      group.hidden = [...group.querySelectorAll(".control")].every((each) => /** @type {HTMLElement} */ (each).hidden);
    }
    /** @type {HTMLButtonElement} */ (find(".reset", root)).disabled = !names.some((name) => query.has(name));
    const field = /** @type {HTMLInputElement} */ (find(".url", root));
    if (document.activeElement !== field) {
      this.#writeAddress();
    }
    setAttribute(find(".open-scene", root), "href", this.#address);
    this.#preview.aspect = ASPECTS[options.aspect];
    if (this.#isOpen && (station !== "" || scene === TICKER)) {
      this.#preview.show(this.#previewAddress);
    }
  }

  /** The scene as the preview shows it: with a made-up set, unless the station's own games are wanted. */
  get #previewAddress() {
    return this.#address + (this.#isLive ? "" : "#example");
  }

  #showStations() {
    const { station, scene } = this.#draft;
    const select = /** @type {HTMLSelectElement} */ (find(".station-choice", this.#root));
    const isKnown = station === "" || this.#stations.some(([id]) => id === station);
    const offered = isKnown ? this.#stations : [[station, station], ...this.#stations];
    const key = JSON.stringify(offered);
    if (select.dataset.shown !== key) {
      select.dataset.shown = key;
      select.replaceChildren(...offered.map(([id, name]) => element("option", name, { value: id })));
    }
    select.value = station;
    select.disabled = scene === TICKER;
  }

  #writeAddress() {
    const field = /** @type {HTMLInputElement} */ (find(".url", this.#root));
    field.value = this.#address;
    setAttribute(field, "aria-invalid", "false");
  }

  /**
   * Lists, below the address, the parts of a pasted address that were left out.
   * @param {string[]} problems
   */
  #say(problems) {
    setText(find(".left-out", this.#root), problems.join(" · "));
  }

  /** Title and station. */
  #heading() {
    const root = element("header", "", { class: "editor-head" });
    const station = element("label", "", { class: "station-label" });
    const select = /** @type {HTMLSelectElement} */ (element("select", "", { class: "station-choice" }));
    station.append(element("span", text("editor.station")), select);
    select.addEventListener("change", () => this.#change({ ...this.#draft, station: select.value }));
    root.append(
      element("h2", text("editor.title"), { id: "editor-title", tabindex: "-1" }),
      element("p", text("editor.purpose"), { class: "quiet" }),
      station,
      element("a", text("detail.back"), { class: "back", href: "#" }),
    );
    return root;
  }

  /** The scenes. */
  #scenes() {
    const scenes = element("fieldset", "", { class: "scene-choice" });
    const tiles = element("div", "", { class: "picks scene-picks" });
    tiles.append(...SCENES.map((scene) => tile("scene", scene, text(`wall.scene.${scene}`), sketchOf(scene))));
    tiles.addEventListener("change", ({ target }) => {
      const scene = /** @type {SceneName} */ (/** @type {HTMLInputElement} */ (target).value);
      this.#change({ ...this.#draft, scene });
    });
    scenes.append(element("legend", text("editor.scene")), tiles, element("p", "", { class: "about" }));
    return scenes;
  }

  /** Preview and address. */
  #middle() {
    const root = element("div", "", { class: "middle" });
    const screen = element("div", "", { class: "screen", role: "group", "aria-label": text("editor.preview") });
    root.append(screen, this.#link(), this.#tools());
    return root;
  }

  /** The tools of the preview: the size of the page, and the picture below the scene. */
  #tools() {
    const root = element("div", "", { class: "tools", role: "group", "aria-label": text("editor.tools") });
    const menu = (/** @type {string} */ name, /** @type {[string, string][]} */ values, /** @type {(value: string) => void} */ choose) => {
      const label = element("label");
      const select = /** @type {HTMLSelectElement} */ (element("select", "", { class: name }));
      select.append(...values.map(([value, words]) => element("option", words, { value })));
      select.addEventListener("change", () => choose(select.value));
      label.append(element("span", text(`editor.${name}`)), select);
      return label;
    };
    const sizes = SIZES.map(({ width, height }, i) => /** @type {[string, string]} */ ([String(i), `${width} × ${height}`]));
    const backgrounds = ["game", "own", "white", "black"].map((each) => /** @type {[string, string]} */ ([each, text(`editor.background.${each}`)]));
    const file = /** @type {HTMLInputElement} */ (element("input", "", { type: "file", accept: "image/*", class: "picture-file" }));
    file.hidden = true;
    file.addEventListener("change", () => {
      const [picture] = file.files ?? [];
      if (picture !== undefined) {
        this.#usePicture(picture);
      }
      file.value = ""; // the same file can be chosen again
    });
    const choose = element("button", text("editor.choose_picture"), { type: "button", class: "choose-picture" });
    choose.addEventListener("click", () => file.click());
    const remove = /** @type {HTMLButtonElement} */ (
      element("button", text("editor.remove_picture"), { type: "button", class: "remove-picture", disabled: "" })
    );
    remove.addEventListener("click", () => {
      this.#preview.removePicture();
      this.#showPicture("game");
      choose.focus();
    });
    const again = element("button", text("editor.again"), { type: "button", class: "again" });
    again.addEventListener("click", () => this.#preview.show(this.#previewAddress, true));
    const data = menu("data", [["example", text("editor.data.example")], ["live", text("editor.data.live")]], (value) => {
      this.#isLive = value === "live";
      this.#show();
    });
    root.append(
      menu("size", sizes, (value) => (this.#preview.size = SIZES[Number(value)])),
      data,
      menu("background", backgrounds, (value) => {
        if (value === "own" && !this.#preview.hasPicture) {
          this.#showPicture("game");
          this.#preview.background = "game";
          file.click();
        } else {
          this.#preview.background = /** @type {Background} */ (value);
        }
      }),
      choose,
      remove,
      again,
      file,
      element("p", text("editor.drop"), { class: "hint" }),
    );
    return root;
  }

  /** The address, which can be pasted into as well. */
  #link() {
    const root = element("div", "", { class: "result-address" });
    const field = /** @type {HTMLInputElement} */ (
      element("input", "", { class: "url", id: "editor-url", type: "url", spellcheck: "false", autocomplete: "off", "aria-describedby": "editor-url-hint editor-url-problem" })
    );
    const copy = element("button", text("copy.copy"), { type: "button", class: "copy" });
    const row = element("div", "", { class: "link" });
    row.append(field, copy, element("a", text("editor.open_scene"), { class: "open-scene", target: "_blank", rel: "noopener" }));
    const title = element("div", "", { class: "address-title" });
    title.append(
      element("label", text("editor.address"), { for: "editor-url" }),
      element("p", text("editor.address_use"), { class: "hint", id: "editor-url-hint" }),
    );
    root.append(
      title,
      row,
      element("p", "", { class: "left-out", id: "editor-url-problem", role: "status" }),
    );
    field.addEventListener("focus", () => field.select());
    field.addEventListener("input", () => this.#read(field));
    field.addEventListener("change", () => this.#writeAddress());
    field.addEventListener("blur", () => this.#writeAddress());
    copy.addEventListener("click", () => copyText(this.#address, copy));
    return root;
  }

  /** Takes over the address that is typed or pasted. @param {HTMLInputElement} field */
  #read(field) {
    const read = readAddress(field.value, this.#base);
    setAttribute(field, "aria-invalid", String(read === null));
    if (read === null) {
      this.#say([text("editor.no_scene")]);
      return;
    }
    this.#pastedToken = read.token;
    const station = read.draft.station || this.#draft.station;
    this.#change({ ...read.draft, station });
    this.#say(read.problems);
  }

  /** The options. */
  #inspector() {
    const root = element("div", "", { class: "inspector" });
    const reset = element("button", text("editor.reset"), { type: "button", class: "reset" });
    reset.addEventListener("click", () => this.#change({ ...this.#draft, query: new URLSearchParams() }));
    const grouped = new Set(GROUPS.flatMap(([, names]) => names));
    const others = SCENES.flatMap(optionsOf).filter((name, i, all) => !grouped.has(name) && all.indexOf(name) === i);
    for (const [group, names] of GROUPS) {
      const box = /** @type {HTMLDetailsElement} */ (element("details", "", { class: "group", "data-group": group }));
      box.open = !CLOSED.has(group);
      box.append(element("summary", text(`editor.group.${group}`)));
      for (const name of group === "more" ? [...names, ...others] : names) {
        const control = controlOf(name, (value) => this.#change(value === undefined ? this.#draft : withOption(this.#draft, name, value)));
        this.#controls.set(name, control);
        box.append(control.element);
      }
      root.append(box);
    }
    root.append(reset);
    return root;
  }

  /** Takes pictures that are dropped on the preview or pasted. */
  #followPictures() {
    const screen = find(".screen", this.#root);
    const isFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
    for (const type of /** @type {const} */ (["dragenter", "dragover"])) {
      screen.addEventListener(type, (event) => {
        if (isFile(event)) {
          event.preventDefault();
          screen.classList.add("dropping");
        }
      });
    }
    screen.addEventListener("dragleave", () => screen.classList.remove("dropping"));
    screen.addEventListener("drop", (event) => {
      screen.classList.remove("dropping");
      const [picture] = event.dataTransfer?.files ?? [];
      if (picture !== undefined) {
        event.preventDefault();
        this.#usePicture(picture);
      }
    });
    document.addEventListener("paste", (event) => {
      const picture = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
      if (this.#isOpen && picture !== undefined) {
        event.preventDefault();
        this.#usePicture(picture);
      }
    });
  }

  /** @param {File} file */
  async #usePicture(file) {
    try {
      await this.#preview.usePicture(file);
      this.#showPicture("own");
      this.#say([]);
    } catch {
      this.#say([text("editor.no_picture", { name: file.name })]);
    }
  }

  /** @param {Background} background */
  #showPicture(background) {
    /** @type {HTMLSelectElement} */ (find("select.background", this.#root)).value = background;
    /** @type {HTMLButtonElement} */ (find(".remove-picture", this.#root)).disabled = !this.#preview.hasPicture;
  }
}
