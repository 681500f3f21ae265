"""Every section and key of the configuration, with its default, bounds and description.

These structs are the only list of keys. The loader, `check-config`, `slpstream reference config` and the test that
compares `config/slpstream.toml` with them all read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from slpstream.model.messages import ON_AIR
from slpstream.model.prepared import prepared

DEFAULT_PORT = 5151
CONSOLE_PORT = 51441
"""The TCP port of consoles, to which launchers connect."""
REPLAY_NAME = " - {playersChars} - {stage}"
ZIP_NAME = "{phaseOrEvent} {roundShort} - {playersChars}"
REPLAY_PLACEHOLDERS = (
    "date", "time", "roundShort", "roundLong", "stage", "ordinal", "playersOnly", "playersChars", "singlesChars",
)  # fmt: skip
ZIP_PLACEHOLDERS = (
    "date", "time", "roundShort", "roundLong", "games", "tournamentName", "tournamentSlug", "event", "phase",
    "phaseGroup", "phaseOrEvent", "playersOnly", "playersChars", "singlesChars",
)  # fmt: skip
"""The placeholders in the templates of `[handover]`, in the order in which they are replaced."""
EACH_SUBFOLDER = "*"
"""The station id that makes every subfolder of `folder` a station of its own."""

Port = Annotated[int, Meta(ge=0, le=65535)]
Positive = Annotated[float, Meta(gt=0)]


class Server(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[server]`: where the daemon listens, and which clients may connect."""

    host: Annotated[
        str, Meta(description="Address to listen on. Any address other than loopback requires `token_file`.")
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="TCP port for HTTP and websocket. 0 picks a free port.")] = DEFAULT_PORT
    token_file: Annotated[
        str,
        Meta(
            description="File whose first line is the access token. Empty: systemd's credential `token`, or no token."
        ),
    ] = ""
    operate_token_file: Annotated[
        str,
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
        Positive, Meta(description="How often growing files are polled when no notification comes.")
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
            description="Folder of the index of games. Empty: systemd's state directory, or the usual one of the "
            "platform."
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
    """`[recordings]`: the replay files that slpstream writes from the data of consoles."""

    folder: Annotated[
        str,
        Meta(description="Folder for recordings, with a subfolder for each station. Empty: below the state folder."),
    ] = ""
    max_age_days: Annotated[int, Meta(ge=0, description="Delete older recordings. 0 disables the limit.")] = 0
    max_size_bytes: Annotated[
        int, Meta(ge=0, description="Delete the oldest recordings when all together are larger. 0 disables the limit.")
    ] = 20 << 30
    max_unwritten_bytes: Annotated[
        int,
        Meta(ge=65536, le=1 << 30, description="Memory for the unwritten data of one game while the disk is full."),
    ] = 32 << 20


class Relay(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[relay]`: consoles on the network, and relaying them to other programs."""

    host: Annotated[
        str,
        Meta(
            description="Address on which stations are relayed (`relay_port`, `raw_relay_port`, `relay_enet_port`). "
            "These protocols have no token."
        ),
    ] = "127.0.0.1"
    max_clients: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="Limit for simultaneous relay clients of one station. Those of `relay_enet_port` count "
            "separately.",
        ),
    ] = 16
    discovery: Annotated[
        bool, Meta(description="Turn consoles that announce themselves by broadcast into stations.")
    ] = False
    discovery_host: Annotated[
        str, Meta(description="Address on which to listen for these broadcasts. Empty: all addresses.")
    ] = ""
    discovery_port: Annotated[Port, Meta(description="UDP port of these broadcasts.")] = 20582


class Announce(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[announce]`: being found by other programs on the local network."""

    dns_sd: Annotated[
        bool,
        Meta(
            description="Announce the daemon as `_slpstream._tcp` (DNS-SD, Bonjour) on the addresses of `server.host`. "
            "Needs the extra `announce`."
        ),
    ] = False
    name: Annotated[
        str, Meta(max_length=60, description="Name in that announcement. Empty: slpstream and the name of the machine.")
    ] = ""
    relayed_station: Annotated[
        bool,
        Meta(
            description="Announce the station with `relay_port = 51441` by broadcast as a console, from the address "
            "`relay.host`, so that launchers list it."
        ),
    ] = False
    broadcast_host: Annotated[str, Meta(min_length=1, description="Address to broadcast to.")] = "255.255.255.255"
    broadcast_port: Annotated[
        int, Meta(ge=1, le=65535, description="UDP port to broadcast to, on which launchers listen.")
    ] = 20582


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


class OnAir(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[on_air]`: which station is on air, for everything that follows it."""

    choose: Annotated[
        Literal["operator", "rule"],
        Meta(
            description="`operator`: only the operator chooses. `rule`: while the operator has chosen no station, a "
            "deciding game comes first, then a game with a player on the last stock, then the station that has been "
            "off air for longest."
        ),
    ] = "operator"
    min_seconds: Annotated[
        float, Meta(ge=0, description="The rule leaves a station on air for at least this long.")
    ] = 20.0
    result_seconds: Annotated[
        float, Meta(ge=0, description="The rule keeps a station on air for this long after its game, for the result.")
    ] = 8.0
    operator_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="How long the operator's choice lasts. 0: until the operator ends it.",
        ),
    ] = 0.0


