/** A game as `/v1/games` lists it, in the shape that live games have; so it is written and drawn in the same way. */

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {Record<string, any>} Item  Of the list, or one game: then with `settings` and `end`.
 */

/**
 * @param {Item} item
 * @param {Record<string, any> | null} [stats]  `StatsType`; says how it stood at the end.
 * @returns {Game}
 */
export function gameOf(item, stats = null) {
  const settings = item.settings ?? { ...item.setup, players: (item.players ?? []).map(setupOf) };
  const over = item.reason !== undefined && item.reason !== null;
  const winners = (item.winners ?? item.end?.winners ?? []).map((/** @type {any} */ winner) =>
    typeof winner === "number" ? { playerIndex: winner, position: 0 } : winner,
  );
  const durationSeconds = item.durationSeconds ?? null;
  return /** @type {Game} */ ({
    gameId: item.gameId,
    format: item.format ?? "",
    rate: item.rate ?? [60, 1],
    settings,
    frame: item.lastFrame ?? stats?.lastFrame ?? null,
    players: new Map(stats === null ? unknownValues(settings) : lastLives(stats)),
    end: over ? { reason: item.reason, winners, gameEnd: item.end?.gameEnd ?? null, durationSeconds } : null,
  });
}

/** @param {Record<string, any>} player */
function setupOf({ index, port, name, tag, code, character, color, team }) {
  return {
    playerIndex: index,
    port: port ?? index + 1,
    displayName: name ?? "",
    nametag: tag ?? "",
    connectCode: code ?? "",
    characterId: character,
    characterColor: color,
    teamId: team,
  };
}

/**
 * Nobody knows how they stood; a dash is better than the values of the beginning.
 * @param {Record<string, any>} settings
 * @returns {[number, Record<string, any>][]}
 */
function unknownValues(settings) {
  return (settings.players ?? []).map((/** @type {any} */ player) => [player.playerIndex, { post: {} }]);
}

/**
 * The percent and stocks that each player had at the end.
 * @param {Record<string, any>} stats
 * @returns {[number, Record<string, any>][]}
 */
function lastLives(stats) {
  /** @type {Map<number, Record<string, any>>} */
  const last = new Map();
  for (const stock of stats.stocks ?? []) {
    const lost = stock.endFrame !== undefined && stock.endFrame !== null;
    const percent = stock.endPercent ?? stock.currentPercent;
    last.set(stock.playerIndex, { post: { percent, stocksRemaining: stock.count - (lost ? 1 : 0) } });
  }
  return [...last];
}
