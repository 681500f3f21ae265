/** The link to the bracket page, with the number of pending results. It stays hidden without a bracket. */

import { Status } from "../api.js";
import { setText } from "../dom.js";
import { text } from "../texts/texts.js";
import { sleep } from "../timing.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */

const REFRESH_MS = 15000;

/**
 * @param {HTMLElement} link
 * @param {Daemon} daemon
 */
export async function setUpBracketLink(link, daemon) {
  for (;;) {
    try {
      const { status, body } = document.hidden ? { status: 0, body: {} } : await daemon.api.get("v1/bracket");
      if (status === Status.NOT_FOUND || body.configured === false) {
        return; // a gateway, or a daemon without a bracket
      }
      if (status === Status.OK) {
        setText(link, body.waiting > 0 ? text("bracket.open_waiting", { count: body.waiting }) : text("bracket.open"));
        link.hidden = false;
      }
    } catch {
      // The health of the daemon is shown elsewhere.
    }
    await sleep(REFRESH_MS);
  }
}
