"""The configuration: a TOML file is checked and converted to typed values. Every key has a description and a default.

Unknown keys are errors, because a misspelt key that is silently ignored is hard to find. Only `daemon` and `cli` use
`Config`; the other rooms receive the single values that they need.
"""

from slpstream.config.changes import APPLIED_AT_RELOAD, Changes, changes
from slpstream.config.folders import (
    address,
    is_loopback,
    recordings_folder,
    state_folder,
    station_folder,
    station_id,
    stations_of_folders,
    usual_folders,
)
from slpstream.config.loading import check, load
from slpstream.config.obs_rules import check_obs
from slpstream.config.secrets import read_secret
from slpstream.config.sections import (
    CHAT_PLACEHOLDERS,
    DEFAULT_PORT,
    EACH_SUBFOLDER,
    LISTED,
    SCOREBOARD_VALUES,
    SECTIONS,
    Chat,
    Config,
    Fanout,
    JsonLines,
    Key,
    Obs,
    ObsRule,
    Playback,
    Recordings,
    Relay,
    Scoreboard,
    Server,
    Sets,
    StationConfig,
    Store,
    Watch,
    Webhook,
    all_keys,
)

__all__ = [
    "APPLIED_AT_RELOAD",
    "CHAT_PLACEHOLDERS",
    "DEFAULT_PORT",
    "EACH_SUBFOLDER",
    "LISTED",
    "SCOREBOARD_VALUES",
    "SECTIONS",
    "Changes",
    "Chat",
    "Config",
    "Fanout",
    "JsonLines",
    "Key",
    "Obs",
    "ObsRule",
    "Playback",
    "Recordings",
    "Relay",
    "Scoreboard",
    "Server",
    "Sets",
    "StationConfig",
    "Store",
    "Watch",
    "Webhook",
    "address",
    "all_keys",
    "changes",
    "check",
    "check_obs",
    "is_loopback",
    "load",
    "read_secret",
    "recordings_folder",
    "state_folder",
    "station_folder",
    "station_id",
    "stations_of_folders",
    "usual_folders",
]