class Seats(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[seats]`: players say on their phones who sits at which port."""

    on: Annotated[bool, Meta(description="Whether players can claim seats with the QR code of their station.")] = False
    address: Annotated[
        str,
        Meta(
            description="Address in the codes, such as `http://192.168.1.20:5151`: where phones reach this daemon or a "
            "proxy in front of it. Empty: the address of this machine in the local network."
        ),
    ] = ""
    typed_names: Annotated[
        bool, Meta(description="Let players type a name. Without it they can only tap one that is known.")
    ] = True
    free_minutes: Annotated[
        Positive, Meta(description="Free the seats of a station at which nothing has happened for this long.")
    ] = 30.0


@prepared
class Audit(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[audit]`: the comparison of setups."""

    games: Annotated[int, Meta(ge=1, le=20, description="How many of a station's newest games are compared.")] = 5
    hours: Annotated[
        float, Meta(gt=0, description="Games are not compared that were played this long before the newest one.")
    ] = 24.0
    clock_seconds: Annotated[
        float, Meta(ge=0, description="Clocks of consoles that differ by more than this are reported.")
    ] = 120.0
    frame_rate: Annotated[
        float, Meta(ge=0, description="Setups whose frames per second differ by more than this are reported.")
    ] = 0.5
    stutters_per_minute: Annotated[
        float,
        Meta(ge=0, description="Setups with this many more stutters per minute than the others are reported."),
    ] = 10.0


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


class StationConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[stations]]`: one setup with one source: `folder`, `console` or `dolphin`."""

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
    console: Annotated[
        str, Meta(description="Address of a Wii or a relay, `host` or `host:port`. The default port is 51441.")
    ] = ""
    dolphin: Annotated[
        str,
        Meta(
            description="Address of Dolphin's spectator server (ENet), `host` or `host:port`. The default is UDP port "
            "51441."
        ),
    ] = ""
    name: Annotated[str, Meta(description="Display name. Empty: the id.")] = ""
    relay_port: Annotated[
        Port, Meta(description="TCP port on which this station is relayed as a console, usually 51441. 0 disables it.")
    ] = 0
    raw_relay_port: Annotated[
        Port,
        Meta(
            description="TCP port for the bare events without a protocol, as on the launcher's port 53741. 0 disables "
            "it."
        ),
    ] = 0
    relay_enet_port: Annotated[
        Port,
        Meta(
            description="UDP port on which this station is relayed as Dolphin's spectator server (ENet), usually "
            "51441. 0 disables it."
        ),
    ] = 0


class Webhook(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[webhooks]]`: a web server that is notified of events."""

    url: Annotated[str, Meta(description="URL that deliveries are posted to, http or https.")]
    secret_file: Annotated[
        str, Meta(description="File whose first line is the key that signs deliveries (HMAC-SHA256).")
    ]
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    events: Annotated[
        list[Literal["game_start", "game_end", "set", "situation"]], Meta(description="Events to deliver. Empty: all.")
    ] = []
    timeout_seconds: Annotated[Positive, Meta(description="Time limit for an answer.")] = 10.0
    keep_hours: Annotated[
        Positive, Meta(description="Give up a delivery that has not been accepted after this long.")
    ] = 72.0


_RESULT = ("winner", "loser", "winner_score", "loser_score", "best_of", "round", "event", "station", "link")
CHAT_PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "game_message": (*_RESULT, "game", "stage", "winner_character", "loser_character", "stocks", "duration"),
    "set_message": _RESULT,
    "link": ("station", "game_id"),
}
"""The placeholders in the templates of `[[chat]]`, by key."""
_OPTIONAL = "`[[ on {stage}]]` is left out when a value in it is not known."


