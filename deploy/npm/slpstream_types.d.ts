// Made by deploy/npm/declarations.py.
export type Topic = "game" | "frame" | "event" | "stats" | "diagnostic";
export type FramesMode = "live" | "finalized";
export type Delivery = "conflate" | "lossless";
export type StationState = StationMessage["state"];

/** Once per frame and character, before the game uses the inputs. Ice Climbers are two characters. */
export interface PreFrameUpdate {
  /** Frame number. The first is -123; the timer starts at 0. (frame number, since 0.1.0) */
  frame?: number;
  /** Player index, 0 to 3. The port is the index + 1. (since 0.1.0) */
  playerIndex?: number;
  /** True for a follower (Nana), which has the index of its player. (since 0.1.0) */
  isFollower?: boolean;
  /** Random seed at this point of the frame. (since 0.1.0) */
  seed?: number;
  /** State of the character. (since 0.1.0) */
  actionStateId?: number;
  /** X position. (game units, since 0.1.0) */
  positionX?: number;
  /** Y position. (game units, since 0.1.0) */
  positionY?: number;
  /** -1 left, 1 right. It can be 0. ([-1, 1], since 0.1.0) */
  facingDirection?: number;
  /** Processed joystick, x. ([-1, 1], since 0.1.0) */
  joystickX?: number;
  /** Processed joystick, y. ([-1, 1], since 0.1.0) */
  joystickY?: number;
  /** Processed C-stick, x. ([-1, 1], since 0.1.0) */
  cStickX?: number;
  /** Processed C-stick, y. ([-1, 1], since 0.1.0) */
  cStickY?: number;
  /** Processed trigger. ([0, 1], since 0.1.0) */
  trigger?: number;
  /** Processed buttons; the lower 16 bits are the physical buttons. (bits, since 0.1.0) */
  buttons?: number;
  /** Physical buttons: ***S YXBA *LRZ UDRL. (bits, since 0.1.0) */
  physicalButtons?: number;
  /** Physical left trigger. ([0, 1], since 0.1.0) */
  physicalLTrigger?: number;
  /** Physical right trigger. ([0, 1], since 0.1.0) */
  physicalRTrigger?: number;
  /** Raw joystick, x. UCF reads it. ([-128, 127], since 1.2.0) */
  rawJoystickX?: number;
  /** Damage. (percent, since 1.4.0) */
  percent?: number;
  /** Raw joystick, y. ([-128, 127], since 3.15.0) */
  rawJoystickY?: number;
  /** Raw C-stick, x. ([-128, 127], since 3.17.0) */
  rawCStickX?: number;
  /** Raw C-stick, y. ([-128, 127], since 3.17.0) */
  rawCStickY?: number;
}

/** `self_induced_speeds`. */
export interface SelfInducedSpeeds {
  /** Own air speed, x. (game units a frame, since 3.5.0) */
  airX?: number;
  /** Own speed, y. (game units a frame, since 3.5.0) */
  y?: number;
  /** Speed from knockback, x. (game units a frame, since 3.5.0) */
  attackX?: number;
  /** Speed from knockback, y. (game units a frame, since 3.5.0) */
  attackY?: number;
  /** Own ground speed, x. (game units a frame, since 3.5.0) */
  groundX?: number;
}

