"""Declares `[obs]` and `[[obs_rules]]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Secret, Section
from slpstream.model.messages import ON_AIR
from slpstream.parts.interface import Command, Part
from slpstream.system.metric_row import Row


class Obs(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[obs]`: the connection to the websocket of OBS, for `[[obs_rules]]`."""

    url: Annotated[
        str,
        Meta(
            description="Address of obs-websocket 5, such as `ws://127.0.0.1:4455`. Empty: slpstream does not connect "
            "to OBS."
        ),
    ] = ""
    password_file: Annotated[
        Secret, Meta(description="File whose first line is the password of obs-websocket. Empty: no password.")
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


PART = Part(
    name="obs",
    docs="production/index.md",
    sections=[
        Section("obs", Obs, check="slpstream.parts.obs.checks:check"),
        Section("obs_rules", ObsRule, many=True, check="slpstream.parts.obs.checks:check"),
    ],
    wanted=lambda config: bool(config.section(Obs).url),
    start="slpstream.parts.obs.configured:ConfiguredObs",
    metrics=[
        Row(
            "slpstream_obs_requests_total",
            "counter",
            "Requests to OBS, by outcome: done, failed (OBS refused), missed (OBS was away, and the moment is over).",
            ("outcome",),
            known_values=("done", "failed", "missed"),
        ),
        Row("slpstream_obs_reconnects_total", "counter", "Lost connections to OBS."),
        Row("slpstream_obs_connected", "gauge", "1 while OBS answers on its websocket.", idle=0.0),
    ],
    commands=[
        Command(
            "obs-scenes",
            "Make the scenes in OBS that the rules of a configuration name.",
            "slpstream.parts.obs.cli:command",
        )
    ],
)
