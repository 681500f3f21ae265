# Made by deploy/wheel/stubs.py.

from typing import Any, Literal, NotRequired, TypedDict

class PreFrameUpdate(TypedDict, total=False):
    """Once per frame and character, before the game uses the inputs. Ice Climbers are two characters."""

    frame: int
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 0.1.0)"""
    playerIndex: int
    """Player index, 0 to 3. The port is the index + 1. (since 0.1.0)"""
    isFollower: bool
    """True for a follower (Nana), which has the index of its player. (since 0.1.0)"""
    seed: int
    """Random seed at this point of the frame. (since 0.1.0)"""
    actionStateId: int
    """State of the character. (since 0.1.0)"""
    positionX: float
    """X position. (game units, since 0.1.0)"""
    positionY: float
    """Y position. (game units, since 0.1.0)"""
    facingDirection: float
    """-1 left, 1 right. It can be 0. ([-1, 1], since 0.1.0)"""
    joystickX: float
    """Processed joystick, x. ([-1, 1], since 0.1.0)"""
    joystickY: float
    """Processed joystick, y. ([-1, 1], since 0.1.0)"""
    cStickX: float
    """Processed C-stick, x. ([-1, 1], since 0.1.0)"""
    cStickY: float
    """Processed C-stick, y. ([-1, 1], since 0.1.0)"""
    trigger: float
    """Processed trigger. ([0, 1], since 0.1.0)"""
    buttons: int
    """Processed buttons; the lower 16 bits are the physical buttons. (bits, since 0.1.0)"""
    physicalButtons: int
    """Physical buttons: ***S YXBA *LRZ UDRL. (bits, since 0.1.0)"""
    physicalLTrigger: float
    """Physical left trigger. ([0, 1], since 0.1.0)"""
    physicalRTrigger: float
    """Physical right trigger. ([0, 1], since 0.1.0)"""
    rawJoystickX: int
    """Raw joystick, x. UCF reads it. ([-128, 127], since 1.2.0)"""
    percent: float
    """Damage. (percent, since 1.4.0)"""
    rawJoystickY: int
    """Raw joystick, y. ([-128, 127], since 3.15.0)"""
    rawCStickX: int
    """Raw C-stick, x. ([-128, 127], since 3.17.0)"""
    rawCStickY: int
    """Raw C-stick, y. ([-128, 127], since 3.17.0)"""

class SelfInducedSpeeds(TypedDict, total=False):
    """`self_induced_speeds`."""

    airX: float
    """Own air speed, x. (game units a frame, since 3.5.0)"""
    y: float
    """Own speed, y. (game units a frame, since 3.5.0)"""
    attackX: float
    """Speed from knockback, x. (game units a frame, since 3.5.0)"""
    attackY: float
    """Speed from knockback, y. (game units a frame, since 3.5.0)"""
    groundX: float
    """Own ground speed, x. (game units a frame, since 3.5.0)"""

class PostFrameUpdate(TypedDict, total=False):
    """Once per frame and character, after collision detection. Stats are computed from these values."""

    frame: int
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 0.1.0)"""
    playerIndex: int
    """Player index, 0 to 3. The port is the index + 1. (since 0.1.0)"""
    isFollower: bool
    """True for a follower (Nana), which has the index of its player. (since 0.1.0)"""
    internalCharacterId: int
    """Only Zelda and Sheik change during a game. (since 0.1.0)"""
    actionStateId: int
    """State of the character. (since 0.1.0)"""
    positionX: float
    """X position. (game units, since 0.1.0)"""
    positionY: float
    """Y position. (game units, since 0.1.0)"""
    facingDirection: float
    """-1 left, 1 right. It can be 0. ([-1, 1], since 0.1.0)"""
    percent: float
    """Damage. (percent, since 0.1.0)"""
    shieldSize: float
    """Size of the shield. ([0, 60], since 0.1.0)"""
    lastAttackLanded: int
    """Move id of the last attack that hit. (since 0.1.0)"""
    currentComboCount: int
    """Combo count by the rules of the game itself. (since 0.1.0)"""
    lastHitBy: int
    """Player index of the last hit's author; 6 for none. (since 0.1.0)"""
    stocksRemaining: int
    """Stocks left. (stocks, since 0.1.0)"""
    actionStateCounter: float
    """Time in the current action state. (frames, since 0.2.0)"""
    stateFlags1: int
    """0x02 absorbs, 0x08 reflects, same owner, 0x10 reflects. (bits, since 2.0.0)"""
    stateFlags2: int
    """0x04 invincible, 0x08 fast fall, 0x10 and 0x20 hitlag. (bits, since 2.0.0)"""
    stateFlags3: int
    """0x04 holds a grab, 0x80 shield. (bits, since 2.0.0)"""
    stateFlags4: int
    """0x02 hitstun, 0x04 shield touched, 0x20 powershield. (bits, since 2.0.0)"""
    stateFlags5: int
    """0x08 follower, 0x10 inactive, 0x40 dead, 0x80 off screen. (bits, since 2.0.0)"""
    miscActionState: float
    """In hitstun, the frames of it that remain. (frames, since 2.0.0)"""
    isAirborne: bool
    """True in the air, false on the ground. (since 2.0.0)"""
    lastGroundId: int
    """Id of the last ground that the character stood on. (since 2.0.0)"""
    jumpsRemaining: int
    """Jumps left. (jumps, since 2.0.0)"""
    lCancelStatus: int
    """0 none, 1 successful, 2 unsuccessful. (since 2.0.0)"""
    hurtboxCollisionState: int
    """0 vulnerable, 1 invulnerable, 2 intangible. (since 2.1.0)"""
    selfInducedSpeeds: SelfInducedSpeeds
    """(since 3.5.0)"""
    hitlagRemaining: float
    """Frames of hitlag that remain. (frames, since 3.8.0)"""
    animationIndex: int
    """Animation index. (since 3.11.0)"""
    instanceHitBy: int
    """Instance id of the attack that hit this player. (since 3.16.0)"""
    instanceId: int
    """Instance id of the current action. (since 3.16.0)"""

