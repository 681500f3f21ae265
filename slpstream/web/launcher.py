"""Links that open a replay in the Slippi Launcher, and names for replays that are safe for its cache.

We know how it works from the launcher's source (slippi-launcher 668545d, version 2.15.0).
`slippi://?path=URL&startFrame=N` downloads the URL into a temporary folder, under the last segment of its path, and
plays it from frame N. If a file of this name is already in the folder, it isn't downloaded again. This is why every
replay needs a unique name. It is also why a replay that is still being written needs a different name than later.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec
from starlette.requests import Request

from slpstream.web.schemas import HighlightLinks

SUFFIX = ".slp"
FORMAT = "slippi"
"""The format of the games that the launcher can play."""
_FIRST_FRAME = -123
_LEAD_FRAMES = 120
"""A link opens a replay this long before the moment, so that viewers can see how it begins."""
_MAX_ID_CHARS = 16
_NO_DIGIT = re.compile(r"[^0-9]")


def replay_name(game_id: str, started_at: str, unfinished_through: int | None = None) -> str:
    """Return the unique name of a replay, such as `Game_20231114T221320_0123456789abcdef.slp`.

    `started_at` is RFC 3339 in UTC. For a game whose file can still grow, `unfinished_through` is its last frame so
    far, which becomes part of the name.
    """
    day, _, time = started_at.partition("T")
    parts = ["Game", f"{_NO_DIGIT.sub('', day)}T{_NO_DIGIT.sub('', time.partition('.')[0])}", game_id[:_MAX_ID_CHARS]]
    if unfinished_through is not None:
        parts.append(str(unfinished_through).replace("-", "before"))
    return "_".join(parts) + SUFFIX


def launcher_link(request: Request, path: str, start_frame: int) -> str:
    """Return a link that opens a replay in the launcher, at the given frame.

    `path` is the path of the replay on this server. The launcher needs an absolute URL, so the link starts with the
    address that this request was sent to.
    """
    scheme = request.headers.get("x-forwarded-proto", "")
    base = request.base_url.replace(scheme=scheme) if scheme in ("http", "https") else request.base_url
    return f"slippi://?path={quote(str(base).rstrip('/') + path, safe='')}&startFrame={start_frame}"


def with_launcher_link(request: Request, links: HighlightLinks, frame: int) -> HighlightLinks:
    """Add a link for the launcher to the links of a moment, if the launcher can play the game.

    It opens the replay shortly before the given frame.
    """
    if links.file is None:
        return links
    start_frame = max(_FIRST_FRAME, frame - _LEAD_FRAMES)
    return msgspec.structs.replace(links, launcher=launcher_link(request, links.file, start_frame))
