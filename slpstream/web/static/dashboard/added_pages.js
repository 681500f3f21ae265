/** Links to the pages that installed parts add. */

/** @typedef {import("./daemon.js").Daemon} Daemon */

const OK = 200;

/**
 * @param {HTMLElement} navigation
 * @param {Daemon} daemon
 */
export async function linkAddedPages(navigation, daemon) {
  const { status, body } = await daemon.get("v1/pages").catch(() => ({ status: 0, body: {} }));
  for (const page of status === OK ? body.pages : []) {
    const link = document.createElement("a");
    link.href = page.path.slice(1);
    link.textContent = page.title;
    navigation.append(link);
  }
}