class FrameStart(TypedDict, total=False):
    """Once per frame, as its first event."""

    frame: int
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 2.2.0)"""
    seed: int
    """Random seed at the start of the frame. (since 2.2.0)"""
    sceneFrameCounter: int
    """Counts on during a pause, so a jump shows one. (frames, since 3.10.0)"""

class ItemUpdate(TypedDict, total=False):
    """Once per frame and item, for at most 15 items. Projectiles are items."""

    frame: int
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 3.0.0)"""
    typeId: int
    """Item type. (since 3.0.0)"""
    state: int
    """State of the item; its meaning depends on the type. (since 3.0.0)"""
    facingDirection: float
    """-1 left, 1 right. ([-1, 1], since 3.0.0)"""
    velocityX: float
    """X velocity. (game units a frame, since 3.0.0)"""
    velocityY: float
    """Y velocity. (game units a frame, since 3.0.0)"""
    positionX: float
    """X position. (game units, since 3.0.0)"""
    positionY: float
    """Y position. (game units, since 3.0.0)"""
    damageTaken: int
    """Damage that the item has taken. (percent, since 3.0.0)"""
    expirationTimer: float
    """Frames until it expires. It can be negative. (frames, since 3.0.0)"""
    spawnId: int
    """Number of the item, counted over the game. (since 3.0.0)"""
    missileType: int
    """Samus's missile: 0 homing, 1 super. (since 3.2.0)"""
    turnipFace: int
    """Peach's turnip: 0 smile, 1 T eyes, ... 7 stitch face. (since 3.2.0)"""
    chargeShotLaunched: int
    """Charge shot: 0 charging, 1 launched. (since 3.2.0)"""
    chargePower: int
    """Charge shot: 0 to 7. (since 3.2.0)"""
    owner: int
    """Player index of the owner; -1 for none. (since 3.6.0)"""
    instanceId: int
    """Instance id, as in the Post-Frame Update. (since 3.16.0)"""

