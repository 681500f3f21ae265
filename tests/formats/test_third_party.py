"""The example on the page "add a format": a package that is built, installed and used.

The settings of the example call its players `drivers`, a word that occurs nowhere above `formats/`. Their names must
appear in the index, `/v1/games`, the files for OBS, a webhook and the dashboard.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.store import FILE_NAME, GamesQuery, open_database
from tests.browsers.chromium import chromium
from tests.browsers.pages import open_page
from tests.daemons.process import DaemonProcess
from tests.example_package import installed_package, run_slpstream
from tests.parts.receivers import RealReceiver, real_receiver
from tests.project import ROOT

PAGE = ROOT / "docs" / "howto" / "add_a_format.md"
LONG_MS = 60_000


def race(*taps: tuple[int, ...], track: str = "Monaco", drivers: tuple[str, ...] = ("Ana", "Bob")) -> bytes:
    """A replay of a race in which these drivers tap in these frames."""
    text = "\n".join([track, *drivers]).encode()
    held = bytes(sum(1 << driver for driver in in_frame) for in_frame in taps)
    return b"TAP1" + len(held).to_bytes(2, "big") + len(text).to_bytes(2, "big") + text + held


GAME = race(*((0,) if number % 7 == 0 else () for number in range(120)))
WON_BY_BOB = race(*((1,) if number % 5 == 0 else () for number in range(480)))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel of the example, which is how pure Python wheels are installed."""
    text = PAGE.read_text("utf-8")
    files = {
        name: re.findall(rf"`{re.escape(name)}`:\n\n```{kind}\n(.*?)```", text, re.DOTALL)[0]
        for name, kind in (("pyproject.toml", "toml"), ("slpstream_tap.py", "python"))
    }
    return installed_package(tmp_path_factory.mktemp("slpstream-tap"), files)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.mark.slow
@pytest.mark.parts("info", "stats", "verify")
def test_commands_read_files_of_the_format(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "game.tap").write_bytes(GAME)
    dumped = run_slpstream("dump", tmp_path / "game.tap", "--topics", "game,frame,stats", path=installed)
    assert dumped.returncode == 0, dumped.stderr
    log = [json.loads(line) for line in dumped.stdout.splitlines()]
    assert log[0]["format"] == "tap"
    assert log[0]["settings"]["drivers"] == [{"name": "Ana"}, {"name": "Bob"}]
    frames = [message["frame"] for message in log if message["type"] == "frame"]
    assert [frame["frame"] for frame in frames] == list(range(120))
    assert [f["frame"] for f in frames if f["players"]["0"]["inputs"].get("buttons")] == list(range(0, 120, 7))
    [stats] = [message["stats"] for message in log if message["type"] == "stats"]
    assert stats == {"overall": [{"playerIndex": 0, "taps": 18}, {"playerIndex": 1, "taps": 0}]}
    assert (log[-1]["durationSeconds"], log[-1]["winners"]) == (2, [0])
    row = json.loads(run_slpstream("info", "--json", tmp_path, path=installed).stdout)
    assert (row["format"], row["frames"]) == ("tap", 120)
    table = run_slpstream("info", tmp_path, path=installed).stdout
    assert "Monaco, 120 frames" in table
    assert "P1 Ana *" in table
    assert "P2 Bob" in table
    same = run_slpstream("verify", tmp_path / "game.tap", tmp_path / "game.tap", path=installed)
    assert same.returncode == 0
    stats_of = run_slpstream("stats", tmp_path / "game.tap", path=installed)
    other_kind = "tap replays have stats of another kind than Slippi's, in the messages of the topic stats"
    assert (stats_of.returncode, stats_of.stderr) == (1, f"slpstream: {tmp_path / 'game.tap'}: {other_kind}\n")
    (tmp_path / "cut.tap").write_bytes(GAME[:-1])
    cut = run_slpstream("dump", tmp_path / "cut.tap", path=installed)
    assert cut.returncode == 1
    assert cut.stderr == f"slpstream: {tmp_path / 'cut.tap'}: 120 frames take 142 bytes, there are 141, at offset 4\n"


def test_files_are_refused_without_the_package(tmp_path: Path) -> None:
    (tmp_path / "game.tap").write_bytes(GAME)
    refused = run_slpstream("dump", tmp_path / "game.tap", path=None)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    ("pattern", "broken", "message"),
    [
        (r"FORMAT = Format\(.*?\n\)", 'FORMAT = "tap"', "expected a slpstream.formats.Format"),
        (r"import msgspec\n", "import msgspec_of_old\n", "cannot be loaded"),
        (r"    describe=describe,\n", "    summary=describe,\n", "cannot be loaded"),
        (r'Format\(\n    "tap"', 'Format(\n    "gci"', "the name gci is taken"),
    ],
)
def test_broken_package_is_a_configuration_error(
    installed: Path, tmp_path: Path, pattern: str, broken: str, message: str
) -> None:
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    module = tmp_path / "slpstream_tap.py"
    changed = re.sub(pattern, broken, module.read_text("utf-8"), flags=re.DOTALL)
    assert changed != module.read_text("utf-8")
    module.write_text(changed, encoding="utf-8")
    (tmp_path / "game.tap").write_bytes(GAME)
    refused = run_slpstream("dump", tmp_path / "game.tap", path=tmp_path)
    assert refused.returncode == 78, refused.stderr
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1