/** Once per frame and character, after collision detection. Stats are computed from these values. */
export interface PostFrameUpdate {
  /** Frame number. The first is -123; the timer starts at 0. (frame number, since 0.1.0) */
  frame?: number;
  /** Player index, 0 to 3. The port is the index + 1. (since 0.1.0) */
  playerIndex?: number;
  /** True for a follower (Nana), which has the index of its player. (since 0.1.0) */
  isFollower?: boolean;
  /** Only Zelda and Sheik change during a game. (since 0.1.0) */
  internalCharacterId?: number;
  /** State of the character. (since 0.1.0) */
  actionStateId?: number;
  /** X position. (game units, since 0.1.0) */
  positionX?: number;
  /** Y position. (game units, since 0.1.0) */
  positionY?: number;
  /** -1 left, 1 right. It can be 0. ([-1, 1], since 0.1.0) */
  facingDirection?: number;
  /** Damage. (percent, since 0.1.0) */
  percent?: number;
  /** Size of the shield. ([0, 60], since 0.1.0) */
  shieldSize?: number;
  /** Move id of the last attack that hit. (since 0.1.0) */
  lastAttackLanded?: number;
  /** Combo count by the rules of the game itself. (since 0.1.0) */
  currentComboCount?: number;
  /** Player index of the last hit's author; 6 for none. (since 0.1.0) */
  lastHitBy?: number;
  /** Stocks left. (stocks, since 0.1.0) */
  stocksRemaining?: number;
  /** Time in the current action state. (frames, since 0.2.0) */
  actionStateCounter?: number;
  /** 0x02 absorbs, 0x08 reflects, same owner, 0x10 reflects. (bits, since 2.0.0) */
  stateFlags1?: number;
  /** 0x04 invincible, 0x08 fast fall, 0x10 and 0x20 hitlag. (bits, since 2.0.0) */
  stateFlags2?: number;
  /** 0x04 holds a grab, 0x80 shield. (bits, since 2.0.0) */
  stateFlags3?: number;
  /** 0x02 hitstun, 0x04 shield touched, 0x20 powershield. (bits, since 2.0.0) */
  stateFlags4?: number;
  /** 0x08 follower, 0x10 inactive, 0x40 dead, 0x80 off screen. (bits, since 2.0.0) */
  stateFlags5?: number;
  /** In hitstun, the frames of it that remain. (frames, since 2.0.0) */
  miscActionState?: number;
  /** True in the air, false on the ground. (since 2.0.0) */
  isAirborne?: boolean;
  /** Id of the last ground that the character stood on. (since 2.0.0) */
  lastGroundId?: number;
  /** Jumps left. (jumps, since 2.0.0) */
  jumpsRemaining?: number;
  /** 0 none, 1 successful, 2 unsuccessful. (since 2.0.0) */
  lCancelStatus?: number;
  /** 0 vulnerable, 1 invulnerable, 2 intangible. (since 2.1.0) */
  hurtboxCollisionState?: number;
  /** (since 3.5.0) */
  selfInducedSpeeds?: SelfInducedSpeeds;
  /** Frames of hitlag that remain. (frames, since 3.8.0) */
  hitlagRemaining?: number;
  /** Animation index. (since 3.11.0) */
  animationIndex?: number;
  /** Instance id of the attack that hit this player. (since 3.16.0) */
  instanceHitBy?: number;
  /** Instance id of the current action. (since 3.16.0) */
  instanceId?: number;
}

/** Once per frame, as its first event. */
export interface FrameStart {
  /** Frame number. The first is -123; the timer starts at 0. (frame number, since 2.2.0) */
  frame?: number;
  /** Random seed at the start of the frame. (since 2.2.0) */
  seed?: number;
  /** Counts on during a pause, so a jump shows one. (frames, since 3.10.0) */
  sceneFrameCounter?: number;
}

/** Once per frame and item, for at most 15 items. Projectiles are items. */
export interface ItemUpdate {
  /** Frame number. The first is -123; the timer starts at 0. (frame number, since 3.0.0) */
  frame?: number;
  /** Item type. (since 3.0.0) */
  typeId?: number;
  /** State of the item; its meaning depends on the type. (since 3.0.0) */
  state?: number;
  /** -1 left, 1 right. ([-1, 1], since 3.0.0) */
  facingDirection?: number;
  /** X velocity. (game units a frame, since 3.0.0) */
  velocityX?: number;
  /** Y velocity. (game units a frame, since 3.0.0) */
  velocityY?: number;
  /** X position. (game units, since 3.0.0) */
  positionX?: number;
  /** Y position. (game units, since 3.0.0) */
  positionY?: number;
  /** Damage that the item has taken. (percent, since 3.0.0) */
  damageTaken?: number;
  /** Frames until it expires. It can be negative. (frames, since 3.0.0) */
  expirationTimer?: number;
  /** Number of the item, counted over the game. (since 3.0.0) */
  spawnId?: number;
  /** Samus's missile: 0 homing, 1 super. (since 3.2.0) */
  missileType?: number;
  /** Peach's turnip: 0 smile, 1 T eyes, ... 7 stitch face. (since 3.2.0) */
  turnipFace?: number;
  /** Charge shot: 0 charging, 1 launched. (since 3.2.0) */
  chargeShotLaunched?: number;
  /** Charge shot: 0 to 7. (since 3.2.0) */
  chargePower?: number;
  /** Player index of the owner; -1 for none. (since 3.6.0) */
  owner?: number;
  /** Instance id, as in the Post-Frame Update. (since 3.16.0) */
  instanceId?: number;
}