class PlayerFrame(TypedDict, total=False):
    """One character's part of a frame."""

    pre: PreFrameUpdate
    post: PostFrameUpdate

class FrameEntry(TypedDict):
    """The `frame` of a `frame` message. `players` and `followers` are by player index, which is a string in JSON."""

    frame: int
    revision: int
    start: NotRequired[FrameStart]
    players: NotRequired[dict[str, PlayerFrame]]
    followers: NotRequired[dict[str, PlayerFrame]]
    items: NotRequired[list[ItemUpdate]]
    stageEvents: NotRequired[list[dict[str, Any]]]

class PlayerSettings(TypedDict):
    """slippi-js `PlayerType` and four more fields."""

    playerIndex: int
    port: int
    characterId: int
    type: int
    startStocks: int
    characterColor: int
    teamShade: int
    handicap: int
    teamId: int
    staminaMode: bool
    silentCharacter: bool
    lowGravity: bool
    invisible: bool
    blackStockIcon: bool
    metal: bool
    startOnAngelPlatform: bool
    rumbleEnabled: bool
    cpuLevel: int
    damageStart: int
    damageSpawn: int
    offenseRatio: float
    defenseRatio: float
    modelScale: float
    controllerFix: str
    dashbackFix: NotRequired[int]
    shieldDropFix: NotRequired[int]
    nametag: str
    displayName: str
    connectCode: str
    userId: str

class GameInfo(TypedDict):
    """slippi-js `GameInfoType`."""

    gameBitfield1: int
    gameBitfield2: int
    gameBitfield3: int
    gameBitfield4: int
    bombRainEnabled: bool
    selfDestructScoreValue: int
    itemSpawnBitfield1: int
    itemSpawnBitfield2: int
    itemSpawnBitfield3: int
    itemSpawnBitfield4: int
    itemSpawnBitfield5: int
    damageRatio: float

class MatchInfo(TypedDict):
    """slippi-js `MatchInfo`. `match_id` is the old name of `session_id`."""

    sessionId: str
    gameNumber: NotRequired[int]
    tiebreakerNumber: NotRequired[int]
    matchId: str

class Settings(TypedDict):
    """slippi-js `GameStartType`. `scene` is the minor scene and `game_mode` the major scene."""

    slpVersion: str
    timerType: int
    inGameMode: int
    friendlyFireEnabled: bool
    isTeams: bool
    itemSpawnBehavior: int
    stageId: int
    startingTimerSeconds: int
    enabledItems: int
    players: list[PlayerSettings]
    scene: NotRequired[int]
    gameMode: NotRequired[int]
    language: NotRequired[int]
    gameInfoBlock: GameInfo
    randomSeed: int
    isPAL: NotRequired[bool]
    isFrozenPS: NotRequired[bool]
    stadiumFrozen: NotRequired[bool]
    matchInfo: MatchInfo

class Stock(TypedDict):
    """slippi-js `StockType`: one life, from the first frame in which the player is not dying."""

    playerIndex: int
    startFrame: int
    endFrame: NotRequired[int]
    startPercent: NotRequired[float]
    endPercent: NotRequired[float]
    currentPercent: NotRequired[float]
    count: NotRequired[int]
    deathAnimation: NotRequired[int]

class Move(TypedDict):
    """slippi-js `MoveLandedType`: a move that hit, once or several times."""

    playerIndex: int
    frame: int
    moveId: int
    hitCount: int
    damage: float