class Venue:
    """A daemon with the example installed, and with every output."""

    def __init__(self, folder: Path, receiver: RealReceiver, installed: Path) -> None:
        self.station, self.obs, self.state = folder / "setup", folder / "obs" / "setup", folder / "state"
        self.station.mkdir()
        self.receiver = receiver
        (folder / "key").write_bytes(b"secret")
        config = folder / "slpstream.toml"
        config.write_text(
            f'[[webhooks]]\nurl = "{receiver.url}"\nsecret_file = "{folder / "key"}"\n'
            f'[obs]\nfolder = "{self.obs.parent}"\n[watch]\npace = true\n'
        )
        self.daemon = DaemonProcess(
            self.station,
            arguments=("--config", str(config)),
            state=self.state,
            environment={"PYTHONPATH": str(installed)},
        )

    def play(self, name: str, data: bytes) -> None:
        """Write a whole replay in one go. The daemon streams it in real time."""
        (self.station / name).write_bytes(data)

    def texts(self, *names: str) -> list[str]:
        """The contents of files for OBS."""
        return [(self.obs / f"{name}.txt").read_text() for name in names]

    def games(self, **query: str) -> list[dict[str, Any]]:
        """The games in the response of `/v1/games`."""
        query_string = "&".join(f"{key}={value}" for key, value in query.items())
        games: list[dict[str, Any]] = self.daemon.get(f"/v1/games?{query_string}")["games"]
        return games

    def hooks(self, kind: str) -> list[dict[str, Any]]:
        """The deliveries of one type that the webhook accepted."""
        return [request.json for request in self.receiver.accepted if request.json["type"] == kind]


@pytest.fixture
def venue(tmp_path: Path, installed: Path) -> Iterator[Venue]:
    with real_receiver() as receiver:
        venue = Venue(tmp_path, receiver, installed)
        try:
            venue.daemon.wait_ready()
            yield venue
        finally:
            if venue.daemon.process.poll() is None:
                venue.daemon.kill()


def row(page: Page, name: str) -> Any:
    return page.locator(".stations .player", has_text=name)


@pytest.mark.parts("dashboard", "scenes", "text_files", "webhooks")
def test_drivers_are_players_in_every_output(venue: Venue, browser: Browser) -> None:
    daemon = venue.daemon
    with open_page(browser, viewport={"width": 1280, "height": 800}) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/#station/setup")
        expect(page.locator(".stations .note")).to_have_text("No game yet")
        venue.play("first.tap", WON_BY_BOB)

        # During the race.
        expect(page.locator(".stations .where .stage")).to_have_text("TAP · Monaco", timeout=LONG_MS)
        expect(page.locator(".stations .player .name")).to_have_text(["Ana", "Bob"])
        expect(page.locator(".detail .players .name")).to_have_text(["Ana", "Bob"])
        expect(page.locator(".detail .where .stage")).to_have_text("TAP · Monaco")
        daemon.until(lambda: venue.texts("player1", "player2", "stage") == ["Ana", "Bob", "Monaco"])
        [described] = daemon.get("/v1/stations")["stations"]
        assert [player["name"] for player in described["game"]["summary"]["players"]] == ["Ana", "Bob"]
        [running] = venue.games()
        assert running["inProgress"]
        assert [(player["index"], player["name"]) for player in running["players"]] == [(0, "Ana"), (1, "Bob")]
        venue.receiver.wait(lambda: bool(venue.hooks("game_start")))
        [start] = venue.hooks("game_start")
        assert [player["name"] for player in start["summary"]["players"]] == ["Ana", "Bob"]
        with open_page(browser) as joining:  # a page opened during the race gets a snapshot
            joining.page.goto(f"{daemon.url}/overlay/setup")
            expect(joining.page.locator(".players .name bdi")).to_have_text(["Ana", "Bob"], timeout=LONG_MS)
            expect(joining.page.locator(".match .stage")).to_have_text("Monaco")
            joining.check(daemon.url)

        # After the race.
        expect(page.locator(".stations .note")).to_have_text("Bob wins", timeout=LONG_MS)
        expect(row(page, "Bob")).to_have_class(re.compile(r"\bwon\b"))
        expect(page.locator(".games .who")).to_have_text(["Ana vs Bob"], timeout=LONG_MS)
        expect(page.locator(".games .details")).to_contain_text("Bob wins · TAP · Monaco")
        page.locator(".games .open").click()
        expect(page.locator("#detail-title")).to_have_text("Ana vs Bob")
        expect(page.locator(".detail .result")).to_have_text("Bob wins")
        expect(page.locator(".detail .players .name")).to_have_text(["Ana", "Bob"])
        watched.check(daemon.url)
    venue.receiver.wait(lambda: bool(venue.hooks("game_end")))
    [end] = venue.hooks("game_end")
    assert end["summary"]["winners"] == [1]
    assert end["stats"] == {"overall": [{"playerIndex": 0, "taps": 0}, {"playerIndex": 1, "taps": 96}]}
    [game] = venue.games(player="bob")
    assert (game["winners"], game["setup"]) == ([1], {"track": "Monaco"})
    assert venue.games(player="cleo") == []
    daemon.until(lambda: daemon.get("/v1/stations/setup/set")["score"] == [0, 1])
    assert [player["name"] for player in daemon.get("/v1/stations/setup/set")["players"]] == ["Ana", "Bob"]
    assert daemon.get(f"/v1/games/{game['gameId']}")["statsSummary"] == end["stats"]
    code = daemon.terminate()
    assert code == 0
    with closing(open_database(venue.state / FILE_NAME)) as database:
        assert [row.game_id for row in database.games.page(GamesQuery(player="ANA", limit=10)).games] == [
            game["gameId"]
        ]
        [indexed] = database.games.played("setup", 10)
    assert [player.name for player in indexed.summary.players] == ["Ana", "Bob"]
