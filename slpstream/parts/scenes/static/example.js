/**
 * A made-up set, for a scene whose address ends in `#example`: messages and answers that replace the daemon's, so that a scene
 * can be placed and adjusted while no game is played. The visual editor of the dashboard shows scenes with it.
 */

/**
 * @typedef {Record<string, any>} Message
 * @typedef {(message: Message) => void} Push
 *
 * @typedef {object} Step  Something that happens in the running game.
 * @property {number} at        Seconds after the example begins.
 * @property {number[]} percents
 * @property {number[]} stocks
 * @property {Message[]} events
 */

const GAME = "e".repeat(32);
const FIRST_FRAME = 7000;
const FRAMES_PER_SECOND = 60;
const MESSAGE_MS = 50;
/** The game ends, its result is shown, and it begins again. */
const END_SECONDS = 13;
const LOOP_SECONDS = 18;

const UP_SMASH = 11;
const FORWARD_SMASH = 10;
const PEOPLE = [
  { name: "Vixen", sponsor: "Nova", pronouns: "she/her", seed: 2, characterId: 2, characterColor: 1, code: "VIXE#201" },
  { name: "Altea", pronouns: "they/them", seed: 5, characterId: 9, characterColor: 0, code: "ALTE#514" },
];
const EVENT = { event: "Harbor Clash 7", round: "Winners Final", casters: ["Mika", "Juno"] };

/** Stages, winners, stocks left and lengths in seconds of the games of the set. */
const GAMES = [
  { stageId: 31, winner: 0, stocks: 2, durationSeconds: 154 },
  { stageId: 2, winner: 1, stocks: 1, durationSeconds: 207 },
  { stageId: 3, winner: 0, stocks: 3, durationSeconds: 128 },
  { stageId: 32, winner: 1, stocks: 2, durationSeconds: 181 },
  { stageId: 28, winner: 0, stocks: 1, durationSeconds: 224 },
];
const LAST_STAGE = 28;
const LAST_FRAME = 13_440;
/** Frame, percent and last move of the stocks that each player loses in the last game. */
const LOSSES = [
  [{ frame: 2400, percent: 96, moveId: FORWARD_SMASH }, { frame: 5700, percent: 121, moveId: 14 }, { frame: 9800, percent: 88, moveId: 17 }],
  [
    { frame: 1500, percent: 104, moveId: UP_SMASH },
    { frame: 4300, percent: 87, moveId: 16 },
    { frame: 8200, percent: 132, moveId: 15 },
    { frame: 13_300, percent: 109, moveId: UP_SMASH },
  ],
];
/** The largest swing of the odds in that game. */
const TURNING_POINT = { playerIndex: 0, startFrame: 7600, before: 0.47, after: 0.81, damage: 64 };
/** The earlier games of the two players. */
const MATCHUP = {
  players: [
    {
      name: "Vixen",
      results: [{ opponent: "Tide", score: [3, 1], won: true }, { opponent: "Quill | Pip", score: [3, 0], won: true }],
      games: 24,
      averageSeconds: 176.4,
      openingsPerKill: 5.62,
      stages: [stageGames(31, "Battlefield", 9, 6), stageGames(32, "Final Destination", 6, 3)],
      worked: { character: thing("character", 2, "Fox"), ...stageGames(31, "Battlefield", 5, 4) },
    },
    {
      name: "Altea",
      results: [{ opponent: "Rook", score: [3, 2], won: true }, { opponent: "Kestrel", score: [1, 3], won: false }],
      games: 24,
      averageSeconds: 203.1,
      openingsPerKill: 6.28,
      stages: [stageGames(2, "Fountain of Dreams", 8, 5), stageGames(28, "Dream Land N64", 7, 4)],
      worked: { character: thing("character", 9, "Marth"), ...stageGames(2, "Fountain of Dreams", 3, 2) },
    },
  ],
  headToHead: { sets: [3, 1], games: [8, 5], last: { at: "2026-11-12T20:15:00Z", score: [2, 1] }, stages: [] },
};
const FINAL_PERCENT = 64;
const STOCKS = 4;