class Conversion(TypedDict):
    """slippi-js `ConversionType`: a punish on `player_index` by `last_hit_by`."""

    playerIndex: int
    startFrame: int
    lastHitBy: NotRequired[int]
    endFrame: NotRequired[int]
    startPercent: NotRequired[float]
    currentPercent: NotRequired[float]
    endPercent: NotRequired[float]
    moves: NotRequired[list[Move]]
    didKill: NotRequired[bool]
    openingType: NotRequired[str]

class Combo(TypedDict):
    """slippi-js `ComboType`: hits with less than 45 frames outside hitstun, grabs and knockdowns in between."""

    playerIndex: int
    startFrame: int
    lastHitBy: NotRequired[int]
    endFrame: NotRequired[int]
    startPercent: NotRequired[float]
    currentPercent: NotRequired[float]
    endPercent: NotRequired[float]
    moves: NotRequired[list[Move]]
    didKill: NotRequired[bool]

class EdgeCancels(TypedDict):
    """Landings that ended in a fall or a teeter: `success` before the L-cancelled lag, `slow` before the full lag."""

    success: int
    slow: int

class Successes(TypedDict):
    """Counts of successes and failures."""

    success: int
    fail: int

class Attacks(TypedDict):
    """Attacks by kind."""

    jab1: int
    jab2: int
    jab3: int
    jabm: int
    dash: int
    ftilt: int
    utilt: int
    dtilt: int
    fsmash: int
    usmash: int
    dsmash: int
    nair: int
    fair: int
    bair: int
    uair: int
    dair: int

class Throws(TypedDict):
    """Throws by direction."""

    up: int
    forward: int
    back: int
    down: int

GroundTechs = TypedDict("GroundTechs", {"away": int, "in": int, "neutral": int, "fail": int})

class ActionCounts(TypedDict):
    """slippi-js `ActionCountsType`: the actions of a player."""

    playerIndex: int
    wavedashCount: int
    wavelandCount: int
    airDodgeCount: int
    dashDanceCount: int
    spotDodgeCount: int
    ledgegrabCount: int
    rollCount: int
    tauntCount: int
    edgeCancelCount: EdgeCancels
    lCancelCount: Successes
    attackCount: Attacks
    grabCount: Successes
    throwCount: Throws
    groundTechCount: GroundTechs
    wallTechCount: Successes

class InputCounts(TypedDict):
    """slippi-js `InputCountsType`: inputs from frame -39 on."""

    buttons: NotRequired[int]
    triggers: NotRequired[int]
    cstick: NotRequired[int]
    joystick: NotRequired[int]
    total: NotRequired[int]

class Ratio(TypedDict):
    """slippi-js `RatioType`. `ratio` is left out when `total` is 0."""

    count: NotRequired[float]
    total: float
    ratio: NotRequired[float]

class Overall(TypedDict):
    """slippi-js `OverallType`: the overall stats of a player."""

    playerIndex: int
    inputCounts: InputCounts
    conversionCount: int
    totalDamage: float
    killCount: int
    successfulConversions: Ratio
    inputsPerMinute: Ratio
    digitalInputsPerMinute: Ratio
    openingsPerKill: Ratio
    damagePerOpening: Ratio
    neutralWinRatio: Ratio
    counterHitRatio: Ratio
    beneficialTradeRatio: Ratio

class Stats(TypedDict):
    """slippi-js `StatsType`, and `extra`."""

    gameComplete: bool
    lastFrame: int
    playableFrameCount: int
    stocks: list[Stock]
    conversions: list[Conversion]
    combos: list[Combo]
    actionCounts: list[ActionCounts]
    overall: list[Overall]
    extra: NotRequired[Any]

class Thing(TypedDict):
    """Something that a game numbers or names: a stage, a course, a character, a machine."""

    kind: NotRequired[str]
    """The game's word for it: `stage`, `course`, `machine`."""
    id: NotRequired[int | str]
    """As in the settings."""
    name: NotRequired[str]
    """Left out for an id without a known name."""

