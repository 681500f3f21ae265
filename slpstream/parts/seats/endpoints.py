"""The HTTP endpoints of the seats, for phones and for operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slpstream.parts.seats import code_api, phone_api
from slpstream.web.endpoint import Endpoint

if TYPE_CHECKING:
    from slpstream.parts.seats.seats import DaemonSeats


def endpoints(running: DaemonSeats | None) -> list[Endpoint]:
    """Return all endpoints of the part. If seats are off, pass `None`."""
    return [*phone_api.endpoints(running), *code_api.endpoints(running)]