/** Sets of other stations. */
const OTHERS = [
  { station: "setup-2", names: ["Orla", "Quill | Pip"], score: [1, 1], round: "Losers Semifinal" },
  { station: "setup-3", names: ["Bramble", "Tide"], score: [3, 0], round: "Losers Quarterfinal", state: "over", winner: 0 },
  { station: "setup-4", names: ["Kestrel", "Mochi"], score: [0, 2], round: "Pool B" },
  { station: "setup-5", names: ["Lumen", "Rook"], score: [0, 0], round: "Grand Final", state: "upcoming" },
];

/**
 * Starts sending the messages of a scene.
 * @param {string} scene    As in its address.
 * @param {string} station
 * @param {Push} push
 */
export function playExample(scene, station, push) {
  const send = (/** @type {Message} */ message) => push({ station, ...message });
  push({ type: "connection", connection: "open", problem: "" });
  if (["live", "overlay", "versus", "controller"].includes(scene)) {
    playGame(send);
    return;
  }
  send({ type: "station", state: "idle" });
  if (scene === "up-next") {
    send(setOf(PEOPLE, [0, 0], { ...EVENT, state: "upcoming" }));
  } else if (scene === "matchup") {
    send(setOf(PEOPLE, [0, 0], { ...EVENT, state: "upcoming" }));
    send({ type: "matchup", ...MATCHUP });
  } else if (scene === "casters") {
    send(setOf(PEOPLE, [2, 1], { ...EVENT, casters: ["Mika @mika_casts", "Juno @juno"] }));
  } else if (scene === "ticker") {
    push(setOf(PEOPLE, [2, 1], { station: "setup-1", ...EVENT }));
  } else {
    send(setOf(PEOPLE, [3, 2], { ...EVENT, state: "over", winner: 0, games: gamesOfSet() }));
  }
  if (scene === "up-next" || scene === "ticker") {
    for (const [i, { station: name, names, score, ...values }] of OTHERS.entries()) {
      push(setOf(names.map((each) => ({ name: each })), score, { station: name, setId: String(i).repeat(32), ...values }));
    }
  }
}

/**
 * Answers a request of a scene, as the daemon would.
 * @param {string} path  Relative to the daemon's address.
 * @returns {Promise<{status: number, body: any}>}
 */
export async function answerExample(path) {
  const url = new URL(path, "http://example/");
  const [, gameId = GAME, partOfGame] = /^\/v1\/games\/([^/]+)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
  const part = url.pathname.endsWith("/set/turning-points") ? "turning-points" : partOfGame;
  const bodies = /** @type {Record<string, () => any>} */ ({
    "/v1/games": () => ({ games: gamesOfSet().map((game) => finishedGame(game.gameId)).reverse() }),
    "/v1/highlights": () => ({ highlights: highlights(url.searchParams.get("order") === "swing") }),
    "turning-points": () => ({ final: true, turningPoints: [{ gameId: gamesOfSet()[2].gameId, turningPoint: TURNING_POINT }] }),
    stats,
    odds: () => ({ final: true, turningPoints: [TURNING_POINT] }),
    frames: () => ({ frames: framesBetween(Number(url.searchParams.get("from")), Number(url.searchParams.get("to"))) }),
  });
  return { status: 200, body: (bodies[part ?? url.pathname] ?? (() => finishedGame(gameId)))() };
}

/**
 * @param {string} kind
 * @param {number} id
 * @param {string} name
 */
function thing(kind, id, name) {
  return { kind, id, name };
}

/**
 * @param {number} id
 * @param {string} name
 * @param {number} games
 * @param {number} won
 */
function stageGames(id, name, games, won) {
  return { stage: thing("stage", id, name), games, won };
}

/**
 * A running game, from a combo over two stocks to its end, again and again.
 * @param {Push} send
 */
