/**
 * Melee on the pages: the names of ids, and the display of a game's values.
 *
 * The names come from the daemon's tables, `names/slippi/`.
 */

import { arrived } from "./late.js";
import { nameOf } from "./set_score.js";
import { outcomeText } from "./summary.js";
import { loadFile } from "./tables.js";
import { FORMAT, localName, portText } from "./texts/names.js";
import { number, text } from "./texts/texts.js";

/** @typedef {import("./slpstream.js").Game} Game */
/** @typedef {import("./slpstream_types.js").SetScore} SetScore */

/**
 * @typedef {object} Swatches
 * @property {Record<string, {letters: string, colour: string}>} characters  By external character id.
 * @property {Record<string, {colour: string}>} costumes  By the name of the costume.
 *
 * @typedef {object} NameTables
 * @property {Record<string, {name: string, costumes: string[]}>} characters  By external character id.
 * @property {Record<string, {external_id: number}>} internalCharacters       By internal character id.
 * @property {Record<string, {name: string, outline?: import("./stages.js").Outline}>} stages
 * @property {Record<string, {name: string}>} teams  By team id.
 * @property {Swatches} swatches
 */

/**
 * @typedef {object} Player           The values of a player that the pages show.
 * @property {number} index
 * @property {number} port            1 to 4.
 * @property {string} name
 * @property {number} characterId     External id of the current character, which can change during a game.
 * @property {string} character
 * @property {string} costume         Empty if it has no name.
 * @property {number} costumeIndex    `characterColor`.
 * @property {string} team            Name of the team, which is its colour. Empty without teams.
 * @property {number | null} stocks   `null` if the game has no stocks, or the replay lacks the value.
 * @property {number} startStocks
 * @property {number | null} points   Score in the game; `null` if unknown, and unless it is played for a score.
 * @property {string} connectCode     Empty when unknown.
 * @property {number | null | undefined} percent  As the game displays it, without decimals; `null` if the replay lacks the
 *     value, `undefined` for games without percent.
 */

/** The fields of a frame that `gamePlayers` needs. */
export const FIELDS = Object.freeze(["post.percent", "post.stocksRemaining", "post.internalCharacterId"]);

export { FORMAT };

const TIME_MODE = 0;
const STOCK_MODE = 32;
const COUNTING_DOWN = 2;
const COUNTING_UP = 3;
const NO_CONTEST = 7;
/** The first frame in which players have control, when the timer starts in frame 0. */
const FIRST_PLAYABLE_FRAME = -39;

/** @type {NameTables} */
let tables = { characters: {}, internalCharacters: {}, stages: {}, teams: {}, swatches: { characters: {}, costumes: {} } };

/**
 * Loads the names. Until then, the pages show ids and no teams.
 * @param {() => void} [onLoaded]  Called when they are loaded, for users' own pages.
 */
export async function loadNames(onLoaded) {
  const [characters, internalCharacters, stages, enumerations, swatches] = await Promise.all([
    loadFile("names/slippi/characters.json"),
    loadFile("names/slippi/internal_characters.json"),
    loadFile("names/slippi/stages.json"),
    loadFile("names/slippi/enumerations.json"),
    loadFile("names/slippi/swatches.json"),
  ]);
  tables = {
    characters: characters.rows,
    internalCharacters: internalCharacters.rows,
    stages: stages.rows,
    teams: enumerations.tables.teams.rows,
    swatches: { characters: swatches.tables.characters.rows, costumes: swatches.tables.costumes.rows },
  };
  arrived();
  onLoaded?.();
}

/**
 * The players of a game by port. Names from the set take precedence.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 * @returns {Player[]}
 */
export function gamePlayers(game, set = null) {
  const { players: setups = [], isTeams = false, inGameMode = STOCK_MODE } = game.settings;
  return setups.map((/** @type {Record<string, any>} */ setup) => {
    // Before the first frame the values are those of the setup. A value missing from a frame is unknown.
    const post = game.players.get(setup.playerIndex)?.post ?? {
      percent: setup.damageStart ?? 0,
      stocksRemaining: setup.startStocks,
    };
    const characterId = externalId(post.internalCharacterId) ?? setup.characterId;
    const character = tables.characters[characterId];
    const player = {
      index: setup.playerIndex,
      port: setup.port,
      name: setup.displayName || setup.nametag || portText(setup.port),
      connectCode: setup.connectCode ?? "",
    };
    return {
      ...player,
      name: nameOf(set, player) || (set === null && game.names?.get(player.index)) || player.name,
      characterId,
      character: characterOf(characterId) || text("game.character", { id: String(characterId) }),
      costume: character?.costumes[setup.characterColor] ?? "",
      costumeIndex: setup.characterColor ?? 0,
      team: isTeams ? teamOf(setup.teamId) : "",
      stocks: inGameMode === STOCK_MODE ? (post.stocksRemaining ?? null) : null,
      startStocks: setup.startStocks,
      points: inGameMode === TIME_MODE && game.scores !== null ? (game.scores.get(setup.playerIndex) ?? 0) : null,
      percent: typeof post.percent === "number" ? Math.floor(post.percent) : null,
    };
  });
}

/**
 * The external id of a character in a frame.
 * @param {number | undefined} internalId
 * @returns {number | undefined}
 */
