"""`/v1/audit`: the comparison of the setups."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.audit.findings import Audit
from slpstream.parts.audit.setup_audit import SetupAudit
from slpstream.web.endpoint import Endpoint, NoParameters, json_response


def endpoints(running: SetupAudit) -> list[Endpoint]:
    """Return the endpoint of this module.

    You should only pass `None` if you want a description, because the audit runs in every daemon.
    """

    async def get_audit(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await running.audit())

    return [
        Endpoint(
            "/v1/audit", "getAudit",
            "What the newest games of each station reveal about its setup, and which setups differ from the others.",
            get_audit, Audit,
        ),
    ]  # fmt: skip
