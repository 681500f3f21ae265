"""The sections and keys of the core, with defaults, bounds and descriptions, and the declaration of further sections.

Parts declare their sections in the same way. The loader, `check-config`, `slpstream reference config` and the test that
compares `config/slpstream.toml` with them read these structs; there is no other list of keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared

DEFAULT_PORT = 5151
EACH_SUBFOLDER = "*"
"""The station id that makes each subfolder of `folder` a station."""

Port = Annotated[int, Meta(ge=0, le=65535)]
Positive = Annotated[float, Meta(gt=0)]
Secret = Annotated[str, Meta(extra={"secret": True})]  # a secret, or the name of a file that contains one


class Server(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[server]`: where the daemon listens, and which clients may connect."""

    host: Annotated[
        str, Meta(description="Address to listen on. Any address other than loopback requires `token_file`.")
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="TCP port for HTTP and websocket. 0 picks a free port.")] = DEFAULT_PORT
    token_file: Annotated[
        Secret,
        Meta(
            description="File whose first line is the access token. Empty: systemd's credential `token`, or no token."
        ),
    ] = ""
    operate_token_file: Annotated[
        Secret,
        Meta(
            description="File whose first line is the operator token, which allows changing sets as well as reading. "
            "When it is set, it is required even from localhost. Empty: systemd's credential "
            "`operate_token`, or every client that may read may also operate."
        ),
    ] = ""
    require_token: Annotated[bool, Meta(description="Require the token on loopback too.")] = False
    allowed_origins: Annotated[
        list[str],
        Meta(
            description="Origins of web pages that may connect, in addition to the daemon's own and `file://`, which "
            "OBS sends for local files. `null` is not allowed: browsers send it for local files and for "
            "any sandboxed frame. These pages may only read; only the daemon's own pages operate."
        ),
    ] = []
    allowed_hosts: Annotated[
        list[str],
        Meta(description="Host names under which the daemon is reached, in addition to IP addresses and localhost."),
    ] = []
    max_connections: Annotated[
        int,
        Meta(
            ge=1,
            description="Limit for simultaneous connections; further ones are refused. A single address, a proxy "
            "included, gets at most half of them, unless it is loopback.",
        ),
    ] = 4096


class Watch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[watch]`: how files are followed."""

    polling_only: Annotated[
        bool, Meta(description="Poll only, without file system notifications. For network shares.")
    ] = False
    poll_seconds: Annotated[
        Positive,
        Meta(
            description="How often growing files are polled. As long as the system reports every growth of a file, it "
            "is only polled every `scan_seconds`."
        ),
    ] = 0.1
    scan_seconds: Annotated[
        Positive, Meta(description="How often folders are scanned for changes that were not notified.")
    ] = 5.0
    stalled_seconds: Annotated[
        Positive, Meta(description="A running game is `stalled` after this long without growth.")
    ] = 3.0
    pace: Annotated[
        bool,
        Meta(description="Play files that are written in one go (GCI, Stunts) in real time instead of all at once."),
    ] = False
    idle_seconds: Annotated[
        Positive,
        Meta(
            description="After this long without growth a station is `idle`, and older files are closed until they "
            "grow."
        ),
    ] = 60.0


class Stream(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[stream]`: limits of the buffers for subscribers."""

    ring_bytes: Annotated[
        int,
        Meta(
            ge=65536,
            le=1 << 40,
            description="Memory for the newest messages of each game and mode; older ones are read from the file.",
        ),
    ] = 1 << 20
    outbox_bytes: Annotated[
        int, Meta(ge=16384, le=1 << 30, description="Limit of the messages waiting for one slow subscriber.")
    ] = 256 * 1024
    socket_buffer_bytes: Annotated[
        int,
        Meta(ge=4096, le=1 << 30, description="Send buffer of a subscriber's socket, kept by the operating system."),
    ] = 256 * 1024


class Store(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[store]`: the index of games."""

    folder: Annotated[
        str,
        Meta(
            description="Folder of the index of games. Empty: systemd's state directory, or the platform's usual one."
        ),
    ] = ""
    index_old_files: Annotated[bool, Meta(description="Index existing replays in the background.")] = True
    max_age_days: Annotated[
        int, Meta(ge=0, description="Remove older games from the index; their files stay. 0 disables the limit.")
    ] = 0
    max_size_bytes: Annotated[
        int, Meta(ge=0, description="Remove the oldest games from the index when it is larger. 0 disables the limit.")
    ] = 1 << 30


