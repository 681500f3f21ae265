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
    id: NotRequired[int | str]
    name: NotRequired[str]

class PlayerSummary(TypedDict):
    """One player. Values that the format does not have are left out."""

    index: int
    port: NotRequired[int]
    name: NotRequired[str]
    tag: NotRequired[str]
    code: NotRequired[str]
    character: NotRequired[Thing]
    color: NotRequired[int]
    team: NotRequired[int]
    teamName: NotRequired[str]
    human: NotRequired[bool]
    startStocks: NotRequired[int]
    score: NotRequired[int]
    setup: NotRequired[dict[str, Any]]

class GameSummary(TypedDict):
    """One game. The values that depend on its end are missing until then."""

    version: NotRequired[str]
    place: NotRequired[Thing]
    rules: NotRequired[str]
    mode: NotRequired[str]
    players: NotRequired[list[PlayerSummary]]
    who: NotRequired[str]
    isTeams: NotRequired[bool]
    versus: NotRequired[bool]
    matchId: NotRequired[str]
    suddenDeath: NotRequired[bool]
    startedAt: NotRequired[str]
    ending: NotRequired[Literal["finished", "time", "quit"]]
    quitter: NotRequired[int]
    winners: NotRequired[list[int]]
    tied: NotRequired[bool]
    basis: NotRequired[Literal["", "inferred"]]
    setup: NotRequired[dict[str, Any]]
