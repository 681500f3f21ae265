"""Every section and key of the configuration, with default, bounds and description.

These structs are the only list of keys: the loader, `check-config`, `slpstream reference config` and the test that
holds `config/slpstream.toml` to them all read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

DEFAULT_PORT = 5151
EACH_SUBFOLDER = "*"
"""As the id of a station: every subfolder of its folder is one."""

Port = Annotated[int, Meta(ge=0, le=65535)]
Positive = Annotated[float, Meta(gt=0)]


class Server(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[server]`: where the daemon listens, and who may come in."""

    host: Annotated[str, Meta(description="Address to listen on. Anything but loopback needs `token_file`.")] = (
        "127.0.0.1"
    )
    port: Annotated[Port, Meta(description="TCP port for HTTP and websocket; 0 takes a free one.")] = DEFAULT_PORT
    token_file: Annotated[
        str,
        Meta(description="File whose first line is the access token. Empty: none. Or systemd's credential `token`."),
    ] = ""
    operate_token_file: Annotated[
        str,
        Meta(
            description="File whose first line is the token of operators, who may change sets; it lets read too. "
            "Once there is one, nobody operates without it, from this machine either. Empty: systemd's credential "
            "`operate_token`, else whoever may read may operate."
        ),
    ] = ""
    require_token: Annotated[bool, Meta(description="Ask for the token on loopback too.")] = False
    allowed_origins: Annotated[
        list[str],
        Meta(
            description="Origins of web pages that may connect, beside the daemon's own and `file://`, which OBS sends "
            "for files. Not `null`, which browsers send for files and for any page in a frame. They read; only the "
            "daemon's own pages operate."
        ),
    ] = []
    allowed_hosts: Annotated[
        list[str], Meta(description="Host names under which the daemon is reached, beside addresses and localhost.")
    ] = []
    max_connections: Annotated[
        int,
        Meta(
            ge=1,
            description="Connections at the same time; further ones are refused. One address has at most half of them, "
            "a proxy too, unless it is on loopback.",
        ),
    ] = 4096


class Watch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[watch]`: how files are followed."""

    polling_only: Annotated[bool, Meta(description="No notifications, only polling: for network shares.")] = False
    poll_seconds: Annotated[
        Positive, Meta(description="How often growing files are looked at when nothing is notified.")
    ] = 0.1
    scan_seconds: Annotated[Positive, Meta(description="How often folders are searched for what was not notified.")] = (
        5.0
    )
    stalled_seconds: Annotated[
        Positive, Meta(description="Without growth for so long, a running game is `stalled`.")
    ] = 3.0
    pace: Annotated[
        bool, Meta(description="Play files that are written in one go (GCI, Stunts) in real time, not at once.")
    ] = False
    idle_seconds: Annotated[
        Positive,
        Meta(
            description="Without growth for so long, a station is `idle`, and older files are closed until they grow."
        ),
    ] = 60.0


class Stream(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[stream]`: the bounds of what is kept for subscribers."""

    ring_bytes: Annotated[
        int,
        Meta(
            ge=65536,
            le=1 << 40,
            description="Newest messages kept in memory, for each game and mode; older ones are read from the file.",
        ),
    ] = 1 << 20
    outbox_bytes: Annotated[int, Meta(ge=16384, le=1 << 30, description="What may wait for one slow subscriber.")] = (
        256 * 1024
    )
    socket_buffer_bytes: Annotated[
        int,
        Meta(ge=4096, le=1 << 30, description="Send buffer of a subscriber's socket: what the system may keep for it."),
    ] = 256 * 1024


class Store(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[store]`: the index of games."""

    folder: Annotated[
        str,
        Meta(description="Folder of the index of games. Empty: systemd's state directory, else the platform's."),
    ] = ""
    index_old_files: Annotated[
        bool, Meta(description="Read the replays that are there already, in the background, for the index.")
    ] = True
    max_age_days: Annotated[
        int, Meta(ge=0, description="Games that are older leave the index, never their files. 0: no limit.")
    ] = 0
    max_size_bytes: Annotated[
        int, Meta(ge=0, description="The oldest games leave the index when it is larger. 0: no limit.")
    ] = 1 << 30