/** One character's part of a frame. */
export interface PlayerFrame {
  pre?: PreFrameUpdate;
  post?: PostFrameUpdate;
}

/** The `frame` of a `frame` message. `players` and `followers` are by player index, which is a string in JSON. */
export interface FrameEntry {
  frame: number;
  revision: number;
  start?: FrameStart;
  players?: Record<string, PlayerFrame>;
  followers?: Record<string, PlayerFrame>;
  items?: ItemUpdate[];
  stageEvents?: Record<string, any>[];
}

/** slippi-js `PlayerType` and four more fields. */
export interface PlayerSettings {
  playerIndex: number;
  port: number;
  characterId: number;
  type: number;
  startStocks: number;
  characterColor: number;
  teamShade: number;
  handicap: number;
  teamId: number;
  staminaMode: boolean;
  silentCharacter: boolean;
  lowGravity: boolean;
  invisible: boolean;
  blackStockIcon: boolean;
  metal: boolean;
  startOnAngelPlatform: boolean;
  rumbleEnabled: boolean;
  cpuLevel: number;
  damageStart: number;
  damageSpawn: number;
  offenseRatio: number;
  defenseRatio: number;
  modelScale: number;
  controllerFix: string;
  dashbackFix?: number;
  shieldDropFix?: number;
  nametag: string;
  displayName: string;
  connectCode: string;
  userId: string;
}

/** slippi-js `GameInfoType`. */
export interface GameInfo {
  gameBitfield1: number;
  gameBitfield2: number;
  gameBitfield3: number;
  gameBitfield4: number;
  bombRainEnabled: boolean;
  selfDestructScoreValue: number;
  itemSpawnBitfield1: number;
  itemSpawnBitfield2: number;
  itemSpawnBitfield3: number;
  itemSpawnBitfield4: number;
  itemSpawnBitfield5: number;
  damageRatio: number;
}

/** slippi-js `MatchInfo`. `match_id` is the old name of `session_id`. */
export interface MatchInfo {
  sessionId: string;
  gameNumber?: number;
  tiebreakerNumber?: number;
  matchId: string;
}

/** slippi-js `GameStartType`. `scene` is the minor scene and `game_mode` the major scene. */
export interface Settings {
  slpVersion: string;
  timerType: number;
  inGameMode: number;
  friendlyFireEnabled: boolean;
  isTeams: boolean;
  itemSpawnBehavior: number;
  stageId: number;
  startingTimerSeconds: number;
  enabledItems: number;
  players: PlayerSettings[];
  scene?: number;
  gameMode?: number;
  language?: number;
  gameInfoBlock: GameInfo;
  randomSeed: number;
  isPAL?: boolean;
  isFrozenPS?: boolean;
  stadiumFrozen?: boolean;
  matchInfo: MatchInfo;
}

/** slippi-js `StockType`: one life, from the first frame in which the player is not dying. */
export interface Stock {
  playerIndex: number;
  startFrame: number;
  endFrame?: number;
  startPercent?: number;
  endPercent?: number;
  currentPercent?: number;
  count?: number;
  deathAnimation?: number;
}

/** slippi-js `MoveLandedType`: a move that hit, once or several times. */
export interface Move {
  playerIndex: number;
  frame: number;
  moveId: number;
  hitCount: number;
  damage: number;
}

/** slippi-js `ConversionType`: a punish on `player_index` by `last_hit_by`. */
export interface Conversion {
  playerIndex: number;
  startFrame: number;
  lastHitBy?: number;
  endFrame?: number;
  startPercent?: number;
  currentPercent?: number;
  endPercent?: number;
  moves?: Move[];
  didKill?: boolean;
  openingType?: string;
}

/** slippi-js `ComboType`: hits with less than 45 frames outside hitstun, grabs and knockdowns in between. */
export interface Combo {
  playerIndex: number;
  startFrame: number;
  lastHitBy?: number;
  endFrame?: number;
  startPercent?: number;
  currentPercent?: number;
  endPercent?: number;
  moves?: Move[];
  didKill?: boolean;
}

