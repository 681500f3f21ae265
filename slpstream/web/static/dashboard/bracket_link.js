/** The link to the page of the bracket, with the number of results that wait. Without a bracket there is none. */

import { Status } from "../api.js";
import { setText } from "../dom.js";
import { text } from "../texts/texts.js";
import { sleep } from "../timing.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */

const REFRESH_MS = 15000;
/** A daemon without a bracket answers so; a gateway has no such address. */

/**
 * @param {HTMLElement} link
 * @param {Daemon} daemon
 */
export async function setUpBracketLink(link, daemon) {
  for (;;) {
    try {
      const { status, body } = document.hidden ? { status: 0, body: {} } : await daemon.api.get("v1/bracket");
      if (status === Status.NOT_FOUND || body.configured === false) {
        return;
      }
      if (status === Status.OK) {
        setText(link, body.waiting > 0 ? text("bracket.open_waiting", { count: body.waiting }) : text("bracket.open"));
        link.hidden = false;
      }
    } catch {
      // The page says that the daemon does not answer.
    }
    await sleep(REFRESH_MS);
  }
}
