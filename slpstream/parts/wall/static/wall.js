/**
 * The venue wall: all stations with miniatures of their stages, for the screen of an organiser or a projector.
 *
 * One animation loop draws the tiles that are visible and have changed. Everything that is not in the frames is shown a few
 * times a second. The options are in the fragment of the address, so a wall can be bookmarked.
 */

import { element, find, loadStylesheet, setAttribute, setText } from "../dom.js";
import { addTexts, language, number, text } from "../texts/texts.js";
import { fitNames } from "./names.js";
import { DEFAULTS, SIZES, SORTS, STATES, hashOf, isWall, optionsOf } from "./options.js";
import { arranged, featuredOf } from "./order.js";
import { SceneMenu } from "./scene_menu.js";
import { Tile } from "./tile.js";

await addTexts(import.meta.url);

/**
 * @typedef {import("./order.js").Facts & import("./tile.js").Shown} WallStation
 * @typedef {import("./options.js").WallOptions} WallOptions
 */

const FIELDS = Object.freeze(["post.positionX", "post.positionY", "post.facingDirection", "post.actionStateId", "post.shieldSize"]);
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
/** In tiles below this width or height, players have a line each. */
const MIN_SMALL_PX = { width: 150, height: 92 };
/** Below this height of a tile the wall scrolls. */
const MIN_HEIGHT_PX = 72;
/** The least height of a tile of a chosen size. */
const MIN_CHOSEN_HEIGHT_PX = 104;
/** The featured tile is this many columns wide and rows high. */
const FEATURED_SPAN = 2;
/** With fewer stations, no tile is featured: the others would be as small as on a wall of many. */
const MIN_FEATURED = 5;
const PHONE_PX = 600;

/**
 * Loads the stylesheets of the wall, and makes the wall.
 * @param {HTMLElement} root
 * @param {(scene: string, station: string) => string} sceneOf  The address of a scene.
 * @param {() => void} onChange  Called when the options have changed.
 */
