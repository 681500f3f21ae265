"""The overlay during a real game: every displayed number is right, and its memory does not grow.

`SLPSTREAM_OVERLAY_SECONDS=600` selects the long form of the last test: ten minutes of games. `python -m tests.bench
overlay` measures the page's share of a core.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.bench import overlay
from tests.browsers.pages import WatchedPage
from tests.daemons.process import running
from tests.ports import free_port
from tests.project import IN_CI
from tests.web.shown import (
    RECORD_DISPLAY,
    Log,
    check,
    game_file,
    log_of,
    shown,
    shows_a_frame,
    values,
    written_live,
)

LONG_SECONDS = float(os.environ.get("SLPSTREAM_OVERLAY_SECONDS", "60" if IN_CI else "20"))
SPEED = 3.0
"""The last test plays games faster: the memory of a page would grow with the number of frames, not with time."""
MAX_HEAP_GROWTH_BYTES = 500_000
LATEST_COMBO_FRAMES = 12
"""Events arrive when their frame is final, some frames after it was first shown."""


def test_displayed_values_equal_the_log_despite_a_killed_daemon(
    watched: WatchedPage, page: Page, folder: Path, tmp_path: Path
) -> None:
    """Rollbacks, names, a lost stock: every state of the page is compared with the log."""
    replay = game_file("rollbackFrameTest", tmp_path, frames=4000, rollbacks=True)
    log = log_of(replay)
    port = ("--port", str(free_port()))
    with running(folder, arguments=port) as first:
        page.goto(f"{first.url}/overlay/main")
        page.get_by_text("waiting for a game").wait_for()
        with written_live(replay, folder, speed=6.0):
            shows_a_frame(page)
            page.evaluate(RECORD_DISPLAY)
            page.locator(".combo.shown").first.wait_for()
            page.locator(".icon.lost").first.wait_for(state="attached")
            played = page.evaluate("window.shown")
            first.kill()
            page.locator(".stale").wait_for()
            before = shown(page)
            page.get_by_text("reconnecting").wait_for()
            page.wait_for_timeout(1500)
            assert values(shown(page)) == values(before)
            with running(folder, arguments=port):
                page.locator(".overlay:not(.stale)").wait_for()
                shows_a_frame(page, int(before["frame"]) + 300)
                records = page.evaluate("window.shown")
        joined_live = [url for url in watched.requested if "cursor=live" in url]
        assert len(joined_live) == 1, "it resumed at its cursor"
        watched.check(first.url, interrupted=True)
    for read in records:
        check(read, log)
    numbers = [int(read["frame"]) for read in records]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 50
    seen = set()
    for read in played:
        for index, combo in enumerate(read["combos"]):
            if combo is not None:
                seen.add((index, *combo))
                assert tuple(combo) in may_be_shown(log, index, int(read["frame"])), read
    assert len(seen) > 3


def may_be_shown(log: Log, attacker: int, frame: int) -> set[tuple[int, str]]:
    """The player's newest combos in each of the last frames."""
    known = [(begins, combo) for begins, combo in log.combos(attacker) if begins <= frame]
    lately = [combo for begins, combo in known if begins > frame - LATEST_COMBO_FRAMES]
    before = [combo for begins, combo in known if begins <= frame - LATEST_COMBO_FRAMES][-1:]
    return {combo for combo in (*before, *lately) if combo is not None}


@pytest.mark.release
def test_overlay_heap_stays_flat(browser: Browser, tmp_path: Path) -> None:
    measured = overlay.measure(browser, tmp_path, LONG_SECONDS / SPEED, speed=SPEED)
    assert measured.frames > 0
    assert measured.updates > 0
    assert measured.heap_after < measured.heap_before + MAX_HEAP_GROWTH_BYTES, measured
