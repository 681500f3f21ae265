from typing import Any, Literal, NotRequired, TypedDict

from slpstream.web.payload_types import (
    Combo,
    Conversion,
    FrameEntry,
    GameSummary,
    PartMessage,
    PlayerSummary,
    SetScore,
    Settings,
    Stats,
    Stock,
)

class Envelope(TypedDict):
    """The members of every log message."""

    station: str
    gameId: str
    cursor: str
    """The position in the log. Pass it to `connect` to continue after this message."""

class Placement(TypedDict):
    """The place of a player at the end of a game. The first position is 0."""

    playerIndex: int
    position: NotRequired[int]

class PlayerScore(TypedDict):
    """The score of a player in a game without stocks."""

    playerIndex: int
    kos: int
    falls: int
    selfDestructs: int
    score: NotRequired[int]

class MeleeGameEnd(TypedDict):
    """slippi-js `GameEndType`."""

    gameEndMethod: int
    lrasInitiatorIndex: NotRequired[int]
    placements: NotRequired[list[Placement]]

class GameStartMessage(Envelope):
    """A game has begun. `settings` are those of Slippi; other formats have settings of their own."""

    type: Literal["game_start"]
    format: str
    rate: list[int]
    """Frames per second, as a fraction."""
    settings: Settings

class FrameMessage(Envelope):
    """A frame. A rollback sends its number again, with the next `revision`."""

    type: Literal["frame"]
    frame: FrameEntry

class FinalizedMessage(Envelope):
    """The frames up to `through` will not change any more."""

    type: Literal["finalized"]
    through: int

class StatsMessage(Envelope):
    """The stats as of `frame`."""

    type: Literal["stats"]
    frame: int
    stats: Stats

class GameEndMessage(Envelope):
    """A game has ended."""

    type: Literal["game_end"]
    reason: Literal["game_end", "raw_length", "file_end", "incomplete", "error"]
    winners: list[Placement]
    gameEnd: NotRequired[MeleeGameEnd]
    lastFrame: NotRequired[int]
    durationSeconds: NotRequired[float]
    scores: NotRequired[list[PlayerScore]]
    tied: NotRequired[bool]
    basis: NotRequired[Literal["inferred"]]

class MetadataMessage(Envelope):
    """The metadata of the file, when the game has closed it."""

    type: Literal["metadata"]
    metadata: dict[str, Any]

class DiagnosticMessage(TypedDict):
    """Something is unusual about the bytes. Before the game has begun, there is neither a game nor a cursor."""

    type: Literal["diagnostic"]
    station: str
    gameId: NotRequired[str]
    cursor: NotRequired[str]
    severity: Literal["info", "warning", "error"]
    code: str
    offset: int
    message: str

class GameEventMessage(Envelope):
    """Something happened in the game. The messages below have what belongs to their `kind`."""

    type: Literal["event"]
    frame: NotRequired[int]

class RollbackMessage(GameEventMessage):
    """A final frame had been sent more than once."""

    kind: Literal["rollback"]
    sent: int
    frames: int

class GamePausedMessage(GameEventMessage):
    """Play continues after a pause of `frames`."""

    kind: Literal["game_paused"]
    frames: int

class PlayerEventMessage(GameEventMessage):
    """Something happened to a player."""

    playerIndex: int

class TransformedMessage(PlayerEventMessage):
    """Zelda or Sheik transformed."""

    kind: Literal["transformed"]
    fromInternalCharacterId: int
    internalCharacterId: int

class PlayerSpawnedMessage(PlayerEventMessage):
    """A life begins."""

    kind: Literal["player_spawned"]
    stocksRemaining: NotRequired[int]

class StockLostMessage(PlayerEventMessage):
    """A player has lost a stock."""

    kind: Literal["stock_lost"]
    stocksRemaining: int
    stock: Stock

class FallMessage(PlayerEventMessage):
    """A life ended in a game without stocks."""

    kind: Literal["fall"]
    byPlayerIndex: NotRequired[int]
    selfDestruct: bool
    life: Stock
    scores: list[PlayerScore]

class PercentChangedMessage(PlayerEventMessage):
    """The percent of a player differs from the frame before."""

    kind: Literal["percent_changed"]
    percent: float
    change: float

class ConversionMessage(PlayerEventMessage):
    """A punish on the player has begun or ended."""

    kind: Literal["conversion_started", "conversion_ended"]
    conversion: Conversion

class ComboMessage(PlayerEventMessage):
    """A combo on the player has begun, was extended by a hit, or has ended."""

    kind: Literal["combo_started", "combo_extended", "combo_ended"]
    combo: Combo

class LCancelMessage(PlayerEventMessage):
    """A landing with an L-cancel, successful or not."""

    kind: Literal["lcancel"]
    success: bool
    actionStateId: int

class TechMessage(PlayerEventMessage):
    """A tech or a missed tech."""

    kind: Literal["tech"]
    outcome: Literal["in", "away", "neutral", "missed", "wall", "wall_missed"]

class LedgeGrabMessage(PlayerEventMessage):
    """The player grabbed a ledge."""

    kind: Literal["ledge_grab"]

class HighlightMessage(PlayerEventMessage):
    """A moment that is worth showing again."""

    kind: Literal["highlight"]
    of: str
    opponentIndex: int
    startFrame: int
    endFrame: int
    score: float
    reasons: list[str]
    startPercent: NotRequired[float]
    damage: NotRequired[float]
    moves: NotRequired[int]

class HelloMessage(TypedDict):
    """The first message on every connection."""

    type: Literal["hello"]
    protocol: int
    version: str
    stations: list[str]

class SnapshotMessage(Envelope):
    """The game in progress, for a client that joins it live."""

    type: Literal["snapshot"]
    format: NotRequired[str]
    rate: NotRequired[list[int]]
    settings: NotRequired[Settings]
    summary: GameSummary
    frame: NotRequired[FrameEntry]
    stats: NotRequired[Stats]
    set: NotRequired[SetScore]

class StationMessage(TypedDict):
    """The state of a station, whenever it changes."""

    type: Literal["station"]
    station: str
    state: Literal["idle", "playing", "stalled", "offline"]
    reason: NotRequired[str]
    starting: NotRequired[bool]
    gameId: NotRequired[str]
    summary: NotRequired[GameSummary]
    at: NotRequired[str]

class SetMessage(SetScore):
    """The set of a station, whenever it changes."""

    type: Literal["set"]
    station: str

class OnAirMessage(TypedDict):
    """The station on air."""

    type: Literal["on_air"]
    station: str | None
    by: Literal["operator", "rule"] | None
    since: str | None

class SituationMessage(TypedDict):
    """One of the configured situations was found in the game that is played."""

    type: Literal["situation"]
    station: str
    gameId: str
    at: str
    name: str
    query: str
    number: int
    player: PlayerSummary
    opponent: PlayerSummary
    frames: list[int]
    knownFrame: int

class LaggedMessage(TypedDict):
    """How many messages this client has missed."""

    type: Literal["lagged"]
    missed: int

EventMessage = (
    RollbackMessage
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
    | HighlightMessage
)
StatusMessage = (
    HelloMessage
    | SnapshotMessage
    | StationMessage
    | SetMessage
    | OnAirMessage
    | SituationMessage
    | LaggedMessage
    | PartMessage
)
Message = (
    GameStartMessage
    | FrameMessage
    | FinalizedMessage
    | EventMessage
    | StatsMessage
    | GameEndMessage
    | MetadataMessage
    | DiagnosticMessage
    | StatusMessage
)