function playGame(send) {
  let startedAt = performance.now();
  let lastSeconds = Infinity;
  const steps = stepsOfGame();
  send({ type: "station", state: "playing", gameId: GAME });
  send(setOf(PEOPLE, [2, 1], EVENT));
  const tick = () => {
    const now = performance.now();
    let seconds = (now - startedAt) / 1000;
    if (seconds >= LOOP_SECONDS || lastSeconds === Infinity) {
      startedAt = now;
      seconds = 0;
      lastSeconds = -1;
      send({ type: "game_start", gameId: GAME, format: "slippi", rate: [60, 1], settings: settings() });
    }
    const running = Math.min(seconds, END_SECONDS);
    const { percents, stocks } = steps.filter(({ at }) => at <= running).slice(-1)[0];
    const frame = FIRST_FRAME + Math.floor(running * FRAMES_PER_SECOND);
    if (lastSeconds < END_SECONDS) {
      send({ type: "frame", gameId: GAME, frame: { frame, revision: 0, players: playersAt(running, percents, stocks) } });
    }
    if (lastSeconds < END_SECONDS && Math.floor(running * 2) > Math.floor(lastSeconds * 2)) {
      const [own, other] = stocks.map((count, i) => 2 * count - percents[i] / 100);
      const odds = stocks[1] === 0 ? 1 : 1 / (1 + Math.exp(other - own));
      send({ type: "odds", gameId: GAME, frame, players: [0, 1], odds, stocks });
    }
    for (const { at, events } of steps) {
      if (at > lastSeconds && at <= seconds) {
        events.forEach((event) => send({ type: "event", gameId: GAME, frame, ...event }));
      }
    }
    if (lastSeconds < END_SECONDS && seconds >= END_SECONDS) {
      const winners = [{ playerIndex: 0, position: 0 }];
      send({ type: "game_end", gameId: GAME, reason: "game_end", winners, gameEnd: { gameEndMethod: 2 }, durationSeconds: 128 });
    }
    lastSeconds = seconds;
  };
  tick();
  setInterval(tick, MESSAGE_MS);
}

/** @returns {Step[]} */
function stepsOfGame() {
  const combo = (/** @type {number} */ by, /** @type {number[]} */ ...damages) => ({
    kind: "combo_extended",
    playerIndex: 1 - by,
    combo: { moves: damages.map((damage) => ({ playerIndex: by, hitCount: 1, damage })) },
  });
  const loss = (/** @type {number} */ by, /** @type {number} */ endPercent, /** @type {number} */ moveId) => [
    {
      kind: "conversion_ended",
      playerIndex: 1 - by,
      conversion: { lastHitBy: by, didKill: true, endPercent, moves: [{ moveId }] },
    },
    { kind: "stock_lost", playerIndex: 1 - by, stock: { endPercent } },
  ];
  return [
    { at: 0, percents: [62, 88], stocks: [3, 2], events: [combo(0, 9, 12, 10.5)] },
    { at: 1.5, percents: [62, 102], stocks: [3, 2], events: [combo(0, 9, 12, 10.5, 14)] },
    { at: 3, percents: [62, 0], stocks: [3, 1], events: loss(0, 117, UP_SMASH) },
    { at: 6, percents: [81, 0], stocks: [3, 1], events: [combo(1, 8, 11)] },
    { at: 7.5, percents: [124, 0], stocks: [3, 1], events: [combo(1, 8, 11, 13, 12, 18)] },
    { at: 8.5, percents: [0, 0], stocks: [2, 1], events: loss(1, 124, FORWARD_SMASH) },
    { at: 11, percents: [0, 47], stocks: [2, 1], events: [combo(0, 10, 13, 12, 12)] },
    { at: 12.5, percents: [0, 71], stocks: [2, 0], events: loss(0, 71, 17) },
  ];
}

/**
 * The players in a frame, with hands that move.
 * @param {number} seconds
 * @param {number[]} percents
 * @param {number[]} stocks
 */
function playersAt(seconds, percents, stocks) {
  const entries = PEOPLE.map((_, i) => {
    const turn = seconds * (2 + i) + i;
    const pre = {
      joystickX: 0.8 * Math.cos(turn),
      joystickY: 0.8 * Math.sin(turn),
      cStickX: 0,
      cStickY: Math.floor(seconds + i) % 3 === 0 ? 0.9 : 0,
      trigger: Math.floor(seconds * 2) % 4 === i ? 0.7 : 0,
      physicalButtons: Math.floor(seconds * 3 + i) % 2 === 0 ? 0x100 : 0x400,
    };
    return [i, { pre, post: { percent: percents[i], stocksRemaining: stocks[i] } }];
  });
  return Object.fromEntries(entries);
}

