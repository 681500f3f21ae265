/**
 * Links to the pages and views of parts: pages of installed parts are added, and elements are hidden whose `data-part` names a
 * missing part. The page lists the installed parts in its own `data-parts`, for stylesheets.
 */

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
  document.body.dataset.parts = body.parts.join(" ");
  const templates = [...document.querySelectorAll("template")].map(({ content }) => content);
  for (const root of [document, ...templates]) {
    for (const link of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-part]"))) {
      link.hidden ||= !(link.dataset.part ?? "").split(" ").every((part) => body.parts.includes(part));
    }
  }
  for (const page of body.pages) {
    const link = document.createElement("a");
    link.href = page.path.slice(1);
    link.textContent = page.title;
    navigation.append(link);
  }
}
