/**
 * The venue wall: all stations with miniatures of their stages, for the screen of an organiser or a projector.
 *
 * One animation loop draws the tiles that are visible and have changed. Everything that is not in the frames is shown a few
 * times a second. The options are in the fragment of the address, so a wall can be bookmarked.
 */

import { element, find, setAttribute, setText } from "../dom.js";
import { addTexts, language, number, text } from "../texts/texts.js";
import { fitNames } from "./names.js";
import { DEFAULTS, SIZES, SORTS, STATES, hashOf, isWall, optionsOf } from "./options.js";
import { arranged } from "./order.js";
import { SceneMenu } from "./scene_menu.js";
import { Tile } from "./tile.js";

await addTexts(import.meta.url);

/**
 * @typedef {import("./order.js").Facts & import("./tile.js").Shown} WallStation
 * @typedef {import("./options.js").WallOptions} WallOptions
 */

const FIELDS = Object.freeze(["post.positionX", "post.positionY", "post.facingDirection", "post.actionStateId"]);
/**
 * Frames per second of a miniature, by the maximum number of stations. The miniatures of more stations are smaller and move
 * less.
 */
const RATES = Object.freeze(/** @type {const} */ ([[16, 30], [32, 20], [Infinity, 15]]));
/** The order changes at most this often: tiles that jump all the time cannot be watched. */
const ORDER_MS = 1500;
const REDUCED_MOTION_MS = 250;
const TYPING_MS = 200;
const ASPECT = 1.5;
/** A tile that is wider than this many times its height is as small as its height. */
const WIDEST = 1.6;
const MIN_LARGE_PX = 290;
const MIN_MEDIUM_PX = 215;
/** Below this height of a tile the wall scrolls. */
const MIN_HEIGHT_PX = 104;
const PHONE_PX = 600;

/**
 * Loads the stylesheet of the wall, and makes the wall.
 * @param {HTMLElement} root
 * @param {(scene: string, station: string) => string} sceneOf  The address of a scene.
 * @param {() => void} onChange  Called when the options have changed.
 */
export async function openWall(root, sceneOf, onChange) {
  const link = element("link", "", { rel: "stylesheet", href: new URL("wall.css", import.meta.url).href });
  await new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
  return new Wall(root, sceneOf, onChange);
}

export class Wall {
  /** The fields of a frame that the miniatures need, in addition to those of the values. */
  fields = FIELDS;
  #root;
  #list = element("ul", "", { class: "tiles" });
  #menu;
  /** @type {Map<string, Tile>} */ #tiles = new Map();
  /** @type {WeakMap<Element, Tile>} */ #byElement = new WeakMap();
  #options = DEFAULTS;
  #orderedAt = -Infinity;
  #order = "";
  #fitted = "";
  #drawnAt = -Infinity;
  /** @type {number | undefined} */ #loop;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #typing;
  #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  #onChange;