/** @param {number} [stageId] */
function settings(stageId = LAST_STAGE) {
  const players = PEOPLE.map(({ name, characterId, characterColor, code }, i) => ({
    playerIndex: i,
    port: i + 1,
    characterId,
    characterColor,
    startStocks: STOCKS,
    displayName: name,
    nametag: "",
    connectCode: code,
  }));
  return { stageId, inGameMode: 32, timerType: 2, startingTimerSeconds: 480, isTeams: false, players };
}

/**
 * @param {Record<string, any>[]} people
 * @param {number[]} score
 * @param {Record<string, any>} values
 */
function setOf(people, score, values) {
  const players = people.map((person, i) => ({ playerIndex: i, port: i + 1, side: i, score: score[i], ...person }));
  const sides = people.map(({ name }, i) => ({ name, score: score[i], won: score[i], players: [i] }));
  return { type: "set", state: "running", bestOf: 5, winsNeeded: 3, players, score, sides, games: [], ...values };
}

/** The games of the finished set. */
function gamesOfSet() {
  const score = [0, 0];
  return GAMES.map(({ winner, stocks, ...game }, i) => {
    score[winner] += 1;
    const players = PEOPLE.map(({ characterId, characterColor }, side) => ({
      playerIndex: side,
      port: side + 1,
      side,
      characterId,
      characterColor,
      stocks: side === winner ? stocks : 0,
    }));
    const gameId = i === GAMES.length - 1 ? GAME : String(i).repeat(GAME.length);
    return { ...game, gameId, verdict: "counted", counts: true, reason: "", winner, score: [...score], players };
  });
}

/**
 * A game of the finished set, as `/v1/games/{gameId}` describes it.
 * @param {string} gameId
 */
function finishedGame(gameId) {
  const games = gamesOfSet();
  const place = games.findIndex((game) => game.gameId === gameId);
  const { stageId, winner, durationSeconds } = games[place < 0 ? games.length - 1 : place];
  return {
    gameId,
    format: "slippi",
    rate: [60, 1],
    settings: settings(stageId),
    players: PEOPLE.map(({ name, code, characterId, characterColor }, index) =>
      ({ index, port: index + 1, name, code, character: characterId, color: characterColor }),
    ),
    lastFrame: LAST_FRAME,
    winners: [winner],
    reason: "game_end",
    durationSeconds,
    inProgress: false,
    endedAt: `2026-01-01T12:0${place}:00Z`,
  };
}

/**
 * The best moments of the set, as `/v1/highlights` lists them.
 * @param {boolean} withOdds
 */
function highlights(withOdds) {
  const kinds = [["last-stock"], ["zero-to-death"], [], ["comeback"], []];
  const kills = LOSSES.flatMap((losses, victim) => losses.map((loss) => ({ ...loss, victim }))).reverse();
  return kinds.map((reasons, i) => {
    const { frame, percent, victim } = kills[i];
    const moment = { of: "conversion", playerIndex: 1 - victim, opponentIndex: victim, startFrame: frame - 200, endFrame: frame };
    const { gameId } = gamesOfSet()[GAMES.length - 1 - i];
    const odds = { before: 0.5 + i / 20, after: 0.9 };
    return { gameId, number: i, highlight: { ...moment, score: 90 - i, reasons: ["kill", ...reasons], damage: percent, moves: 6 }, ...(withOdds ? { odds } : {}) };
  });
}