/** Landings that ended in a fall or a teeter: `success` before the L-cancelled lag, `slow` before the full lag. */
export interface EdgeCancels {
  success: number;
  slow: number;
}

/** Counts of successes and failures. */
export interface Successes {
  success: number;
  fail: number;
}

/** Attacks by kind. */
export interface Attacks {
  jab1: number;
  jab2: number;
  jab3: number;
  jabm: number;
  dash: number;
  ftilt: number;
  utilt: number;
  dtilt: number;
  fsmash: number;
  usmash: number;
  dsmash: number;
  nair: number;
  fair: number;
  bair: number;
  uair: number;
  dair: number;
}

/** Throws by direction. */
export interface Throws {
  up: number;
  forward: number;
  back: number;
  down: number;
}

export interface GroundTechs {
  away: number;
  in: number;
  neutral: number;
  fail: number;
}

/** slippi-js `ActionCountsType`: the actions of a player. */
export interface ActionCounts {
  playerIndex: number;
  wavedashCount: number;
  wavelandCount: number;
  airDodgeCount: number;
  dashDanceCount: number;
  spotDodgeCount: number;
  ledgegrabCount: number;
  rollCount: number;
  tauntCount: number;
  edgeCancelCount: EdgeCancels;
  lCancelCount: Successes;
  attackCount: Attacks;
  grabCount: Successes;
  throwCount: Throws;
  groundTechCount: GroundTechs;
  wallTechCount: Successes;
}

/** slippi-js `InputCountsType`: inputs from frame -39 on. */
export interface InputCounts {
  buttons?: number;
  triggers?: number;
  cstick?: number;
  joystick?: number;
  total?: number;
}

/** slippi-js `RatioType`. `ratio` is left out when `total` is 0. */
export interface Ratio {
  count?: number;
  total: number;
  ratio?: number;
}

/** slippi-js `OverallType`: the overall stats of a player. */
export interface Overall {
  playerIndex: number;
  inputCounts: InputCounts;
  conversionCount: number;
  totalDamage: number;
  killCount: number;
  successfulConversions: Ratio;
  inputsPerMinute: Ratio;
  digitalInputsPerMinute: Ratio;
  openingsPerKill: Ratio;
  damagePerOpening: Ratio;
  neutralWinRatio: Ratio;
  counterHitRatio: Ratio;
  beneficialTradeRatio: Ratio;
}

/** slippi-js `StatsType`, and `extra`. */
export interface Stats {
  gameComplete: boolean;
  lastFrame: number;
  playableFrameCount: number;
  stocks: Stock[];
  conversions: Conversion[];
  combos: Combo[];
  actionCounts: ActionCounts[];
  overall: Overall[];
  extra?: any;
}

/** Something that a game numbers or names: a stage, a course, a character, a machine. */
export interface Thing {
  /** The game's word for it: `stage`, `course`, `machine`. */
  kind?: string;
  /** As in the settings. */
  id?: number | string;
  /** Left out for an id without a known name. */
  name?: string;
}

/** One player. Values that the format does not have are left out. */
export interface PlayerSummary {
  /** Player index. */
  index: number;
  port?: number;
  /** Display name, or the only name that the format has. */
  name?: string;
  /** In-game name tag. */
  tag?: string;
  /** Connect code. */
  code?: string;
  /** The character, machine or car of the player. */
  character?: Thing;
  /** Number of the costume or paint job. */
  color?: number;
  /** Number of the team; meaningless unless `isTeams`. */
  team?: number;
  /** The team in a word: `red`. */
  teamName?: string;
  /** False when the computer plays. */
  human?: boolean;
  /** Left out in modes without stocks. */
  startStocks?: number;
  /** Score at the end, in modes that are played for a score: KOs minus falls. */
  score?: number;
  /** `character`, `color`, `team` and `human` exactly as in the settings. */
  setup?: Record<string, any>;
}

