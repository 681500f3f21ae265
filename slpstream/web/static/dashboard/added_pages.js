/** Links to the pages that installed parts add. */

import { Status } from "../api.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */

/**
 * @param {HTMLElement} navigation
 * @param {Daemon} daemon
 */
export async function linkAddedPages(navigation, daemon) {
  const { status, body } = await daemon.api.get("v1/pages").catch(() => ({ status: 0, body: {} }));
  for (const page of status === Status.OK ? body.pages : []) {
    const link = document.createElement("a");
    link.href = page.path.slice(1);
    link.textContent = page.title;
    navigation.append(link);
  }
}