export function externalId(internalId) {
  return tables.internalCharacters[internalId ?? -1]?.external_id;
}

/**
 * The name of a team; empty if unknown.
 * @param {number | undefined} id
 */
export function teamOf(id) {
  return tables.teams[id ?? -1]?.name ?? "";
}

/**
 * The name of a costume; empty if it has none.
 * @param {number} characterId   External id.
 * @param {number} costumeIndex  `characterColor`.
 */
export function costumeName(characterId, costumeIndex) {
  return tables.characters[characterId]?.costumes[costumeIndex] ?? "";
}

/** @param {number} characterId  External id. */
export function characterName(characterId) {
  return tables.characters[characterId]?.name ?? "";
}

/** @param {Game} game */
export function stageName(game) {
  return stageOf(game.settings.stageId);
}

/** @param {number | undefined} id */
export function stageOf(id) {
  if (id === undefined) {
    return "";
  }
  return localName("stages", id) ?? tables.stages[id]?.name ?? text("game.stage", { id: String(id) });
}

/** The name of a character by external id; empty if unknown. @param {number | undefined} id */
export function characterOf(id) {
  return id === undefined ? "" : (localName("characters", id) ?? tables.characters[id]?.name ?? "");
}

/**
 * The geometry of the stage; `null` if it is unknown or not loaded yet.
 * @param {Pick<Game, "settings">} game
 */
export function stageOutline(game) {
  return tables.stages[game.settings.stageId]?.outline ?? null;
}

/** Letters and colours of swatches; empty until loaded. */
export function swatchColours() {
  return tables.swatches;
}

/**
 * The frame in which the timer of a game starts: not 0 in Slo-Mo Melee, which numbers its frames from an arbitrary one on.
 * @param {Record<string, any> | null} stats  `StatsType`
 * @returns {number}
 */
export function timerStart(stats) {
  return stats?.playableFrameCount ? stats.lastFrame - stats.playableFrameCount - FIRST_PLAYABLE_FRAME : 0;
}

/**
 * The game clock without hundredths. Empty for a game without a clock, and if the time does not follow from the frame number.
 * @param {Game} game
 */
export function clock(game) {
  const { timerType, startingTimerSeconds } = game.settings;
  const played = Math.max(0, game.frame ?? 0) / 60;
  if (timerType === COUNTING_UP) {
    return minutesText(played);
  }
  const shown = timerType === COUNTING_DOWN && played <= startingTimerSeconds + 1;
  return shown ? minutesText(Math.max(0, startingTimerSeconds - played)) : "";
}

/**
 * A player of a set before its first game.
 * @param {import("./slpstream_types.js").SetPlayer} player
 * @returns {Player}
 */
export function playerOfSet({ playerIndex = 0, port = playerIndex + 1, name, connectCode = "", characterId, characterColor = 0, team }) {
  const character = characterId === undefined ? undefined : tables.characters[characterId];
  return {
    index: playerIndex,
    port,
    name: name || portText(port),
    connectCode,
    characterId: characterId ?? -1,
    character: characterOf(characterId),
    costume: character?.costumes[characterColor] ?? "",
    costumeIndex: characterColor,
    team: teamOf(team),
    stocks: null,
    startStocks: 0,
    points: null,
    percent: null,
  };
}

/**
 * The result of a game in words; empty until the game is over.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function resultText(game, set = null) {
  if (game.end === null) {
    return "";
  }
  const { winners, gameEnd, tied } = game.end;
  const won = gamePlayers(game, set).filter((player) => winners.some(({ playerIndex }) => playerIndex === player.index));
  return outcomeText(won) || text(tied ? "game.tie" : gameEnd?.gameEndMethod === NO_CONTEST ? "game.no_contest" : "game.over");
}

/** The time since GO at a frame number, as `m:ss`. @param {number} frame */
export function gameTime(frame) {
  return minutesText(Math.max(0, frame) / 60);
}

/** @param {number} seconds */
export function minutesText(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`;
}

/** Colours by percent: white, yellow, orange, red, dark red. Colours in between are interpolated. */
const DAMAGE_COLOURS = /** @type {const} */ ([
  [0, [255, 255, 255]],
  [30, [255, 244, 190]],
  [60, [255, 209, 64]],
  [100, [255, 128, 40]],
  [140, [255, 58, 48]],
  [220, [226, 26, 44]],
]);

/**
 * @param {number | null} damage  In percent.
 * @returns {string} A CSS colour.
 */
export function damageColour(damage) {
  const value = damage ?? 0;
  const above = DAMAGE_COLOURS.findIndex(([percent]) => percent > value);
  if (above === -1) {
    return css(DAMAGE_COLOURS[DAMAGE_COLOURS.length - 1][1]);
  }
  const [from, low] = DAMAGE_COLOURS[Math.max(0, above - 1)];
  const [to, high] = DAMAGE_COLOURS[above];
  const share = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return css(low.map((channel, i) => Math.round(channel + (high[i] - channel) * share)));
}

/** @param {readonly number[]} channels */
function css(channels) {
  return `rgb(${channels.join(", ")})`;
}

/** @param {number} stocks */
export function stocksText(stocks) {
  return text("game.stocks", { count: stocks });
}

/** @param {number} points */
export function pointsText(points) {
  return text("game.score", { score: `${points < 0 ? "−" : ""}${number(Math.abs(points))}` });
}
