/**
 * The preview: the scene itself in a frame of its real size, scaled down, over a test picture. A change loads the scene into a
 * second frame, which replaces the first one once it is drawn, so that nothing flickers.
 */

import { element } from "../dom.js";
import { text } from "../texts/texts.js";
import { drawGame, drawPicture } from "./test_picture.js";

/**
 * @typedef {"game" | "own" | "white" | "black"} Background
 * @typedef {{width: number, height: number}} Size  In pixels.
 */

/** The sizes of sources in OBS for which the scenes are made. */
export const SIZES = Object.freeze([
  { width: 1920, height: 1080 },
  { width: 1280, height: 720 },
  { width: 300, height: 360 },
]);
const WAIT_MS = 120;
const LOOK_MS = 50;
/** After this time the frame is shown as it is: the scene has nothing to show, or the page reports a problem. */
const MAX_WAIT_MS = 3000;

export class Preview {
  #stage = element("div", "", { class: "preview-stage" });
  #canvas = /** @type {HTMLCanvasElement} */ (element("canvas", "", { "aria-hidden": "true" }));
  /** @type {HTMLIFrameElement | null} */ #shown = null;
  /** @type {HTMLIFrameElement | null} */ #coming = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {Size} */ #size = SIZES[0];
  /** @type {Background} */ #background = "game";
  /** @type {ImageBitmap | null} */ #picture = null;
  #aspect = 4 / 3;
  #address = "";
  #onShown;

  /**
   * @param {HTMLElement} root
   * @param {(page: Document) => void} onShown  Called with each scene that is shown.
   */
  constructor(root, onShown) {
    this.#onShown = onShown;
    this.#stage.append(this.#canvas);
    root.append(this.#stage);
    new ResizeObserver(() => this.#fit()).observe(root);
  }

  /** Whether the user has added a picture. */
  get hasPicture() {
    return this.#picture !== null;
  }

  /**
   * Shows the scene at an address.
   * @param {string} address
   * @param {boolean} [withMotion]  Whether the scene plays its entrance animations.
   */
  show(address, withMotion = false) {
    if (address === this.#address && !withMotion) {
      return;
    }
    this.#address = address;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(address, withMotion), this.#shown === null ? 0 : WAIT_MS);
  }

  /** Removes the scene, and with it its connection. */
  close() {
    clearTimeout(this.#timer);
    this.#shown?.remove();
    this.#coming?.remove();
    this.#shown = this.#coming = null;
    this.#address = "";
  }

  /** @param {Size} size */
  set size(size) {
    this.#size = size;
    this.#fit();
    this.draw();
  }

  /** @param {number} aspect  Width divided by height of the game's picture. */
  set aspect(aspect) {
    if (aspect !== this.#aspect) {
      this.#aspect = aspect;
      this.draw();
    }
  }

  /** @param {Background} background */
  set background(background) {
    this.#background = background;
    this.draw();
  }

  /**
   * Puts a picture below the scene. It is decoded here, and is neither stored nor sent anywhere. Rejects if the file is not a
   * picture.
   * @param {Blob} file
   */
  async usePicture(file) {
    const picture = await createImageBitmap(file);
    this.#picture?.close();
    this.#picture = picture;
    this.background = "own";
  }

  /** Forgets the picture. */
  removePicture() {
    this.#picture?.close();
    this.#picture = null;
    this.background = "game";
  }

  /** Draws the picture below the scene. */
  draw() {
    const { width, height } = this.#size;
    [this.#canvas.width, this.#canvas.height] = [width, height];
    const context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    if (this.#background === "own" && this.#picture !== null) {
      drawPicture(context, width, height, this.#picture);
    } else if (this.#background === "white" || this.#background === "black") {
      context.fillStyle = this.#background;
      context.fillRect(0, 0, width, height);
    } else {
      drawGame(context, width, height, this.#aspect);
    }
  }

  /** Scales the stage to the available space. */
  #fit() {
    const { width, height } = this.#size;
    const root = /** @type {HTMLElement} */ (this.#stage.parentElement);
    const scale = Math.min(root.clientWidth / width, root.clientHeight / height);
    if (scale > 0) {
      this.#stage.style.setProperty("--width", `${width}px`);
      this.#stage.style.setProperty("--height", `${height}px`);
      this.#stage.style.setProperty("--scale", scale.toFixed(5));
    }
  }

  /**
   * @param {string} address
   * @param {boolean} withMotion
   */
  #load(address, withMotion) {
    this.#coming?.remove();
    const frame = /** @type {HTMLIFrameElement} */ (
      element("iframe", "", { class: "coming", title: text("editor.preview"), tabindex: "-1", src: address })
    );
    this.#coming = frame;
    frame.addEventListener("load", () => this.#await(frame, performance.now(), withMotion));
    this.#stage.append(frame);
  }

  /**
   * Waits until the scene is drawn.
   * @param {HTMLIFrameElement} frame
   * @param {number} since
   * @param {boolean} withMotion
   */
  #await(frame, since, withMotion) {
    const page = frame.contentDocument;
    if (frame !== this.#coming || page === null) {
      return;
    }
    const phase = /** @type {HTMLElement | null} */ (page.querySelector("main[data-phase]"))?.dataset.phase ?? "waiting";
    const isDrawn = phase !== "waiting" && page.fonts.status === "loaded";
    if (!isDrawn && performance.now() - since < MAX_WAIT_MS) {
      setTimeout(() => this.#await(frame, since, withMotion), LOOK_MS);
      return;
    }
    for (const animation of page.getAnimations()) {
      if (Number.isFinite(animation.effect?.getComputedTiming().endTime)) {
        animation.finish();
        if (withMotion) {
          animation.play(); // from the beginning
        }
      }
    }
    this.#shown?.remove();
    this.#shown = frame;
    this.#coming = null;
    frame.classList.remove("coming");
    this.#onShown(page);
  }
}