class PlayerSummary(TypedDict):
    """One player. Values that the format does not have are left out."""

    index: int
    """Player index."""
    port: NotRequired[int]
    name: NotRequired[str]
    """Display name, or the only name that the format has."""
    tag: NotRequired[str]
    """In-game name tag."""
    code: NotRequired[str]
    """Connect code."""
    character: NotRequired[Thing]
    """The character, machine or car of the player."""
    color: NotRequired[int]
    """Number of the costume or paint job."""
    team: NotRequired[int]
    """Number of the team; meaningless unless `isTeams`."""
    teamName: NotRequired[str]
    """The team in a word: `red`."""
    human: NotRequired[bool]
    """False when the computer plays."""
    startStocks: NotRequired[int]
    """Left out in modes without stocks."""
    score: NotRequired[int]
    """Score at the end, in modes that are played for a score: KOs minus falls."""
    setup: NotRequired[dict[str, Any]]
    """`character`, `color`, `team` and `human` exactly as in the settings."""

class GameSummary(TypedDict):
    """One game. The values that depend on its end are missing until then."""

    version: NotRequired[str]
    """Version of the game or of the format."""
    place: NotRequired[Thing]
    """Where it was played: a stage, a course, a track."""
    rules: NotRequired[str]
    """The rules in a few words: `Time Attack, 3 laps`."""
    mode: NotRequired[str]
    """`time`, `coin`, `bonus`, `stamina`, or `mode 4` for one without a name; empty for stock mode."""
    players: NotRequired[list[PlayerSummary]]
    who: NotRequired[str]
    """Who played, in one line, where a line for each player would not say it well."""
    isTeams: NotRequired[bool]
    versus: NotRequired[bool]
    """Players play against each other for points, so games are grouped into sets."""
    matchId: NotRequired[str]
    """Id of the match when the game itself counts one (ranked)."""
    suddenDeath: NotRequired[bool]
    """The game is the sudden death that decides the game before it."""
    startedAt: NotRequired[str]
    """Beginning according to the file, ISO 8601; without a zone it is the console's clock."""
    ending: NotRequired[Literal["finished", "time", "quit"]]
    """`finished`, `time` (the clock ran out) or `quit`; left out if the replay does not show it."""
    quitter: NotRequired[int]
    """Player index of the player who quit."""
    winners: NotRequired[list[int]]
    """Player indices."""
    tied: NotRequired[bool]
    """Several sides came first, and a sudden death follows."""
    basis: NotRequired[Literal["", "inferred"]]
    """`inferred`: the replay has no end, and its last frame shows the winners; else left out."""
    setup: NotRequired[dict[str, Any]]
    """Place and rules exactly as in the settings: `stageId`, `laps`, ..."""

class SetPlayer(TypedDict):
    """A player of a set, as in its newest game."""

    playerIndex: int
    """Player index: the port, counted from 0."""
    port: int
    side: int
    """Place in `sides`."""
    score: int
    """Games won by the player's side."""
    name: NotRequired[str]
    """The operator's name, or else that of the seat, netplay name or tag; left out if none is known."""
    namedByOperator: NotRequired[bool]
    seatName: NotRequired[str]
    """The name with which the seat was claimed; left out if it was not."""
    connectCode: NotRequired[str]
    netplayName: NotRequired[str]
    tag: NotRequired[str]
    """In-game name tag."""
    characterId: NotRequired[int]
    characterColor: NotRequired[int]
    team: NotRequired[int]
    """0 red, 1 blue, 2 green; left out without teams."""
    sponsor: NotRequired[str]
    """The sponsor or team of the player, from the operator or the seat. `name` does not contain it."""
    pronouns: NotRequired[str]
    """From the operator or the seat."""
    seed: NotRequired[int]
    """The operator's: seed in the event, from 1."""

class Crew(TypedDict):
    """One crew."""

    name: NotRequired[str]
    """Empty: the name of the player whose turn it is."""
    stocks: NotRequired[int]
    """Stocks of all its players together."""

