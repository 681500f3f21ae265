/** The kills of a game, from its stats. */

/**
 * @typedef {object} Kill
 * @property {number} frame
 * @property {number | null} by
 * @property {number} victim
 * @property {number | undefined} moveId
 * @property {number} percent
 * @property {string} opening
 */

/**
 * All kills, sorted by frame.
 * @param {Record<string, any>} stats  `StatsType`; its `extra` is optional.
 * @returns {Kill[]}
 */
export function killsOf(stats) {
  const listed = stats.extra?.players;
  /** @type {Kill[]} */
  const kills = [];
  if (Array.isArray(listed)) {
    for (const { playerIndex, killMoves = [] } of listed) {
      for (const kill of killMoves) {
        const { frame, playerIndex: victim, moveId, percent, openingType } = kill;
        kills.push({ frame, by: playerIndex, victim, moveId, percent, opening: openingType });
      }
    }
  } else {
    for (const conversion of stats.conversions ?? []) {
      if (conversion.didKill) {
        const { endFrame: frame, lastHitBy: by = null, playerIndex: victim, endPercent: percent } = conversion;
        kills.push({ frame, by, victim, moveId: conversion.moves?.at(-1)?.moveId, percent, opening: conversion.openingType });
      }
    }
  }
  return kills.sort((a, b) => a.frame - b.frame);
}