/** One game. The values that depend on its end are missing until then. */
export interface GameSummary {
  /** Version of the game or of the format. */
  version?: string;
  /** Where it was played: a stage, a course, a track. */
  place?: Thing;
  /** The rules in a few words: `Time Attack, 3 laps`. */
  rules?: string;
  /** `time`, `coin`, `bonus`, `stamina`, or `mode 4` for one without a name; empty for stock mode. */
  mode?: string;
  players?: PlayerSummary[];
  /** Who played, in one line, where a line for each player would not say it well. */
  who?: string;
  isTeams?: boolean;
  /** Players play against each other for points, so games are grouped into sets. */
  versus?: boolean;
  /** Id of the match when the game itself counts one (ranked). */
  matchId?: string;
  /** The game is the sudden death that decides the game before it. */
  suddenDeath?: boolean;
  /** Beginning according to the file, ISO 8601; without a zone it is the console's clock. */
  startedAt?: string;
  /** `finished`, `time` (the clock ran out) or `quit`; left out if the replay does not show it. */
  ending?: "finished" | "time" | "quit";
  /** Player index of the player who quit. */
  quitter?: number;
  /** Player indices. */
  winners?: number[];
  /** Several sides came first, and a sudden death follows. */
  tied?: boolean;
  /** `inferred`: the replay has no end, and its last frame shows the winners; else left out. */
  basis?: "" | "inferred";
  /** Place and rules exactly as in the settings: `stageId`, `laps`, ... */
  setup?: Record<string, any>;
}

/** A player of a set, as in its newest game. */
export interface SetPlayer {
  /** Player index: the port, counted from 0. */
  playerIndex: number;
  port: number;
  /** Place in `sides`. */
  side: number;
  /** Games won by the player's side. */
  score: number;
  /** The operator's name, or else that of the seat, netplay name or tag; left out if none is known. */
  name?: string;
  namedByOperator?: boolean;
  /** The name with which the seat was claimed; left out if it was not. */
  seatName?: string;
  connectCode?: string;
  netplayName?: string;
  /** In-game name tag. */
  tag?: string;
  characterId?: number;
  characterColor?: number;
  /** 0 red, 1 blue, 2 green; left out without teams. */
  team?: number;
  /** The sponsor or team of the player, from the operator or the seat. `name` does not contain it. */
  sponsor?: string;
  /** From the operator or the seat. */
  pronouns?: string;
  /** The operator's: seed in the event, from 1. */
  seed?: number;
}

/** One crew. */
export interface Crew {
  /** Empty: the name of the player whose turn it is. */
  name?: string;
  /** Stocks of all its players together. */
  stocks?: number;
}

/** The crews of a set that is a crew battle. */
export interface CrewBattle {
  /** In the order of `sides`: that of the ports in the first game. */
  crews?: Crew[];
  /** Stocks of a player who enters. */
  stocksPerPlayer?: number;
}

/** One side of a set: a player or a team. */
export interface SetSide {
  /** The names of its players, when all have one. */
  name?: string;
  /** `won` plus `added`, never below 0. In a crew battle: stocks left. */
  score: number;
  /** Games won that count; in a crew battle the stocks that the games have left. */
  won: number;
  /** Points added by the operator. */
  added?: number;
  /** Player indices. */
  players: number[];
}

/** A player in one game of a set. */
export interface GamePlayer {
  /** Player index: the port, counted from 0. */
  playerIndex: number;
  port: number;
  /** Place in `sides`. */
  side: number;
  characterId?: number;
  characterColor?: number;
  /** Stocks at the end. */
  stocks?: number;
  /** Percent at the end. */
  percent?: number;
  /** Score at the end, in time mode. */
  score?: number;
  /** Only in a crew battle: the player whose turn it was. */
  name?: string;
  /** Only in a crew battle: stocks that the player came with. */
  enteredStocks?: number;
  /** Only in a crew battle: stocks that the player left with, if the game counts. */
  keptStocks?: number;
}

/** The operator's decision about a game. */
export interface OperatorDecision {
  counts?: boolean;
  /** Player index in this game. */
  winner?: number;
  beginsSet?: boolean;
  /** The side in the set of each player, by player index. */
  sides?: Record<string, number>;
  /** In a crew battle: the stocks that players left with, by player index. */
  stocks?: Record<string, number>;
}

/** A sudden death that ended a game of a set. */
export interface ScoredSuddenDeath {
  /** Id of its own replay. */
  gameId: string;
  durationSeconds?: number;
}

