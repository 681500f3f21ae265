/**
 * Data that pages draw with but do not wait for: the tables of names, the list of own pictures, and stylesheets. Whatever
 * was drawn before they arrived is drawn again.
 */

/** @type {Set<() => void>} */
const listeners = new Set();
let count = 0;

/** Number of arrivals so far. A drawing that is kept depends on it, besides what it shows. */
export function arrivals() {
  return count;
}

/** Calls `listener` after each arrival. @param {() => void} listener */
export function onArrival(listener) {
  listeners.add(listener);
}

/** Reports that something has arrived and is in its place. */
export function arrived() {
  count += 1;
  listeners.forEach((listener) => listener());
}
