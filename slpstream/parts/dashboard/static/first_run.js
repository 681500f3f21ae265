/**
 * The first-run page: the folders, the address for OBS with the overlay as it will look, and the offer of a demo. It is shown while
 * there is nothing else to see, and at the fragment `#first-run`.
 */

import { Status } from "../api.js";
import { setUpCopying } from "../copying.js";
import { element, fill, find, make, setAttribute, setText } from "../dom.js";
import { THEMES } from "../scene_options.js";
import { text } from "../texts/texts.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 *
 * @typedef {object} DemoOffer  The view of the part `demo`.
 * @property {(daemon: Daemon, canStart: boolean) => void} draw
 */

const REFRESH_MS = 4000;
/** The width of the source in OBS, at which the preview is drawn. */
const SOURCE_WIDTH = 1920;

export class FirstRun {
  #root;
  #overlayOf;
  #onChange;
  /** The body of `/v1/setup`; `null` before it was received, and where it is not allowed. @type {Record<string, any> | null} */
  #setup = null;
  #loadedAt = -Infinity;
  #refused = false;
  #demoOffer;
  /** @type {(typeof THEMES)[number]} */ #theme = THEMES[0];

  /**
   * @param {HTMLElement} root
   * @param {(station: string) => string} overlayOf  The address of a station's overlay.
   * @param {() => void} onChange
   * @param {DemoOffer | null} demoOffer
   */
  constructor(root, overlayOf, onChange, demoOffer) {
    this.#root = root;
    this.#overlayOf = overlayOf;
    this.#onChange = onChange;
    setUpCopying(root);
    this.#demoOffer = demoOffer;
    find(".themes", root).append(...THEMES.map((theme) => this.#newChip(theme)));
    const preview = find(".preview", root);
    new ResizeObserver(() => preview.style.setProperty("--scale", String(preview.clientWidth / SOURCE_WIDTH))).observe(preview);
  }

  /** @param {(typeof THEMES)[number]} theme */
  #newChip(theme) {
    const input = /** @type {HTMLInputElement} */ (element("input", "", { type: "radio", name: "theme", value: theme }));
    input.checked = theme === this.#theme;
    input.addEventListener("change", () => {
      this.#theme = theme;
      this.#onChange();
    });
    return make("label.chip", input, element("span", text(`first_run.theme_${theme}`)));
  }

  /** Ends the preview. */
  close() {
    this.#preview("");
  }

  /**
   * Shows an address in the preview.
   * @param {string} address  Empty: none.
   */
  #preview(address) {
    const frame = /** @type {HTMLIFrameElement} */ (find("iframe", this.#root));
    if ((frame.dataset.address ?? "") === address) {
      return;
    }
    frame.dataset.address = address;
    if (frame.src === "") {
      frame.src = address;
    } else {
      frame.contentWindow?.location.replace(address || "about:blank"); // the user's "back" leaves the page
    }
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    const root = this.#root;
    const now = performance.now();
    if (!this.#refused && now - this.#loadedAt > REFRESH_MS && daemon.health.state !== "connecting") {
      this.#loadedAt = now;
      this.#load(daemon);
    }
    setText(find("h2", root), text(daemon.games?.length ? "first_run.waiting_next" : "first_run.waiting_first"));
    const own = daemon.stations.filter((station) => !station.demo);
    const folders = this.#setup?.folders ?? own.map((station) => ({ station: station.id, name: station.name }));
    fill(find(".folders", root), folders, newFolder, (row, folder) => {
      setText(find(".name", row), folder.name);
      setText(find("code", row), folder.folder ?? "");
      find("code", row).hidden = folder.folder === undefined;
      setText(find(".quiet", row), folderNote(folder, own.find(({ id }) => id === folder.station)));
    });
    find(".no-folders", root).hidden = folders.length > 0;
    const [first] = own;
    find(".for-obs", root).hidden = first === undefined;
    if (first !== undefined) {
      const url = /** @type {HTMLInputElement} */ (find(".url", root));
      const address = new URL(this.#overlayOf(first.id));
      if (this.#theme !== THEMES[0]) {
        address.searchParams.set("theme", this.#theme);
      }
      if (url.value !== address.href) {
        url.value = address.href;
      }
      setAttribute(url, "aria-label", text("detail.address_of", { name: first.name }));
      address.searchParams.delete("token"); // the example needs none
      this.#preview(`${address.href}#example`);
      const isConnected = daemon.health.obsWebsockets > 0;
      find(".for-obs", root).dataset.connected = String(isConnected);
      setText(find(".connected", root), isConnected ? text("first_run.connected") : "");
    }
    this.#demoOffer?.draw(daemon, this.#setup !== null);
  }

  /** @param {Daemon} daemon */
  async #load(daemon) {
    try {
      const { status, body } = await daemon.api.get("v1/setup");
      this.#setup = status === Status.OK ? body : null;
      this.#refused = status !== Status.OK;
    } catch {
      // The health of the daemon is shown elsewhere.
    }
    this.#onChange();
  }
}

function newFolder() {
  const row = element("li");
  row.append(element("span", "", { class: "name" }), " ", element("code"), " ", element("span", "", { class: "quiet" }));
  return row;
}

/**
 * @param {Record<string, any>} folder
 * @param {Record<string, any> | undefined} station
 */
function folderNote(folder, station) {
  if (folder.exists === false) {
    return text("first_run.no_folder");
  }
  const replays = station === undefined ? 0 : station.files.finished + station.files.inProgress;
  return replays === 0 ? text("first_run.no_replays") : text("first_run.replays", { count: replays });
}