/** One game of a set. */
export interface ScoredGame {
  gameId: string;
  stageId?: number;
  /** `time`, `coin`, `bonus`, `stamina`; left out for stock mode. */
  mode?: string;
  durationSeconds?: number;
  verdict: "playing" | "counted" | "handwarmer" | "quit" | "unfinished" | "no_winner" | "with_cpu" | "sudden_death" | "not_counted_by_operator";
  /** Whether it is a point for `winner`. */
  counts: boolean;
  /** Why it counts or does not, for people. */
  reason: string;
  /** The side that won it, also when it does not count. */
  winner?: number;
  /** The scores of all sides after it. */
  score: number[];
  players: GamePlayer[];
  operator?: OperatorDecision;
  /** The sudden deaths that ended it, in order; the last one decides. They are no games. */
  suddenDeaths?: ScoredSuddenDeath[];
}

/** The current, latest or next set of a station. */
export interface SetScore {
  /** Id of its first game; left out before that. */
  setId?: string;
  /** Its newest game or sudden death: player indices are those of this game. */
  gameId?: string;
  /** `upcoming`: no game has begun. */
  state: "upcoming" | "running" | "over";
  /** Length of the set in games; of a crew battle the longest that it can be. */
  bestOf: number;
  /** Wins that decide the set; 0 in a crew battle, which stocks decide. */
  winsNeeded: number;
  /** In the order of `sides`. */
  players: SetPlayer[];
  /** Games won, in the order of `players`; in a crew battle the stocks of their crews. */
  score: number[];
  /** The crews, if the set is a crew battle. `players` has those who play now. */
  crewBattle?: CrewBattle;
  sides: SetSide[];
  /** The side that won; left out while the set is not over, and for a tie. */
  winner?: number;
  /** In order, the newest 20; in a set of more than 10 games twice as many. */
  games: ScoredGame[];
  /** Games of the set that are not in `games`. */
  olderGames?: number;
  /** Round of the set, as the operator calls it. */
  round?: string;
  /** Event, as the operator calls it. */
  event?: string;
  /** Commentators, as the operator names them. */
  casters?: string[];
  /** Show the second of two sides on the left. The order of `sides` itself stays. */
  swapped?: boolean;
  /** Id of the newest change by an operator on this station; left out if there is none. */
  lastChange?: number;
}

/** A set that a player has played. */
export interface SetResult {
  /** 32 hex digits. */
  setId: string;
  /** When its first game began. */
  at: string;
  /** Left out if the opponent has no name. */
  opponent?: string;
  /** The score of the player, and that of the opponent. */
  score: number[];
  won: boolean;
}

/** How often a player has played on a stage. */
export interface StageRecord {
  stage: Thing;
  games: number;
  won: number;
}

/** The character and the stage with which a player has won most games against the other. */
export interface Worked {
  character: Thing;
  stage: Thing;
  games: number;
  won: number;
}

/** A player, with figures from the newest games that count. */
export interface MatchupPlayer {
  name: string;
  /** Connect code. */
  code?: string;
  /** The last sets in the 12 hours before this one, beginning with the newest. */
  results: SetResult[];
  /** How many games the figures below are from. */
  games: number;
  /** Average length of a game. */
  averageSeconds?: number;
  /** Left out if no game has stats. */
  openingsPerKill?: number;
  /** The stages that were played most. */
  stages: StageRecord[];
  worked?: Worked;
}

/** A set of both players. */
export interface Meeting {
  /** 32 hex digits. */
  setId: string;
  /** When its first game began. */
  at: string;
  /** A number for each player, in the order of `players`. */
  score: number[];
}

/** How the games of both players on a stage ended. */
export interface StageGames {
  stage: Thing;
  /** A number for each player, in the order of `players`. */
  won: number[];
}

/** The earlier games of both players against each other. */
export interface HeadToHead {
  /** The sets that each of them has won. */
  sets: number[];
  /** The games that each of them has won. */
  games: number[];
  /** There are more games: only the newest ones are counted. Otherwise left out. */
  limited?: boolean;
  /** The newest set. Left out if there is none. */
  last?: Meeting;
  /** The stages that were played most. */
  stages: StageGames[];
}

/** The director's choice, as the messages of a station have it. Only with `also`. */
export interface DirectorMessage {
  type: "director";
  station: string;
  /** Whether the director shows this station large. */
  chosen: boolean;
  /** Whether the operator has pinned it. */
  pinned: boolean;
}