class Chat(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[chat]]`: a chat that results are posted to, over a webhook in Discord's format."""

    url_file: Annotated[str, Meta(description="File whose first line is the URL of the webhook, which is a secret.")]
    name: Annotated[str, Meta(description="Name in logs and metrics. Empty: the host of the URL.")] = ""
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    events: Annotated[
        list[Literal["game_end", "set_end"]], Meta(description="Results to post. Empty: those of games and of sets.")
    ] = []
    game_message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1500,
            description="Template of the message about a game. " + _OPTIONAL + " Placeholders: "
            "`" + "`, `".join(CHAT_PLACEHOLDERS["game_message"]) + "`.",
        ),
    ] = (
        "[[Game {game}: ]]**{winner}**[[ ({winner_character})]] beats {loser}[[ ({loser_character})]][[ on {stage}]]. "
        "{winner_score}–{loser_score}[[ {link}]]"
    )
    set_message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1500,
            description="Template of the message about a set, with the placeholders "
            "`" + "`, `".join(CHAT_PLACEHOLDERS["set_message"]) + "`.",
        ),
    ] = "[[{round}: ]]**{winner}** wins {winner_score}–{loser_score} against {loser}.[[ {link}]]"
    link: Annotated[
        str,
        Meta(
            max_length=300,
            description="Template of `{link}` with the placeholders `station` and `game_id`, such as "
            "`https://example.org/#game/{game_id}`. Empty: no link.",
        ),
    ] = ""
    username: Annotated[str, Meta(max_length=80, description="Name of the author. Empty: that of the webhook.")] = ""
    avatar_url: Annotated[
        str, Meta(max_length=1000, description="Address of the author's picture. Empty: that of the webhook.")
    ] = ""
    timeout_seconds: Annotated[Positive, Meta(description="Time limit for an answer.")] = 10.0
    keep_hours: Annotated[
        Positive, Meta(description="Give up a message that has not been accepted after this long.")
    ] = 6.0


class JsonLines(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[jsonl]]`: log messages as files of JSON lines, one for each game."""

    folder: Annotated[str, Meta(description="Folder for the files, with a subfolder for each station.")]
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    topics: Annotated[
        list[Literal["game", "frame", "event", "stats", "diagnostic"]],
        Meta(description="Topics to include. Empty: all but frames."),
    ] = []
    frames: Annotated[
        Literal["live", "finalized"],
        Meta(description="Every revision of each frame, or each frame once when it is final."),
    ] = "finalized"


class Obs(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[obs]`: text files for OBS, and the connection to its websocket for `[[obs_rules]]`."""

    folder: Annotated[
        str, Meta(description="Folder for the text files, with a subfolder for each station. Empty disables them.")
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="Address of obs-websocket 5, such as `ws://127.0.0.1:4455`. Empty: slpstream does not connect "
            "to OBS."
        ),
    ] = ""
    password_file: Annotated[
        str, Meta(description="File whose first line is the password of obs-websocket. Empty: no password.")
    ] = ""
    respect_seconds: Annotated[
        float,
        Meta(ge=0, description="How long a scene that the producer has chosen in OBS stays before rules change it."),
    ] = 30.0


class ObsRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[obs_rules]]`: what OBS does when something happens at a station. Rules apply in their order."""

    on: Annotated[
        Literal["game_start", "game_end", "set_end", "station_idle", "event", "situation"],
        Meta(description="When the rule applies."),
    ]
    station: Annotated[
        str,
        Meta(description="Station at which it has to happen: an id, `*` for any, or `on-air` for the station on air."),
    ] = ON_AIR
    after_seconds: Annotated[
        float, Meta(ge=0, description="For `station_idle`: how long the station must have been without a game.")
    ] = 0.0
    event: Annotated[
        Literal[
            "",
            "checkpoint",
            "combo_ended",
            "combo_extended",
            "combo_started",
            "conversion_ended",
            "conversion_started",
            "fall",
            "game_paused",
            "lap",
            "lcancel",
            "ledge_grab",
            "percent_changed",
            "player_spawned",
            "rollback",
            "section",
            "stock_lost",
            "tech",
            "transformed",
        ],
        Meta(description="For `event`: the kind of event."),
    ] = ""
    situation: Annotated[
        str, Meta(description="For `situation`: the name of one of `[[situations]]`. Empty: any of them.")
    ] = ""
    min_damage: Annotated[
        float, Meta(ge=0, description="For the end of a combo or conversion: the least damage, in percent.")
    ] = 0.0
    kill: Annotated[bool, Meta(description="For the end of a combo or conversion: only if it took the stock.")] = False
    scene: Annotated[str, Meta(description="Scene to switch the program to.")] = ""
    preview: Annotated[str, Meta(description="Scene to put into the preview. OBS must be in studio mode.")] = ""
    in_scene: Annotated[str, Meta(description="Scene of the sources in `show` and `hide`.")] = ""
    show: Annotated[list[str], Meta(description="Sources to show.")] = []
    hide: Annotated[list[str], Meta(description="Sources to hide.")] = []
    text: Annotated[
        dict[str, str],
        Meta(description='Text for each text source: `{"Score" = "{player1} {score1} – {score2} {player2}"}`.'),
    ] = {}
    save_replay: Annotated[bool, Meta(description="Save the replay buffer.")] = False
    recording: Annotated[Literal["", "start", "stop"], Meta(description="Start or stop the recording.")] = ""
    chapter: Annotated[
        str, Meta(description="Name of a chapter to begin in the recording. Needs OBS 30.2 and Hybrid MP4.")
    ] = ""