class Recordings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[recordings]`: the files that slpstream itself writes, of what consoles send."""

    folder: Annotated[
        str, Meta(description="Where they are kept, a folder for each station. Empty: below the state folder.")
    ] = ""
    max_age_days: Annotated[int, Meta(ge=0, description="Older recordings are deleted. 0: none for its age.")] = 0
    max_size_bytes: Annotated[
        int, Meta(ge=0, description="The oldest recordings are deleted when all together are larger. 0: no limit.")
    ] = 20 << 30
    max_unwritten_bytes: Annotated[
        int,
        Meta(ge=65536, le=1 << 30, description="What is kept in memory of one game while the disk takes no more."),
    ] = 32 << 20


class Relay(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[relay]`: consoles on the network, and serving them again."""

    host: Annotated[
        str,
        Meta(
            description="Address on which stations are served again (`relay_port`, `raw_relay_port`); their protocols "
            "know no token."
        ),
    ] = "127.0.0.1"
    max_clients: Annotated[int, Meta(ge=1, le=4096, description="Clients of one station at the same time.")] = 16
    discovery: Annotated[bool, Meta(description="Consoles that announce themselves by broadcast become stations.")] = (
        False
    )
    discovery_host: Annotated[str, Meta(description="Address on which those broadcasts are heard.")] = ""
    discovery_port: Annotated[Port, Meta(description="UDP port of those broadcasts.")] = 20582


class Sets(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[sets]`: which games count, and when a set is over."""

    best_of: Annotated[int, Meta(ge=1, le=99, description="Games of a set, unless an operator says otherwise.")] = 3
    handwarmer_seconds: Annotated[
        float, Meta(ge=0, description="A game that is quit before this is a handwarmer, whatever its stocks.")
    ] = 30.0
    handwarmer_stocks: Annotated[
        int,
        Meta(ge=0, description="A game that is quit while nobody has lost more stocks than this is a handwarmer."),
    ] = 1
    quit_counts: Annotated[
        bool, Meta(description="A game that is quit, and is no handwarmer, counts for who did not quit.")
    ] = True
    new_set_minutes: Annotated[
        Positive, Meta(description="The same players after so long a break begin another set.")
    ] = 45.0


