/** Buttons that copy an address. */

import { element, find, setText } from "./dom.js";
import { text } from "./texts/texts.js";

const COPIED_MS = 1500;

/**
 * Makes the button next to a field copy the field's text.
 * @param {HTMLElement} root  Has a field `.url` and a button `.copy`.
 */
export function setUpCopying(root) {
  const url = /** @type {HTMLInputElement} */ (find(".url", root));
  const button = /** @type {HTMLButtonElement} */ (find(".copy", root));
  url.addEventListener("focus", () => url.select());
  button.addEventListener("click", () => copyText(url.value, button));
}

/**
 * Copies a text, and confirms it on the button for a moment.
 * @param {string} copied
 * @param {HTMLElement} button
 */
export async function copyText(copied, button) {
  try {
    await navigator.clipboard.writeText(copied);
  } catch {
    // Browsers give the clipboard API to secure pages only. Over plain HTTP from another machine, the old command works.
    const field = /** @type {HTMLInputElement} */ (element("input", "", { class: "hidden", readonly: "" }));
    field.value = copied;
    button.after(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  setText(button, text("copy.done"));
  setTimeout(() => setText(button, text(button.dataset.text ?? "copy.copy")), COPIED_MS);
}