/** The stats of that game. Each stock is taken with hits at equal distances in time, the last of which kills. */
function stats() {
  const hits = 6;
  /** @type {Record<string, any>[]} */
  const stocks = [];
  /** @type {Record<string, any>[]} */
  const conversions = [];
  for (const [victim, losses] of LOSSES.entries()) {
    let startFrame = 0;
    for (const [i, { frame, percent, moveId }] of losses.entries()) {
      stocks.push({ playerIndex: victim, startFrame, endFrame: frame, startPercent: 0, endPercent: percent, count: STOCKS - i });
      const moves = Array.from({ length: hits }, (_, hit) => ({
        playerIndex: 1 - victim,
        frame: Math.round(startFrame + ((frame - startFrame) * (hit + 1)) / (hits + 0.3)),
        moveId: hit === hits - 1 ? moveId : 13,
        hitCount: 1,
        damage: percent / hits,
      }));
      conversions.push({ playerIndex: victim, lastHitBy: 1 - victim, didKill: true, endFrame: frame, endPercent: percent, moves });
      startFrame = frame;
    }
    if (losses.length < STOCKS) {
      stocks.push({ playerIndex: victim, startFrame, startPercent: 0, currentPercent: FINAL_PERCENT, count: STOCKS - losses.length });
      const damage = FINAL_PERCENT / 2;
      const moves = [600, 1900].map((after) => ({ playerIndex: 1 - victim, frame: startFrame + after, moveId: 13, hitCount: 1, damage }));
      conversions.push({ playerIndex: victim, lastHitBy: 1 - victim, didKill: false, moves });
    }
  }
  const overall = PEOPLE.map((_, i) => {
    const kills = LOSSES[1 - i].length;
    const taken = LOSSES[1 - i].reduce((sum, { percent }) => sum + percent, 0) + (i === 1 ? FINAL_PERCENT : 0);
    const openings = i === 0 ? 23 : 19;
    return {
      playerIndex: i,
      totalDamage: taken,
      openingsPerKill: { count: openings, total: kills, ratio: openings / kills },
      damagePerOpening: { count: taken, total: openings, ratio: taken / openings },
      neutralWinRatio: { count: openings - 7, total: 29, ratio: (openings - 7) / 29 },
    };
  });
  return { gameComplete: true, lastFrame: LAST_FRAME, stocks, conversions, overall };
}

const LAUNCH_FRAMES = 50;
const JUMP = 25;
const DAMAGE_FLY = 88;
const DEAD_UP = 4;
const WAIT = 14;
/** The frames after a lost stock that still show it. */
const AFTER_FRAMES = 60;

/**
 * The frames around the kills: one player chases the other, who is launched over the upper edge.
 * @param {number} from
 * @param {number} to  Inclusive.
 */
function framesBetween(from, to) {
  const kills = LOSSES.flatMap((losses, victim) => losses.map((loss) => ({ ...loss, victim })));
  kills.sort((one, other) => one.frame - other.frame);
  const frames = [];
  for (let frame = from; frame <= Math.min(to, LAST_FRAME); frame++) {
    const kill = kills.find((each) => frame <= each.frame + AFTER_FRAMES) ?? kills[kills.length - 1];
    const launchFrame = kill.frame - LAUNCH_FRAMES;
    const before = Math.max(0, launchFrame - frame);
    const flight = Math.max(0, Math.min(frame, kill.frame) - launchFrame);
    const hop = before > 0 ? 20 * Math.abs(Math.sin(before / 22)) : 0;
    const isHit = (before > 0 && before % 80 > 55) || flight > 0;
    const percent = kill.percent - (before > 170 ? 38 : before > 0 ? 14 : 0);
    const side = kill.victim === 0 ? -1 : 1;
    const stocksOf = (/** @type {number} */ index) =>
      STOCKS - LOSSES[index].filter((loss) => loss.frame < frame).length;
    const chaser = {
      percent: FINAL_PERCENT,
      stocksRemaining: stocksOf(1 - kill.victim),
      positionX: side * (18 - before * 0.28),
      positionY: hop,
      facingDirection: side,
      actionStateId: hop > 1 ? JUMP : WAIT,
      isAirborne: hop > 1,
    };
    const chased = {
      percent,
      stocksRemaining: stocksOf(kill.victim),
      positionX: side * (26 + 8 * Math.sin(before / 25) + flight * 0.5),
      positionY: flight * 4.2,
      facingDirection: -side,
      actionStateId: frame >= kill.frame ? DEAD_UP : isHit ? DAMAGE_FLY : WAIT,
      isAirborne: flight > 0,
    };
    frames.push({ frame, revision: 0, players: { [1 - kill.victim]: { post: chaser }, [kill.victim]: { post: chased } } });
  }
  return frames;
}