  #seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const tile = this.#byElement.get(target);
      if (tile !== undefined) {
        tile.visible = isIntersecting;
        tile.invalidate();
      }
    }
  }, { rootMargin: "80px" });

  #sizes = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      this.#byElement.get(target)?.resize(Math.round(contentRect.width), Math.round(contentRect.height));
    }
  });

  /**
   * @param {HTMLElement} root
   * @param {(scene: string, station: string) => string} sceneOf  The address of a scene.
   * @param {() => void} onChange  Called when the options have changed.
   */
  constructor(root, sceneOf, onChange) {
    this.#root = root;
    this.#onChange = onChange;
    root.append(
      element("h2", text("wall.title"), { id: "wall-title", tabindex: "-1" }),
      this.#toolbar(),
      this.#list,
      element("p", "", { class: "nothing", role: "status" }),
    );
    this.#menu = new SceneMenu(root, sceneOf);
    addEventListener("resize", () => this.#arrange());
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => this.invalidate());
    document.addEventListener("fullscreenchange", () => {
      if (document.fullscreenElement === null && this.#options.clean) {
        this.#choose({ clean: false });
      }
    });
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#options.clean) {
        event.stopPropagation();
        this.#choose({ clean: false });
      }
    });
  }

  /** Draws all miniatures again, because names or colours have been loaded. */
  invalidate() {
    this.#tiles.forEach((tile) => tile.invalidate());
  }

  #toolbar() {
    const bar = element("form", "", { class: "wall-bar", role: "search", "aria-label": text("wall.choose") });
    bar.addEventListener("submit", (event) => event.preventDefault());
    const search = /** @type {HTMLInputElement} */ (
      element("input", "", { type: "search", name: "find", placeholder: text("wall.find"), "aria-label": text("wall.find"), spellcheck: "false", autocomplete: "off" })
    );
    search.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#choose({ find: search.value }), TYPING_MS);
    });
    bar.append(search);
    for (const [name, values] of /** @type {const} */ ([["state", STATES], ["sort", SORTS], ["size", SIZES]])) {
      const label = element("label");
      const select = /** @type {HTMLSelectElement} */ (element("select", "", { name }));
      select.append(...values.map((value) => element("option", text(`wall.${name}.${value}`), { value })));
      select.addEventListener("change", () => this.#choose({ [name]: select.value }));
      label.append(element("span", text(`wall.${name}`)), select);
      bar.append(label);
    }
    const clean = element("button", text("wall.full_screen"), { type: "button", class: "full-screen" });
    clean.addEventListener("click", () => {
      this.#choose({ clean: true });
      document.documentElement.requestFullscreen?.().catch(() => {}); // the browser can refuse; the wall is clean anyway
    });
    const leave = element("button", text("wall.leave_full_screen"), { type: "button", class: "leave-full-screen" });
    leave.addEventListener("click", () => {
      this.#choose({ clean: false });
      if (document.fullscreenElement !== null) {
        document.exitFullscreen();
      }
    });
    bar.append(element("output", "", { class: "shown", "aria-live": "polite" }), clean);
    this.#root.append(leave);
    return bar;
  }

  /** @param {Partial<Record<keyof WallOptions, string | boolean>>} changes */
  #choose(changes) {
    const options = /** @type {WallOptions} */ ({ ...optionsOf(location.hash), ...changes });
    history.replaceState(null, "", hashOf(options));
    this.#orderedAt = -Infinity;
    this.#onChange();
  }

  /** Shows or hides the wall. @param {boolean} shown */
  set shown(shown) {
    if (this.#root.hidden === shown) {
      this.#root.hidden = !shown;
      this.#orderedAt = -Infinity;
    }
    if (shown && this.#loop === undefined) {
      this.#requestPicture();
    } else if (!shown && this.#loop !== undefined) {
      cancelAnimationFrame(this.#loop);
      this.#loop = undefined;
    }
    document.body.classList.toggle("clean", shown && this.#options.clean);
  }

  get shown() {
    return !this.#root.hidden;
  }

  #requestPicture() {
    this.#loop = requestAnimationFrame((now) => {
      this.#requestPicture();
      const atRest = this.#reducedMotion.matches;
      if (atRest && now - this.#drawnAt < REDUCED_MOTION_MS) {
        return;
      }
      this.#drawnAt = now;
      for (const tile of this.#tiles.values()) {
        tile.advance(now, atRest);
      }
    });
  }

  /**
   * Frames per second of the miniatures, for a number of stations.
   * @param {number} stations
   */
  rateOf(stations) {
    return RATES.find(([count]) => stations <= count)?.[1] ?? RATES[0][1];
  }

  /**
   * Takes a message of a station.
   * @param {string} station
   * @param {import("../match.js").Message} message
   */
  take(station, message) {
    this.#tile(station).take(message);
  }

  /** @param {string} id */
  #tile(id) {
    let tile = this.#tiles.get(id);
    if (tile === undefined) {
      const created = new Tile((opener) => {
        this.#menu.toggle(opener, id, find(".open", created.root).textContent ?? id);
      });
      tile = created;
      this.#orderedAt = -Infinity;
      this.#tiles.set(id, tile);
      this.#byElement.set(tile.root, tile);
      this.#byElement.set(tile.picture, tile);
      this.#seen.observe(tile.root);
      this.#sizes.observe(tile.picture);
    }
    return tile;
  }

  /**
   * Shows everything about the stations that is not in the frames.
   * @param {readonly WallStation[]} stations
   */
  draw(stations) {
    this.#options = isWall(location.hash) ? optionsOf(location.hash) : DEFAULTS;
    document.body.classList.toggle("clean", this.#options.clean);
    this.#showOptions();
    const known = new Set(stations.map(({ id }) => id));
    for (const [id, tile] of this.#tiles) {
      if (!known.has(id)) {
        tile.root.remove();
        this.#seen.unobserve(tile.root);
        this.#sizes.unobserve(tile.picture);
        this.#orderedAt = -Infinity;
        this.#tiles.delete(id);
      }
    }
    for (const station of stations) {
      this.#tile(station.id).show(station);
    }
    this.#sort(stations);
    this.#fit();
  }

  /** @param {readonly WallStation[]} stations */
  #sort(stations) {
    const now = performance.now();
    const count = stations.length;
    if (now - this.#orderedAt < ORDER_MS) {
      return;
    }
    this.#orderedAt = now;
    const shown = arranged(stations, this.#options, language);
    setText(find(".shown", this.#root), text("wall.shown", { shown: number(shown.length), count }));
    const nothing = count > 0 && shown.length === 0;
    setText(find(".nothing", this.#root), nothing ? text("wall.nothing") : "");
    const order = shown.map(({ id }) => id).join("\n");
    if (order !== this.#order || this.#list.childElementCount !== shown.length) {
      this.#order = order;
      const focused = document.activeElement;
      const roots = shown.map(({ id }) => this.#tile(id).root);
      for (const child of [...this.#list.children]) {
        if (!roots.includes(/** @type {HTMLElement} */ (child))) {
          child.remove();
        }
      }
      roots.forEach((root, i) => {
        if (this.#list.children[i] !== root) {
          this.#list.insertBefore(root, this.#list.children[i] ?? null);
        }
      });
      if (focused instanceof HTMLElement && document.activeElement !== focused && this.#list.contains(focused)) {
        focused.focus({ preventScroll: true });
      }
    }
    this.#arrange();
  }

  #showOptions() {
    for (const name of /** @type {const} */ (["find", "state", "sort", "size"])) {
      const field = /** @type {HTMLInputElement} */ (find(`[name=${name}]`, this.#root));
      if (document.activeElement !== field && field.value !== this.#options[name]) {
        field.value = this.#options[name];
      }
    }
  }

  /** Chooses the number of columns and the size of the tiles. */
  #arrange() {
    const count = this.#list.childElementCount;
    const width = this.#list.clientWidth;
    if (count === 0 || width === 0) {
      return;
    }
    const gap = parseFloat(getComputedStyle(this.#list).columnGap) || 0;
    const top = this.#list.getBoundingClientRect().top + scrollY;
    const height = Math.max(0, innerHeight - top - 2 * gap);
    const { columns, rowHeight } = gridOf(this.#options.size, { count, width, height, gap });
    const tileWidth = (width - gap * (columns - 1)) / columns;
    const extent = Math.min(tileWidth, rowHeight * WIDEST);
    const size = extent >= MIN_LARGE_PX ? "large" : extent >= MIN_MEDIUM_PX ? "medium" : "small";
    setAttribute(this.#list, "data-size", size);
    this.#list.style.setProperty("--columns", String(columns));
    this.#list.style.setProperty("--row-height", `${rowHeight}px`);
    const fitted = `${size} ${Math.round(tileWidth)} ${Math.round(rowHeight)}`;
    if (fitted !== this.#fitted) {
      this.#fitted = fitted;
      this.#tiles.forEach((tile) => tile.refit());
      this.#fit();
    }
  }

  #fit() {
    const names = [];
    for (const tile of this.#tiles.values()) {
      if (tile.root.parentElement !== null && tile.unfitted.size > 0) {
        names.push(...tile.unfitted);
        tile.unfitted.clear();
      }
    }
    if (names.length > 0) {
      fitNames(names);
    }
  }
}

/**
 * The number of columns and the least height of a row. `auto` has the largest tiles with which all stations are on the screen,
 * as far as that is readable.
 * @param {WallOptions["size"]} size
 * @param {{count: number, width: number, height: number, gap: number}} place  In pixels.
 */
export function gridOf(size, { count, width, height, gap }) {
  const isPhone = width < PHONE_PX;
  const chosen = size === "auto" && isPhone ? (count > 2 ? "small" : "large") : size;
  if (chosen !== "auto") {
    const narrowest = { large: MIN_LARGE_PX, medium: MIN_MEDIUM_PX, small: 140 }[chosen];
    const columns = Math.max(1, Math.floor((width + gap) / (narrowest + gap)));
    const tileWidth = (width - gap * (columns - 1)) / columns;
    return { columns, rowHeight: Math.max(MIN_HEIGHT_PX, Math.round(tileWidth / ASPECT)) };
  }
  let best = { columns: 1, rowHeight: MIN_HEIGHT_PX, extent: 0 };
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const tileWidth = (width - gap * (columns - 1)) / columns;
    const tileHeight = (height - gap * (rows - 1)) / rows;
    const extent = Math.min(tileWidth / ASPECT, tileHeight);
    if (extent > best.extent) {
      best = { columns, rowHeight: Math.max(MIN_HEIGHT_PX, Math.floor(Math.min(tileHeight, tileWidth / 1.1))), extent };
    }
  }
  return best;
}