class Search(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[search]`: queries for games."""

    me: Annotated[
        list[Annotated[str, Meta(pattern="^[^#]+#[0-9]+$")]],
        Meta(description="Your connect codes: what `@me` in a query means, like `FOX#123`."),
    ] = []


class Recordings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[recordings]`: the replay files that slpstream writes itself."""

    folder: Annotated[
        str,
        Meta(description="Folder for recordings, with a subfolder for each station. Empty: below the state folder."),
    ] = ""


class Sets(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[sets]`: which games count, and when a set is over."""

    best_of: Annotated[
        int, Meta(ge=1, le=99, description="Length of a set in games (best of N), unless an operator changes it.")
    ] = 3
    handwarmer_seconds: Annotated[
        float, Meta(ge=0, description="A game quit earlier than this is a handwarmer, whatever its stocks.")
    ] = 30.0
    handwarmer_stocks: Annotated[
        int,
        Meta(ge=0, description="A game quit before any player has lost more stocks than this is a handwarmer."),
    ] = 1
    max_handwarmer_seconds: Annotated[
        float,
        Meta(ge=0, description="A game quit later than this is no handwarmer, unless `handwarmer_seconds` is longer."),
    ] = 120.0
    max_handwarmer_percent: Annotated[
        float,
        Meta(
            ge=0,
            description="A game quit with a player above this percent is no handwarmer, unless `handwarmer_seconds` "
            "makes it one.",
        ),
    ] = 100.0
    quit_counts: Annotated[
        bool, Meta(description="Count a game that was quit, and is not a handwarmer, for the players who did not quit.")
    ] = True
    new_set_minutes: Annotated[
        Positive, Meta(description="After a break of this length the same players begin a new set.")
    ] = 45.0


class Log(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[log]`: the daemon's log."""

    format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="Format of log lines. `auto`: coloured on a terminal, JSON under systemd and in pipes."),
    ] = "auto"
    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="Lowest level to log.")] = "info"


