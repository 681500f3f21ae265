/** The keys that act everywhere on a page. None acts while a field has the focus or a dialog is open. */

const FIELDS = "input, select, textarea, [contenteditable]";

export class Shortcuts {
  #actions;

  /** @param {Readonly<Record<string, () => void>>} actions  By the key, in lower case. */
  constructor(actions) {
    this.#actions = actions;
    document.addEventListener("keydown", this.#press);
  }

  close() {
    document.removeEventListener("keydown", this.#press);
  }

  #press = (/** @type {KeyboardEvent} */ event) => {
    const { key, target, altKey, ctrlKey, metaKey, repeat } = event;
    const action = this.#actions[key.toLowerCase()];
    const writes = (target instanceof Element && target.closest(FIELDS) !== null) || document.querySelector(":modal") !== null;
    if (action !== undefined && !writes && !altKey && !ctrlKey && !metaKey && !repeat) {
      event.preventDefault();
      action();
    }
  };
}
