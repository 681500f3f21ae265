/** Links to the pages of parts: those that installed parts add are appended, and those that are missing here are hidden. */

import { Status } from "../api.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */

/**
 * @param {HTMLElement} navigation
 * @param {Daemon} daemon
 */
export async function linkPages(navigation, daemon) {
  const { status, body } = await daemon.api.get("v1/pages").catch(() => ({ status: 0, body: {} }));
  if (status !== Status.OK) {
    return;
  }
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("a[data-page]"))) {
    link.hidden ||= !body.paths.includes(`/${link.getAttribute("href")}`);
  }
  for (const page of body.pages) {
    const link = document.createElement("a");
    link.href = page.path.slice(1);
    link.textContent = page.title;
    navigation.append(link);
  }
}
