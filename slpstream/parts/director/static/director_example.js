/**
 * Made-up stations, for a scene of the director whose address ends in `#example`: three games, of which one after another is
 * large, and a station between games.
 */

/** @typedef {import("../scene_page.js").Push} Push */

const FRAMES_PER_SECOND = 60;
const MESSAGE_MS = 50;
const CHOICE_SECONDS = 8;
const LOOP_SECONDS = 60;
const WAIT = 14;
const JUMP = 25;

/** Games of a set, their players, score, stage, and the percents and stocks at first. */
const GAMES = [
  { names: ["Vixen", "Altea"], characters: [2, 9], score: [2, 2], round: "Winners Final", stageId: 31, percents: [62, 88], stocks: [1, 1] },
  { names: ["Orla", "Quill"], characters: [20, 0], score: [1, 0], round: "Losers Semifinal", stageId: 3, percents: [14, 40], stocks: [4, 3] },
  { names: ["Bramble", "Tide"], characters: [12, 19], score: [0, 1], round: "Losers Quarterfinal", stageId: 2, percents: [97, 5], stocks: [2, 3] },
  { names: ["Kestrel", "Mochi"], characters: [25, 15], score: [1, 1], round: "Pool B", stageId: 0, percents: [], stocks: [] },
];
const idOf = (/** @type {number} */ i) => `setup-${i + 1}`;

/** @type {import("./director.js").Director} */
export const EXAMPLE = {
  chosen: idOf(0),
  stations: GAMES.map((_, i) => ({ id: idOf(i), name: `Setup ${i + 1}`, exists: true })),
};

/**
 * Starts sending the messages.
 * @param {Push} push
 */
export function playExample(push) {
  push({ type: "connection", connection: "open", problem: "" });
  GAMES.forEach(({ names, characters, score, round, stageId, percents, stocks }, i) => {
    const station = idOf(i);
    const gameId = String(i).repeat(32);
    const people = names.map((name, side) => ({ playerIndex: side, port: side + 1, side, name, characterId: characters[side] }));
    push({
      type: "set", station, state: "running", bestOf: 5, winsNeeded: 3, round, score, games: [], olderGames: score[0] + score[1],
      players: people.map((each) => ({ ...each, score: score[each.side] })),
      sides: names.map((name, side) => ({ name, score: score[side], won: score[side], players: [side] })),
    });
    if (percents.length === 0) {
      push({ type: "station", station, state: "idle" });
      return;
    }
    const players = people.map((each) => ({ ...each, characterColor: each.side, startStocks: 4, displayName: each.name, nametag: "", connectCode: "" }));
    push({ type: "station", station, state: "playing", gameId });
    push({
      type: "game_start", station, gameId, format: "slippi", rate: [60, 1],
      settings: { stageId, inGameMode: 32, timerType: 2, startingTimerSeconds: 480, isTeams: false, players },
    });
    play(push, { station, gameId, percents, stocks, phase: i });
  });
  let turn = 0;
  setInterval(() => {
    turn += 1;
    push({ type: "director", station: idOf(turn % (GAMES.length - 1)), chosen: true, pinned: false });
  }, CHOICE_SECONDS * 1000);
}

/**
 * Sends the frames of a game, again and again: the players run to and fro and jump, and take damage.
 * @param {Push} push
 * @param {{station: string, gameId: string, percents: number[], stocks: number[], phase: number}} game
 */
function play(push, { station, gameId, percents, stocks, phase }) {
  const begin = performance.now();
  const tick = () => {
    const seconds = ((performance.now() - begin) / 1000) % LOOP_SECONDS;
    const frame = 3000 + Math.floor(((performance.now() - begin) / 1000) * FRAMES_PER_SECOND);
    const players = Object.fromEntries(percents.map((percent, i) => {
      const angle = seconds * (0.9 + 0.2 * i) + phase + 3 * i;
      const high = Math.max(0, 26 * Math.sin(seconds * 2.2 + 2 * i + phase));
      const post = {
        percent: percent + Math.floor(seconds / 4) * 3,
        stocksRemaining: stocks[i],
        positionX: 36 * Math.sin(angle),
        positionY: high,
        facingDirection: Math.cos(angle) > 0 ? 1 : -1,
        actionStateId: high > 0 ? JUMP : WAIT,
        isAirborne: high > 0,
      };
      return [i, { post }];
    }));
    push({ type: "frame", station, gameId, frame: { frame, revision: 0, players } });
    if (Math.floor(seconds * 20) % 10 === 0) {
      const odds = 0.5 + 0.3 * Math.sin(seconds / 3 + phase);
      push({ type: "odds", station, gameId, frame, players: [0, 1], odds, stocks });
    }
  };
  tick();
  setInterval(tick, MESSAGE_MS);
}