class CrewBattle(TypedDict):
    """The crews of a set that is a crew battle."""

    crews: NotRequired[list[Crew]]
    """In the order of `sides`: that of the ports in the first game."""
    stocksPerPlayer: NotRequired[int]
    """Stocks of a player who enters."""

class SetSide(TypedDict):
    """One side of a set: a player or a team."""

    name: NotRequired[str]
    """The names of its players, when all have one."""
    score: int
    """`won` plus `added`, never below 0. In a crew battle: stocks left."""
    won: int
    """Games won that count; in a crew battle the stocks that the games have left."""
    added: NotRequired[int]
    """Points added by the operator."""
    players: list[int]
    """Player indices."""

class GamePlayer(TypedDict):
    """A player in one game of a set."""

    playerIndex: int
    """Player index: the port, counted from 0."""
    port: int
    side: int
    """Place in `sides`."""
    characterId: NotRequired[int]
    characterColor: NotRequired[int]
    stocks: NotRequired[int]
    """Stocks at the end."""
    percent: NotRequired[float]
    """Percent at the end."""
    score: NotRequired[int]
    """Score at the end, in time mode."""
    name: NotRequired[str]
    """Only in a crew battle: the player whose turn it was."""
    enteredStocks: NotRequired[int]
    """Only in a crew battle: stocks that the player came with."""
    keptStocks: NotRequired[int]
    """Only in a crew battle: stocks that the player left with, if the game counts."""

class OperatorDecision(TypedDict):
    """The operator's decision about a game."""

    counts: NotRequired[bool]
    winner: NotRequired[int]
    """Player index in this game."""
    beginsSet: NotRequired[bool]
    sides: NotRequired[dict[str, int]]
    """The side in the set of each player, by player index."""
    stocks: NotRequired[dict[str, int]]
    """In a crew battle: the stocks that players left with, by player index."""

class ScoredSuddenDeath(TypedDict):
    """A sudden death that ended a game of a set."""

    gameId: str
    """Id of its own replay."""
    durationSeconds: NotRequired[float]

class ScoredGame(TypedDict):
    """One game of a set."""

    gameId: str
    stageId: NotRequired[int]
    mode: NotRequired[str]
    """`time`, `coin`, `bonus`, `stamina`; left out for stock mode."""
    durationSeconds: NotRequired[float]
    verdict: Literal[
        "playing",
        "counted",
        "handwarmer",
        "quit",
        "unfinished",
        "no_winner",
        "with_cpu",
        "sudden_death",
        "not_counted_by_operator",
    ]
    counts: bool
    """Whether it is a point for `winner`."""
    reason: str
    """Why it counts or does not, for people."""
    winner: NotRequired[int]
    """The side that won it, also when it does not count."""
    score: list[int]
    """The scores of all sides after it."""
    players: list[GamePlayer]
    operator: NotRequired[OperatorDecision]
    suddenDeaths: NotRequired[list[ScoredSuddenDeath]]
    """The sudden deaths that ended it, in order; the last one decides. They are no games."""

class SetScore(TypedDict):
    """The current, latest or next set of a station."""

    setId: NotRequired[str]
    """Id of its first game; left out before that."""
    gameId: NotRequired[str]
    """Its newest game or sudden death: player indices are those of this game."""
    state: Literal["upcoming", "running", "over"]
    """`upcoming`: no game has begun."""
    bestOf: int
    """Length of the set in games; of a crew battle the longest that it can be."""
    winsNeeded: int
    """Wins that decide the set; 0 in a crew battle, which stocks decide."""
    players: list[SetPlayer]
    """In the order of `sides`."""
    score: list[int]
    """Games won, in the order of `players`; in a crew battle the stocks of their crews."""
    crewBattle: NotRequired[CrewBattle]
    """The crews, if the set is a crew battle. `players` has those who play now."""
    sides: list[SetSide]
    winner: NotRequired[int]
    """The side that won; left out while the set is not over, and for a tie."""
    games: list[ScoredGame]
    """In order, the newest 20; in a set of more than 10 games twice as many."""
    olderGames: NotRequired[int]
    """Games of the set that are not in `games`."""
    round: NotRequired[str]
    """Round of the set, as the operator calls it."""
    event: NotRequired[str]
    """Event, as the operator calls it."""
    casters: NotRequired[list[str]]
    """Commentators, as the operator names them."""
    swapped: NotRequired[bool]
    """Show the second of two sides on the left. The order of `sides` itself stays."""
    lastChange: NotRequired[int]
    """Id of the newest change by an operator on this station; left out if there is none."""