class Web(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[web]`: the pages."""

    overlay_folder: Annotated[
        str,
        Meta(
            description="Folder with your own overlay stylesheets and pages, served under `/custom/`. Empty disables "
            "it."
        ),
    ] = ""


class StationKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[stations]]`: one setup with one source."""

    id: Annotated[
        str,
        Meta(
            description="Short name in URLs and messages: letters, digits, `.`, `_`, `-`. `*` makes every subfolder "
            "of `folder` a station."
        ),
    ]
    folder: Annotated[
        str, Meta(description="Folder into which the game writes its replays. Subfolders are included.")
    ] = ""
    name: Annotated[str, Meta(description="Display name. Empty: the id.")] = ""


S = TypeVar("S", bound=msgspec.Struct)


class StationConfig(StationKeys, frozen=True):
    """The configuration of a station: the keys of the core, and those of the parts that are given."""

    parts: tuple[msgspec.Struct, ...] = ()
    """The keys of parts. A struct that contains just defaults is left out."""

    def keys(self, struct: type[S]) -> S:
        """Return the keys that a part has declared, with defaults if they are not given."""
        return next((each for each in self.parts if type(each) is struct), None) or struct()

    @property
    def is_recorded(self) -> bool:
        """Whether its replay files are written by slpstream, because the station has no folder of its own."""
        return not self.folder


class StationSource(msgspec.Struct, frozen=True):
    """The base class of those sections of parts that can add stations to a running daemon."""

    @property
    def adds_stations(self) -> bool:
        """Whether there can be stations that are not in the configuration."""
        raise NotImplementedError


@prepared
class CoreSections(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The sections that every daemon has. Without `[[stations]]` the platform's usual Slippi folders are watched."""

    server: Server = Server()
    watch: Watch = Watch()
    stream: Stream = Stream()
    store: Store = Store()
    search: Search = Search()
    recordings: Recordings = Recordings()
    sets: Sets = Sets()
    log: Log = Log()
    web: Web = Web()
    stations: Sequence[StationKeys] = []


class Config(CoreSections, frozen=True):
    """The whole configuration: the sections of the core, and those of the parts that are configured."""

    stations: list[StationConfig] = []
    parts: Mapping[str, Sequence[msgspec.Struct]] = {}
    """The sections of parts by name, in the order of the file. A single section with defaults only is left out."""

    def section(self, struct: type[S]) -> S:
        """A section that can occur once, such as `[obs]`, with defaults if it is not in the file."""
        return next(iter(self.sections(struct)), None) or struct()

    def sections(self, struct: type[S]) -> list[S]:
        """All sections of a kind that can occur several times, such as `[[chat]]`."""
        return [section for sections in self.parts.values() for section in sections if type(section) is struct]

    @property
    def is_open_ended(self) -> bool:
        """Whether there can be stations whose ids are not in the configuration."""
        sources = (each for sections in self.parts.values() for each in sections if isinstance(each, StationSource))
        ids = {station.id for station in self.stations}
        return not ids or EACH_SUBFOLDER in ids or any(source.adds_stations for source in sources)


class Section(NamedTuple):
    """The declaration of one section. Several declarations can have one name; each has some of the section's keys.

    This is also how a part adds keys to a section of the core, such as `[[stations]]`.
    """

    name: str
    struct: type[msgspec.Struct]
    """Its keys, with types, bounds, defaults and descriptions."""
    many: bool = False
    """Whether it can occur several times, such as `[[chat]]`."""
    check: str = ""
    """The checks that types do not cover, as `module:function`. The function takes the `Config` and the name of the
    file, and raises `ConfigError`. It is called if the configuration has the section."""
    applied_at_reload: bool = False
    """Whether a running daemon applies changes without a restart."""
    sources: Sequence[str] = ()
    """Those of its keys for `[[stations]]` that can take the place of `folder`. A station has exactly one source."""


def _core_sections() -> tuple[Section, ...]:
    hints = get_type_hints(CoreSections)
    return tuple(
        Section(name, *((get_args(hint)[0], True) if get_origin(hint) else (hint, False)))
        for name, hint in hints.items()
    )


CORE = _core_sections()


class Key(NamedTuple):
    """One key as the reference shows it. `type` is in plain words; `default` is `None` for a required key."""

    section: str
    name: str
    type: str
    default: Any
    description: str
    many: bool
    """Whether its section can occur several times."""


def all_keys(sections: Iterable[Section] = ()) -> Iterator[Key]:
    """Yield every key of the core and of the given sections, section by section."""
    declared = (*CORE, *sections)
    first = {section.name: i for i, section in reversed([*enumerate(declared)])}
    for section in sorted(declared, key=lambda section: (section.many, first[section.name])):
        hints = get_type_hints(section.struct, include_extras=True)
        for field in msgspec.structs.fields(section.struct):
            hint = hints[field.name]
            description = next(m.description for m in reversed(hint.__metadata__) if m.description)
            default = None if field.required else field.default
            if default is msgspec.NODEFAULT:
                default = field.default_factory()
            yield Key(section.name, field.name, _type_name(hint), default, description, section.many)


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint) if value)
    if get_origin(hint) is list:
        return f"list of {_type_name(get_args(hint)[0])}"
    if get_origin(hint) is dict:
        return "table of texts"
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
    name: str = hint.__name__
    return names.get(name, name)