class Log(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[log]`: what the daemon says."""

    format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="`auto`: coloured on a terminal, JSON under systemd and in pipes."),
    ] = "auto"
    level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least severe level that is shown.")
    ] = "info"


class Web(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[web]`: the pages."""

    overlay_folder: Annotated[
        str,
        Meta(description="Folder of your own stylesheets and pages for overlays, served as `/custom/`. Empty: none."),
    ] = ""


class StationConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[stations]]`: one setup, once for each, with one source: `folder`, `console` or `dolphin`."""

    id: Annotated[
        str,
        Meta(
            description="Short name in URLs and messages: letters, digits, `.`, `_`, `-`. `*`: every subfolder of "
            "`folder` is a station."
        ),
    ]
    folder: Annotated[
        str, Meta(description="Folder into which the game writes its replays; subfolders belong to it.")
    ] = ""
    console: Annotated[
        str, Meta(description="Address of a Wii or a relay, `host` or `host:port`; the port is 51441 by default.")
    ] = ""
    dolphin: Annotated[
        str, Meta(description="Address of Dolphin's spectator (ENet), `host` or `host:port`; UDP 51441 by default.")
    ] = ""
    name: Annotated[str, Meta(description="Name for people. Empty: the id.")] = ""
    relay_port: Annotated[
        Port, Meta(description="TCP port on which this station is served again as a console; usual is 51441. 0: none.")
    ] = 0
    raw_relay_port: Annotated[
        Port,
        Meta(description="TCP port for its events without any protocol, as the launcher has 53741 and up. 0: none."),
    ] = 0


class Webhook(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[webhooks]]`: a place on the web that is told what happens."""

    url: Annotated[str, Meta(description="Where deliveries are posted: http or https.")]
    secret_file: Annotated[
        str, Meta(description="File whose first line is the key that deliveries are signed with (HMAC-SHA256).")
    ]
    stations: Annotated[list[str], Meta(description="Whose games. Empty: all.")] = []
    events: Annotated[
        list[Literal["game_start", "game_end", "set"]], Meta(description="What is told. Empty: all.")
    ] = []
    timeout_seconds: Annotated[Positive, Meta(description="How long an answer may take.")] = 10.0
    keep_hours: Annotated[Positive, Meta(description="A delivery that nobody took for so long is given up.")] = 72.0


class JsonLines(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[jsonl]]`: log messages as files of JSON lines, one for each game."""

    folder: Annotated[str, Meta(description="Folder for the files; each station has one of its own in it.")]
    stations: Annotated[list[str], Meta(description="Whose games. Empty: all.")] = []
    topics: Annotated[
        list[Literal["game", "frame", "event", "stats", "diagnostic"]],
        Meta(description="Which messages. Empty: all but frames."),
    ] = []
    frames: Annotated[
        Literal["live", "finalized"], Meta(description="Every revision of a frame, or each number once.")
    ] = "finalized"


class Obs(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[obs]`: small files that show the state of a station, for sources that read text from a file."""

    folder: Annotated[
        str, Meta(description="Folder for them; each station has one of its own in it. Empty: none are written.")
    ] = ""


class Fanout(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[fanout]`: the broker, for gateways on other machines. Takes the extra `fanout`."""

    url: Annotated[
        str,
        Meta(description="`redis://`, `rediss://` or `redis+cluster://`, with user and password. Empty: no broker."),
    ] = ""
    password_file: Annotated[str, Meta(description="File whose first line is the password, instead of the URL.")] = ""
    ca_file: Annotated[str, Meta(description="Certificates to trust, for `rediss://`. Empty: the system's.")] = ""
    event: Annotated[str, Meta(description="Name of the event: the streams are `slpstream:<event>:<station>`.")] = (
        "main"
    )
    max_messages: Annotated[
        int,
        Meta(ge=1000, description="Messages that a station's live stream keeps, the finalized one half of it."),
    ] = 100_000
    max_age_minutes: Annotated[int, Meta(ge=0, description="Older messages are trimmed too. 0: only by number.")] = 0


class Verify(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[verify]`: the daemon checks itself."""

    finished_games: Annotated[
        bool, Meta(description="Decode each finished game again, and compare it with what was said live.")
    ] = False


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole configuration. Without `[[stations]]` the platform's usual Slippi folders are watched."""

    server: Server = Server()
    watch: Watch = Watch()
    stream: Stream = Stream()
    store: Store = Store()
    recordings: Recordings = Recordings()
    relay: Relay = Relay()
    sets: Sets = Sets()
    log: Log = Log()
    web: Web = Web()
    obs: Obs = Obs()
    fanout: Fanout = Fanout()
    verify: Verify = Verify()
    stations: list[StationConfig] = []
    webhooks: list[Webhook] = []
    jsonl: list[JsonLines] = []


SECTIONS: Mapping[str, type[msgspec.Struct]] = {
    "server": Server,
    "watch": Watch,
    "stream": Stream,
    "store": Store,
    "recordings": Recordings,
    "relay": Relay,
    "sets": Sets,
    "log": Log,
    "web": Web,
    "obs": Obs,
    "fanout": Fanout,
    "verify": Verify,
    "stations": StationConfig,
    "webhooks": Webhook,
    "jsonl": JsonLines,
}
LISTED = frozenset({"stations", "webhooks", "jsonl"})
"""Sections that can be there several times: `[[stations]]`."""


class Key(NamedTuple):
    """One key for the reference: section, name, type for people, default (`None` when it must be given), what it
    does."""

    section: str
    name: str
    type: str
    default: Any
    description: str


def all_keys() -> Iterator[Key]:
    """Every key there is."""
    for section, struct in SECTIONS.items():
        hints = get_type_hints(struct, include_extras=True)
        for field in msgspec.structs.fields(struct):
            hint = hints[field.name]
            description = next(m.description for m in reversed(hint.__metadata__) if m.description)
            default = None if field.required else field.default
            if default is msgspec.NODEFAULT:
                default = field.default_factory()
            yield Key(section, field.name, _type_name(hint), default, description)


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint))
    if get_origin(hint) is list:
        return f"list of {_type_name(get_args(hint)[0])}"
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
    name: str = hint.__name__
    return names.get(name, name)