export async function openWall(root, sceneOf, onChange) {
  await Promise.all(["wall.css", "../icons/icons.css"].map((file) => loadStylesheet(import.meta, file)));
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
  /** @type {import("./order.js").Featured | null} */ #featured = null;
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
    const featured = element("label", "", { class: "featured-field" });
    const box = /** @type {HTMLInputElement} */ (element("input", "", { type: "checkbox", name: "featured" }));
    box.addEventListener("change", () => this.#choose({ featured: box.checked }));
    featured.append(box, text("wall.featured"));
    bar.append(featured);
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
    find(".shown", this.#root).classList.toggle("all", shown.length === count);
    const nothing = count > 0 && shown.length === 0;
    setText(find(".nothing", this.#root), nothing ? text("wall.nothing") : "");
    const before = this.#featured?.id;
    this.#featured = this.#options.featured && shown.length >= MIN_FEATURED ? featuredOf(shown, this.#featured, now) : null;
    const featured = this.#featured?.id;
    const ids = shown.map(({ id }) => id).sort((a, b) => Number(b === featured) - Number(a === featured));
    const order = ids.join("\n");
    if (order === this.#order && featured === before && this.#list.childElementCount === ids.length) {
      this.#arrange();
      return;
    }
    this.#order = order;
    const place = () => {
      this.#place(ids.map((id) => this.#tile(id).root));
      this.#arrange();
    };
    if (before !== undefined && featured !== undefined && before !== featured) {
      this.#moveTo([before, featured], place);
    } else {
      place();
    }
  }

  /**
   * Moves the tiles of two stations to other places with a view transition, without one for readers who prefer less motion.
   * @param {string[]} ids
   * @param {() => void} place
   */
  #moveTo(ids, place) {
    if (this.#reducedMotion.matches || !("startViewTransition" in document)) {
      place();
      return;
    }
    const moving = ids.map((id) => this.#tile(id).root);
    moving.forEach((root, i) => root.style.setProperty("view-transition-name", `featured-${i}`));
    const transition = document.startViewTransition(place);
    transition.ready.catch(() => {}); // skipped in a hidden page; the tiles are in their places anyway
    transition.finished.finally(() => moving.forEach((root) => root.style.removeProperty("view-transition-name")));
  }

  /** Puts tiles into the list. @param {HTMLElement[]} roots */
  #place(roots) {
    const focused = document.activeElement;
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

  #showOptions() {
    for (const name of /** @type {const} */ (["find", "state", "sort", "size"])) {
      const field = /** @type {HTMLInputElement} */ (find(`[name=${name}]`, this.#root));
      if (document.activeElement !== field && field.value !== this.#options[name]) {
        field.value = this.#options[name];
      }
    }
    /** @type {HTMLInputElement} */ (find("[name=featured]", this.#root)).checked = this.#options.featured;
  }

  /** Chooses the number of columns and the size of the tiles. */
  #arrange() {
    const count = this.#list.childElementCount;
    const width = this.#list.clientWidth;
    if (count === 0 || width === 0) {
      return;
    }
    const gap = parseFloat(getComputedStyle(this.#list).columnGap) || 0;
    const { top } = this.#list.getBoundingClientRect();
    const below = Math.max(0, document.body.getBoundingClientRect().bottom - find("main").getBoundingClientRect().bottom);
    const height = Math.max(0, innerHeight - (top + scrollY) - below);
    const featured = this.#featured === null || width < PHONE_PX ? null : this.#tile(this.#featured.id);
    const { columns, rowHeight } = gridOf(this.#options.size, { count, width, height, gap, isFeatured: featured !== null });
    const tileWidth = (width - gap * (columns - 1)) / columns;
    this.#list.style.setProperty("--columns", String(columns));
    this.#list.style.setProperty("--row-height", `${rowHeight}px`);
    const fitted = `${featured?.root.dataset.station} ${Math.round(tileWidth)} ${Math.round(rowHeight)}`;
    if (fitted !== this.#fitted) {
      this.#fitted = fitted;
      for (const tile of this.#tiles.values()) {
        const span = tile === featured ? FEATURED_SPAN : 1;
        tile.root.classList.toggle("featured", tile === featured);
        tile.arrange(sizeOf(span * tileWidth, span * rowHeight));
      }
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
 * How much a tile shows, by its width and height in pixels.
 * @param {number} width
 * @param {number} height
 */
function sizeOf(width, height) {
  if (width < MIN_SMALL_PX.width || height < MIN_SMALL_PX.height) {
    return "tiny";
  }
  const extent = Math.min(width, height * WIDEST);
  return extent >= MIN_LARGE_PX ? "large" : extent >= MIN_MEDIUM_PX ? "medium" : "small";
}

/**
 * The number of columns and the height of a row. `auto` has the largest tiles with which all stations are on the screen, as far
 * as that is readable.
 * @param {WallOptions["size"]} size
 * @param {{count: number, width: number, height: number, gap: number, isFeatured: boolean}} place  In pixels.
 */
function gridOf(size, { count, width, height, gap, isFeatured }) {
  const isPhone = width < PHONE_PX;
  const chosen = size === "auto" && isPhone ? (count > 2 ? "small" : "large") : size;
  if (chosen !== "auto") {
    const narrowest = { large: MIN_LARGE_PX, medium: MIN_MEDIUM_PX, small: 140 }[chosen];
    const columns = Math.max(isFeatured ? FEATURED_SPAN : 1, Math.floor((width + gap) / (narrowest + gap)));
    const tileWidth = (width - gap * (columns - 1)) / columns;
    return { columns, rowHeight: Math.max(MIN_CHOSEN_HEIGHT_PX, Math.round(tileWidth / ASPECT)) };
  }
  const [cells, least] = isFeatured ? [count + FEATURED_SPAN ** 2 - 1, FEATURED_SPAN] : [count, 1];
  let best = { columns: least, rowHeight: MIN_HEIGHT_PX, extent: 0 };
  for (let columns = least; columns <= cells; columns++) {
    const rows = Math.max(least, Math.ceil(cells / columns));
    const tileWidth = (width - gap * (columns - 1)) / columns;
    const tileHeight = (height - gap * (rows - 1)) / rows;
    const extent = Math.min(tileWidth / ASPECT, tileHeight);
    if (extent > best.extent) {
      best = { columns, rowHeight: Math.max(MIN_HEIGHT_PX, Math.floor(Math.min(tileHeight, tileWidth / 1.1))), extent };
    }
  }
  return best;
}