/** The earlier games of the two players of a set. Only with `also`. */
export interface MatchupMessage {
  type: "matchup";
  station: string;
  /** Left out while no game of the set has begun. */
  setId?: string;
  /** Why nothing is known, such as `a set of teams`. Left out if there is a matchup. */
  withoutMatchup?: string;
  /** Two players in the order of `sides`, or none. */
  players: MatchupPlayer[];
  headToHead?: HeadToHead;
}

/** The odds in one frame, as messages have them. Only with `also`. */
export interface OddsMessage {
  type: "odds";
  station: string;
  /** 32 hex digits. */
  gameId: string;
  frame: number;
  /** The cursor of the frame in the `finalized` log. */
  frameCursor: string;
  /** The two players. The odds are those of the first one. */
  players: number[];
  /** The chance of the first player to win, from 0 to 1. */
  odds: number;
  /** The stocks of both players. */
  stocks: number[];
}

export type PartMessage =
  | DirectorMessage
  | MatchupMessage
  | OddsMessage;

/** The members of every log message. */
export interface Envelope {
  station: string;
  gameId: string;
  /** The position in the log. Pass it to `connect` to continue after this message. */
  cursor: string;
}

/** The place of a player at the end of a game. The first position is 0. */
export interface Placement {
  playerIndex: number;
  position?: number;
}

/** The score of a player in a game without stocks. */
export interface PlayerScore {
  playerIndex: number;
  kos: number;
  falls: number;
  selfDestructs: number;
  score?: number;
}

/** slippi-js `GameEndType`. */
export interface MeleeGameEnd {
  gameEndMethod: number;
  lrasInitiatorIndex?: number;
  placements?: Placement[];
}

/** A game has begun. `settings` are those of Slippi; other formats have settings of their own. */
export interface GameStartMessage extends Envelope {
  type: "game_start";
  format: string;
  /** Frames per second, as a fraction. */
  rate: number[];
  settings: Settings;
}

/** A frame. A rollback sends its number again, with the next `revision`. */
export interface FrameMessage extends Envelope {
  type: "frame";
  frame: FrameEntry;
}

/** The frames up to `through` will not change any more. */
export interface FinalizedMessage extends Envelope {
  type: "finalized";
  through: number;
}

/** The stats as of `frame`. */
export interface StatsMessage extends Envelope {
  type: "stats";
  frame: number;
  stats: Stats;
}

/** A game has ended. */
export interface GameEndMessage extends Envelope {
  type: "game_end";
  reason: "game_end" | "raw_length" | "file_end" | "incomplete" | "error";
  winners: Placement[];
  gameEnd?: MeleeGameEnd;
  lastFrame?: number;
  durationSeconds?: number;
  scores?: PlayerScore[];
  tied?: boolean;
  basis?: "inferred";
}

/** The metadata of the file, when the game has closed it. */
export interface MetadataMessage extends Envelope {
  type: "metadata";
  metadata: Record<string, any>;
}

/** Something is unusual about the bytes. Before the game has begun, there is neither a game nor a cursor. */
export interface DiagnosticMessage {
  type: "diagnostic";
  station: string;
  gameId?: string;
  cursor?: string;
  severity: "info" | "warning" | "error";
  code: string;
  offset: number;
  message: string;
}

/** Something happened in the game. The messages below have what belongs to their `kind`. */
export interface GameEventMessage extends Envelope {
  type: "event";
  frame?: number;
}

/** A final frame had been sent more than once. */
export interface RollbackMessage extends GameEventMessage {
  kind: "rollback";
  sent: number;
  frames: number;
}

/** Play continues after a pause of `frames`. */
export interface GamePausedMessage extends GameEventMessage {
  kind: "game_paused";
  frames: number;
}

/** Something happened to a player. */
export interface PlayerEventMessage extends GameEventMessage {
  playerIndex: number;
}

/** Zelda or Sheik transformed. */
export interface TransformedMessage extends PlayerEventMessage {
  kind: "transformed";
  fromInternalCharacterId: number;
  internalCharacterId: number;
}

/** A life begins. */
export interface PlayerSpawnedMessage extends PlayerEventMessage {
  kind: "player_spawned";
  stocksRemaining?: number;
}

/** A player has lost a stock. */
export interface StockLostMessage extends PlayerEventMessage {
  kind: "stock_lost";
  stocksRemaining: number;
  stock: Stock;
}

