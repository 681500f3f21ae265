"""The station that can be announced to launchers."""

from __future__ import annotations

from collections.abc import Iterable

from slpstream.config.sections import Config, StationConfig
from slpstream.parts import registry


def relayed_console(config: Config, stations: Iterable[StationConfig]) -> tuple[StationConfig | None, str]:
    """Return the station that launchers can connect to, if there is one, and the address on which it is relayed."""
    function = registry.function("relayed_console")
    return (None, "") if function is None else function(config, stations)
