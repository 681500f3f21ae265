"""The configuration. A TOML file is checked and converted to typed values, and each key has a description and a
default.

If there's an unknown key, this is an error, because if we just ignored a typo, it would be hard to find. Only `daemon`
and `cli` use `Config`. All other packages just get the values that they need.
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
from slpstream.config.loading import check, convert, load
from slpstream.config.secrets import read_secret, read_secret_bytes
from slpstream.config.sections import (
    CORE,
    DEFAULT_PORT,
    EACH_SUBFOLDER,
    Config,
    Key,
    Section,
    Server,
    Sets,
    StationConfig,
    Store,
    Watch,
    all_keys,
)

__all__ = [
    "APPLIED_AT_RELOAD",
    "CORE",
    "DEFAULT_PORT",
    "EACH_SUBFOLDER",
    "Changes",
    "Config",
    "Key",
    "Section",
    "Server",
    "Sets",
    "StationConfig",
    "Store",
    "Watch",
    "address",
    "all_keys",
    "changes",
    "check",
    "convert",
    "is_loopback",
    "load",
    "read_secret",
    "read_secret_bytes",
    "recordings_folder",
    "state_folder",
    "station_folder",
    "station_id",
    "stations_of_folders",
    "usual_folders",
]
