/** The menu with the addresses of a station's scenes, to open or to copy. One menu serves all stations. */

import { copyText } from "../copying.js";
import { element, find, setText } from "../dom.js";
import { STATION_SCENES } from "../scene_names.js";
import { text } from "../texts/texts.js";

export class SceneMenu {
  #root = element("div", "", { class: "scene-menu", role: "dialog", "aria-labelledby": "scene-menu-title" });
  #addressOf;
  /** @type {HTMLElement | null} */ #opener = null;
  #station = "";

  /**
   * @param {HTMLElement} parent
   * @param {(scene: string, station: string) => string} addressOf
   */
  constructor(parent, addressOf) {
    this.#addressOf = addressOf;
    this.#root.hidden = true;
    this.#root.append(
      element("h3", "", { id: "scene-menu-title" }),
      element("ul", "", { class: "scenes" }),
      element("button", text("wall.adjust"), { type: "button", class: "adjust", "data-part": "editor" }),
      element("button", text("wall.close"), { type: "button", class: "close" }),
    );
    find(".close", this.#root).addEventListener("click", () => this.close());
    find(".adjust", this.#root).addEventListener("click", () => {
      this.#hide();
      location.hash = `#editor/${encodeURIComponent(this.#station)}`;
    });
    this.#root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation(); // it would leave the wall
        this.close();
      }
    });
    this.#root.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !this.#root.contains(relatedTarget) && relatedTarget !== this.#opener) {
        this.#hide();
      }
    });
    document.addEventListener("pointerdown", ({ target }) => {
      if (target instanceof Node && !this.#root.contains(target) && !this.#opener?.contains(target)) {
        this.#hide();
      }
    });
    parent.append(this.#root);
  }

  /** Whether the menu is shown. */
  get isOpen() {
    return !this.#root.hidden;
  }

  /**
   * Opens the menu of a station at the button that was pressed, or closes it if this button has opened it.
   * @param {HTMLElement} opener
   * @param {string} station
   * @param {string} name
   */
  toggle(opener, station, name) {
    if (this.isOpen && this.#opener === opener) {
      this.close();
      return;
    }
    this.#hide();
    this.#opener = opener;
    this.#station = station;
    opener.setAttribute("aria-expanded", "true");
    setText(find("h3", this.#root), text("wall.scenes_of", { station: name }));
    find(".scenes", this.#root).replaceChildren(...STATION_SCENES.map((scene) => this.#row(scene, station)));
    this.#root.hidden = false;
    this.#place(opener);
    find("a", this.#root).focus();
  }

  /** Closes the menu and gives the focus back. */
  close() {
    const opener = this.#opener;
    this.#hide();
    opener?.focus();
  }

  #hide() {
    this.#root.hidden = true;
    this.#opener?.setAttribute("aria-expanded", "false");
    this.#opener = null;
  }

  /**
   * @param {(typeof STATION_SCENES)[number]} scene
   * @param {string} station
   */
  #row(scene, station) {
    const row = element("li");
    const address = this.#addressOf(scene, station);
    const name = text(`wall.scene.${scene}`);
    const copy = element("button", text("copy.copy"), { type: "button", "aria-label": text("wall.copy_scene", { scene: name }) });
    copy.addEventListener("click", () => copyText(address, copy));
    row.append(element("a", name, { href: address, target: "_blank", rel: "noopener" }), copy);
    return row;
  }

  /** Below the button, or above it, within the window. On phones the stylesheet puts the menu at the bottom. @param {HTMLElement} opener */
  #place(opener) {
    const at = opener.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.#root;
    const below = at.bottom + 4 + height <= innerHeight;
    this.#root.style.setProperty("--x", `${Math.max(8, Math.min(at.right - width, innerWidth - width - 8))}px`);
    this.#root.style.setProperty("--y", `${Math.max(8, below ? at.bottom + 4 : at.top - height - 4)}px`);
  }
}