class Situation(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[situations]]`: a situation that is looked for in the games of stations while they are played."""

    name: Annotated[str, Meta(min_length=1, max_length=100, description="Name in webhooks, rules and marks. Unique.")]
    query: Annotated[
        str,
        Meta(
            description="The situation, such as `fox: upthrow -> upair, kill`; docs/data/situations.md has the words."
        ),
    ]
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    mark: Annotated[
        bool, Meta(description="Mark the moment, so that it is on the dashboard and can be shown again.")
    ] = False
    highlight: Annotated[
        bool, Meta(description="List it among the highlights, so that it is among the best moments of a set.")
    ] = False
    score: Annotated[
        float, Meta(ge=0, le=1000, description="For `highlight`: its score among the highlights of games.")
    ] = 100.0


SCOREBOARD_VALUES = (
    *(
        f"{name}{side}"
        for side in (1, 2)
        for name in ("name", "sponsor", "pronouns", "seed", "code", "port", "character", "score", "result")
    ),
    *("best_of", "round", "event", "caster1", "caster2", "casters", "winner"),
)
"""Names of the values that `scoreboards.mapping` can use. The left side has the number 1."""


class Scoreboard(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[scoreboards]]`: a scoreboard tool that shows the set of a station."""

    kind: Annotated[
        Literal["tournament-stream-helper", "melee-stream-tool", "streamcontrol", "text"],
        Meta(description="The tool. `text`: text files with one value each, for any program."),
    ]
    station: Annotated[str, Meta(description="Id of the station to show, or `on-air` for the station on air.")]
    name: Annotated[str, Meta(description="Name in logs and metrics. Empty: the kind.")] = ""
    url: Annotated[
        str,
        Meta(description="Only `tournament-stream-helper`: address of its web server. Empty: http://127.0.0.1:5000."),
    ] = ""
    number: Annotated[
        int, Meta(ge=1, le=99, description="Only `tournament-stream-helper`: number of the scoreboard in it.")
    ] = 1
    path: Annotated[
        str,
        Meta(
            description="The folder `Resources/Texts` of Melee Stream Tool, the file `streamcontrol.json`, or the "
            "folder for the text files."
        ),
    ] = ""
    mapping: Annotated[
        dict[str, str],
        Meta(
            description="Only `streamcontrol` and `text`: names of values by widget or by file name, such as "
            '`{ pName1 = "name1" }`. Empty: the default of the kind.'
        ),
    ] = {}


class Playback(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[playback]`: a Playback Dolphin, which mirrors a station and shows instant replays."""

    file: Annotated[
        str,
        Meta(
            description="Communication file of the Playback Dolphin, as in its option `-i`. Nothing else may write it. "
            "Empty disables it."
        ),
    ] = ""
    station: Annotated[str, Meta(description="Station to mirror, or `on-air` for the station on air.")] = ""
    set_moments: Annotated[
        int,
        Meta(ge=0, le=50, description="How many of the best moments of a set to show after it. 0 disables them."),
    ] = 5
    seek_speed: Annotated[
        float,
        Meta(
            ge=1,
            description="How many times faster than the game this Dolphin fast-forwards to a moment. slpstream uses it "
            "to estimate when a replay is over.",
        ),
    ] = 6.0


