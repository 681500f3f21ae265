/**
 * Data that pages use but do not wait for: the tables of names, the list of own pictures, and stylesheets. Drawings from before
 * their arrival are drawn again.
 */

/** @type {Set<() => void>} */
const listeners = new Set();
let count = 0;

/** Number of arrivals so far. A cached drawing depends on it in addition to its content. */
export function arrivals() {
  return count;
}

/** Calls `listener` after each arrival. @param {() => void} listener */
export function onArrival(listener) {
  listeners.add(listener);
}

/** Reports that data have arrived and are in use. */
export function arrived() {
  count += 1;
  listeners.forEach((listener) => listener());
}
