/** An address in a field, with a button that copies it. */

import { find, setText } from "./dom.js";

const COPIED_MS = 1500;

/**
 * @param {HTMLElement} root  Has a field `.url` and a button `.copy`.
 */
export function setUpCopying(root) {
  const url = /** @type {HTMLInputElement} */ (find(".url", root));
  const button = /** @type {HTMLButtonElement} */ (find(".copy", root));
  url.addEventListener("focus", () => url.select());
  button.addEventListener("click", () => copy(url, button));
}

/**
 * @param {HTMLInputElement} url
 * @param {HTMLButtonElement} button
 */
async function copy(url, button) {
  try {
    await navigator.clipboard.writeText(url.value);
  } catch {
    // Browsers give the clipboard API to secure pages only. Over plain HTTP from another machine, the old command works.
    url.select();
    document.execCommand("copy");
  }
  setText(button, "Copied");
  setTimeout(() => setText(button, "Copy"), COPIED_MS);
}