class Bracket(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[bracket]`: where results are reported, and which sets are expected."""

    kind: Annotated[
        str,
        Meta(
            description='"start.gg", "webhook" (each result is posted as JSON), or a kind that an installed package '
            "adds. Empty disables it."
        ),
    ] = ""
    events: Annotated[
        list[str],
        Meta(description="Events on start.gg, such as `tournament/the-big-one/event/melee-singles`."),
    ] = []
    url: Annotated[
        str,
        Meta(description="Where requests are sent. Required for `webhook`; empty for the usual address of the kind."),
    ] = ""
    token_file: Annotated[
        str,
        Meta(
            description="File whose first line is the token of start.gg, or the secret that webhooks are signed with. "
            "It is read again for each request."
        ),
    ] = ""
    report: Annotated[
        bool,
        Meta(
            description="Change the bracket. Otherwise this is a dry run, which shows what would be sent; what is "
            "played meanwhile is reported only after a person has confirmed it."
        ),
    ] = False
    confirm: Annotated[
        bool, Meta(description="A person confirms each result before it is reported. Otherwise it goes by itself.")
    ] = True
    games: Annotated[
        bool, Meta(description="Without `confirm`: report each game when it is over, not only the whole set.")
    ] = True
    hold_seconds: Annotated[
        float,
        Meta(ge=0, le=3600, description="Without `confirm`: how long a result waits, so that it can be corrected."),
    ] = 20.0
    match: Annotated[
        Literal["players", "called"],
        Meta(
            description="Sets that are considered for what is played: all sets with these players, or only those that "
            "were called, begun, or assigned to the station."
        ),
    ] = "players"
    stations: Annotated[
        dict[str, str],
        Meta(
            description='Our stations by number or name in the bracket, such as `{ 12 = "wii-12" }`. Others are '
            "matched by name, or by the number at the end of our id or name."
        ),
    ] = {}
    streams: Annotated[
        dict[str, str],
        Meta(
            description="Our stations by the name of the stream in the bracket that shows them, such as `{ BTSmelee = "
            '"stream" }`. The players of the next set in its queue are expected there.'
        ),
    ] = {}
    call_sets: Annotated[
        bool, Meta(description="Call a set that is assigned to a station as soon as the station is free.")
    ] = False
    start_sets: Annotated[bool, Meta(description="Mark a set as in progress when its first game begins.")] = False
    assign_stations: Annotated[
        bool, Meta(description="Assign a set without a station to the one on which it is played.")
    ] = False
    details: Annotated[
        bool,
        Meta(
            description="Give a station the round, the event and the length of its set where the operator has given "
            "none."
        ),
    ] = True
    poll_seconds: Annotated[float, Meta(ge=5, le=600, description="Seconds between two looks at the bracket.")] = 15.0
    requests_per_minute: Annotated[
        int, Meta(ge=6, le=80, description="Limit of requests. start.gg allows a token 80 in all.")
    ] = 60
    timeout_seconds: Annotated[Positive, Meta(description="How long to wait for an answer.")] = 15.0


class Handover(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[handover]`: the replays of each set as a zip, for programs that upload or replay them."""

    folder: Annotated[
        str,
        Meta(
            description="Folder into which a zip is written when a set ends, outside of the folders of stations. "
            "Nothing in it is ever deleted. Empty disables it; the dashboard offers the zips all the same."
        ),
    ] = ""
    delay_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400, description="How long after the end of a set it is written: time to correct names."),
    ] = 60.0
    replay_name: Annotated[
        str,
        Meta(
            max_length=300,
            description="Names of the replays after their number. Placeholders: `{"
            + "}`, `{".join(REPLAY_PLACEHOLDERS)
            + "}`.",
        ),
    ] = REPLAY_NAME
    zip_name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=300,
            description="Names of the zips. Placeholders: `{" + "}`, `{".join(ZIP_PLACEHOLDERS) + "}`.",
        ),
    ] = ZIP_NAME