class SetResult(TypedDict):
    """A set that a player has played."""

    setId: str
    """32 hex digits."""
    at: str
    """When its first game began."""
    opponent: NotRequired[str]
    """Left out if the opponent has no name."""
    score: list[int]
    """The score of the player, and that of the opponent."""
    won: bool

class StageRecord(TypedDict):
    """How often a player has played on a stage."""

    stage: Thing
    games: int
    won: int

class Worked(TypedDict):
    """The character and the stage with which a player has won most games against the other."""

    character: Thing
    stage: Thing
    games: int
    won: int

class MatchupPlayer(TypedDict):
    """A player, with figures from the newest games that count."""

    name: str
    code: NotRequired[str]
    """Connect code."""
    results: list[SetResult]
    """The last sets in the 12 hours before this one, beginning with the newest."""
    games: int
    """How many games the figures below are from."""
    averageSeconds: NotRequired[float]
    """Average length of a game."""
    openingsPerKill: NotRequired[float]
    """Left out if no game has stats."""
    stages: list[StageRecord]
    """The stages that were played most."""
    worked: NotRequired[Worked]

class Meeting(TypedDict):
    """A set of both players."""

    setId: str
    """32 hex digits."""
    at: str
    """When its first game began."""
    score: list[int]
    """A number for each player, in the order of `players`."""

class StageGames(TypedDict):
    """How the games of both players on a stage ended."""

    stage: Thing
    won: list[int]
    """A number for each player, in the order of `players`."""

class HeadToHead(TypedDict):
    """The earlier games of both players against each other."""

    sets: list[int]
    """The sets that each of them has won."""
    games: list[int]
    """The games that each of them has won."""
    limited: NotRequired[bool]
    """There are more games: only the newest ones are counted. Otherwise left out."""
    last: NotRequired[Meeting]
    """The newest set. Left out if there is none."""
    stages: list[StageGames]
    """The stages that were played most."""

class DirectorMessage(TypedDict):
    """The director's choice, as the messages of a station have it. Only with `also`."""

    type: Literal["director"]
    station: str
    chosen: bool
    """Whether the director shows this station large."""
    pinned: bool
    """Whether the operator has pinned it."""

class MatchupMessage(TypedDict):
    """The earlier games of the two players of a set. Only with `also`."""

    type: Literal["matchup"]
    station: str
    setId: NotRequired[str]
    """Left out while no game of the set has begun."""
    withoutMatchup: NotRequired[str]
    """Why nothing is known, such as `a set of teams`. Left out if there is a matchup."""
    players: list[MatchupPlayer]
    """Two players in the order of `sides`, or none."""
    headToHead: NotRequired[HeadToHead]

class OddsMessage(TypedDict):
    """The odds in one frame, as messages have them. Only with `also`."""

    type: Literal["odds"]
    station: str
    gameId: str
    """32 hex digits."""
    frame: int
    frameCursor: str
    """The cursor of the frame in the `finalized` log."""
    players: list[int]
    """The two players. The odds are those of the first one."""
    odds: float
    """The chance of the first player to win, from 0 to 1."""
    stocks: list[int]
    """The stocks of both players."""

PartMessage = DirectorMessage | MatchupMessage | OddsMessage
