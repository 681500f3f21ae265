"""`/v1/audit`: the comparison of the setups."""

from __future__ import annotations

from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from slpstream.tournament.audit.findings import Audit
from slpstream.web.endpoint import Endpoint, NoParameters, json_response


class SetupAudit(Protocol):
    """The setup audit of a daemon, as the web server sees it. A gateway has none."""

    async def audit(self) -> Audit:
        """The comparison of all stations."""


def endpoints(found: SetupAudit) -> list[Endpoint]:
    """The endpoint of this module."""

    async def get_audit(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await found.audit())

    return [
        Endpoint(
            "/v1/audit", "getAudit",
            "What the newest games of each station reveal about its setup, and which setups differ from the others.",
            get_audit, Audit,
        ),
    ]  # fmt: skip