class Fanout(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[fanout]`: the broker for gateways on other machines. Needs the extra `fanout`."""

    url: Annotated[
        str,
        Meta(
            description="`redis://`, `rediss://` or `redis+cluster://`, with user and password. Empty disables the "
            "broker."
        ),
    ] = ""
    password_file: Annotated[
        str, Meta(description="File whose first line is the password, in place of one in the URL.")
    ] = ""
    ca_file: Annotated[
        str, Meta(description="File of certificates to trust, for `rediss://`. Empty: those of the system.")
    ] = ""
    event: Annotated[
        str, Meta(description="Name of the event. Its streams are named `slpstream:<event>:<station>`.")
    ] = "main"
    max_messages: Annotated[
        int,
        Meta(ge=1000, description="Messages kept in a station's live stream; the finalized stream keeps half as many."),
    ] = 100_000
    max_age_minutes: Annotated[
        int, Meta(ge=0, description="Trim messages older than this as well. 0 trims only by number.")
    ] = 0


class Verify(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[verify]`: the daemon's check of itself."""

    finished_games: Annotated[
        bool, Meta(description="Decode each finished game again and compare it with the messages that were sent live.")
    ] = False


class Controllers(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[controllers]`: the check of the players' controllers by the inputs of their games."""

    check: Annotated[
        bool,
        Meta(description="Check the controllers of all games while they are played. Findings are for operators."),
    ] = False


@prepared
class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole configuration. Without `[[stations]]` the platform's usual Slippi folders are watched."""

    server: Server = Server()
    watch: Watch = Watch()
    stream: Stream = Stream()
    store: Store = Store()
    search: Search = Search()
    recordings: Recordings = Recordings()
    relay: Relay = Relay()
    announce: Announce = Announce()
    sets: Sets = Sets()
    on_air: OnAir = OnAir()
    seats: Seats = Seats()
    audit: Audit = Audit()
    log: Log = Log()
    web: Web = Web()
    obs: Obs = Obs()
    playback: Playback = Playback()
    bracket: Bracket = Bracket()
    handover: Handover = Handover()
    fanout: Fanout = Fanout()
    verify: Verify = Verify()
    controllers: Controllers = Controllers()
    stations: list[StationConfig] = []
    webhooks: list[Webhook] = []
    chat: list[Chat] = []
    jsonl: list[JsonLines] = []
    scoreboards: list[Scoreboard] = []
    obs_rules: list[ObsRule] = []
    situations: list[Situation] = []


SECTIONS: Mapping[str, type[msgspec.Struct]] = {
    "server": Server,
    "watch": Watch,
    "stream": Stream,
    "store": Store,
    "search": Search,
    "recordings": Recordings,
    "relay": Relay,
    "announce": Announce,
    "sets": Sets,
    "on_air": OnAir,
    "seats": Seats,
    "audit": Audit,
    "log": Log,
    "web": Web,
    "obs": Obs,
    "playback": Playback,
    "bracket": Bracket,
    "handover": Handover,
    "fanout": Fanout,
    "verify": Verify,
    "controllers": Controllers,
    "stations": StationConfig,
    "webhooks": Webhook,
    "chat": Chat,
    "jsonl": JsonLines,
    "scoreboards": Scoreboard,
    "obs_rules": ObsRule,
    "situations": Situation,
}
LISTED = frozenset({"stations", "webhooks", "chat", "jsonl", "scoreboards", "obs_rules", "situations"})
"""Sections that may occur several times, such as `[[stations]]`."""


class Key(NamedTuple):
    """One key as the reference shows it. `type` is in plain words; `default` is `None` for a required key."""

    section: str
    name: str
    type: str
    default: Any
    description: str


def all_keys() -> Iterator[Key]:
    """Yield every key, section by section."""
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
        return " or ".join(f'"{value}"' for value in get_args(hint) if value)
    if get_origin(hint) is list:
        return f"list of {_type_name(get_args(hint)[0])}"
    if get_origin(hint) is dict:
        return "table of texts"
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
    name: str = hint.__name__
    return names.get(name, name)
