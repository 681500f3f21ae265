"""The services that parts offer each other through `Host.provide` and `Host.find`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class SetZips(Protocol):
    """The zips that slpstream writes of the replays of sets."""

    @property
    def folder(self) -> Path | None:
        """The folder that zips are written into; `None` if there is none."""