/** A life ended in a game without stocks. */
export interface FallMessage extends PlayerEventMessage {
  kind: "fall";
  byPlayerIndex?: number;
  selfDestruct: boolean;
  life: Stock;
  scores: PlayerScore[];
}

/** The percent of a player differs from the frame before. */
export interface PercentChangedMessage extends PlayerEventMessage {
  kind: "percent_changed";
  percent: number;
  change: number;
}

/** A punish on the player has begun or ended. */
export interface ConversionMessage extends PlayerEventMessage {
  kind: "conversion_started" | "conversion_ended";
  conversion: Conversion;
}

/** A combo on the player has begun, was extended by a hit, or has ended. */
export interface ComboMessage extends PlayerEventMessage {
  kind: "combo_started" | "combo_extended" | "combo_ended";
  combo: Combo;
}

/** A landing with an L-cancel, successful or not. */
export interface LCancelMessage extends PlayerEventMessage {
  kind: "lcancel";
  success: boolean;
  actionStateId: number;
}

/** A tech or a missed tech. */
export interface TechMessage extends PlayerEventMessage {
  kind: "tech";
  outcome: "in" | "away" | "neutral" | "missed" | "wall" | "wall_missed";
}

/** The player grabbed a ledge. */
export interface LedgeGrabMessage extends PlayerEventMessage {
  kind: "ledge_grab";
}

/** A moment that is worth showing again. */
export interface HighlightMessage extends PlayerEventMessage {
  kind: "highlight";
  of: string;
  opponentIndex: number;
  startFrame: number;
  endFrame: number;
  score: number;
  reasons: string[];
  startPercent?: number;
  damage?: number;
  moves?: number;
}

/** The first message on every connection. */
export interface HelloMessage {
  type: "hello";
  protocol: number;
  version: string;
  stations: string[];
}

/** The game in progress, for a client that joins it live. */
export interface SnapshotMessage extends Envelope {
  type: "snapshot";
  format?: string;
  rate?: number[];
  settings?: Settings;
  summary: GameSummary;
  frame?: FrameEntry;
  stats?: Stats;
  set?: SetScore;
}

/** The state of a station, whenever it changes. */
export interface StationMessage {
  type: "station";
  station: string;
  state: "idle" | "playing" | "stalled" | "offline";
  reason?: string;
  starting?: boolean;
  gameId?: string;
  summary?: GameSummary;
  at?: string;
}

/** The set of a station, whenever it changes. */
export interface SetMessage extends SetScore {
  type: "set";
  station: string;
}

/** The station on air. */
export interface OnAirMessage {
  type: "on_air";
  station: string | null;
  by: "operator" | "rule" | null;
  since: string | null;
}

/** One of the configured situations was found in the game that is played. */
export interface SituationMessage {
  type: "situation";
  station: string;
  gameId: string;
  at: string;
  name: string;
  query: string;
  number: number;
  player: PlayerSummary;
  opponent: PlayerSummary;
  frames: number[];
  knownFrame: number;
}

/** How many messages this client has missed. */
export interface LaggedMessage {
  type: "lagged";
  missed: number;
}

export type EventMessage =
  | RollbackMessage
  | GamePausedMessage
  | TransformedMessage
  | PlayerSpawnedMessage
  | StockLostMessage
  | FallMessage
  | PercentChangedMessage
  | ConversionMessage
  | ComboMessage
  | LCancelMessage
  | TechMessage
  | LedgeGrabMessage
  | HighlightMessage;

export type StatusMessage =
  | HelloMessage
  | SnapshotMessage
  | StationMessage
  | SetMessage
  | OnAirMessage
  | SituationMessage
  | LaggedMessage
  | PartMessage
  | ErrorMessage;

export type Message =
  | GameStartMessage
  | FrameMessage
  | FinalizedMessage
  | EventMessage
  | StatsMessage
  | GameEndMessage
  | MetadataMessage
  | DiagnosticMessage
  | StatusMessage;

/** The daemon refuses something, and closes the connection with the code. */
export interface ErrorMessage {
  type: "error";
  code: number;
  message: string;
}

/** The argument of a client's listeners, by type. `reset` has the station whose log cannot be continued. */
export type Events = { [T in Message["type"]]: Extract<Message, { type: T }> } & {
  message: Message;
  connection: "connecting" | "open" | "waiting" | "closed";
  reset: string;
};
