// @ts-check
/**
 * The client for node: it connects to the daemon on this machine unless `base` is given, with the websocket of node.
 */

import { connect as connectTo, Stream as StreamOf } from "./slpstream.js";

export * from "./slpstream.js";

/** @param {import("./slpstream.js").Subscription & import("./slpstream.js").ClientOptions} [options] */
export function connect(options = {}) {
  return connectTo(completed(options));
}

export class Stream extends StreamOf {
  /** @param {import("./slpstream.js").StreamOptions & import("./slpstream.js").Subscription} options */
  constructor(options) {
    super(completed(options));
  }
}

/**
 * @template {import("./slpstream.js").ClientOptions} T
 * @param {T} options
 */
function completed(options) {
  if (options.WebSocket === undefined && globalThis.WebSocket === undefined) {
    throw new Error("This node has no WebSocket. Use node 22 or later, or pass the class of the package `ws`.");
  }
  return { base: "http://127.0.0.1:5151/", ...options };
}
