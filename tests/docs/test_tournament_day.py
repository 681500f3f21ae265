"""Every step of docs/tournament/index.md with a real daemon. The test plays the organiser, the players with their
phones, and the setups. start.gg is the double of tests/parts/bracket, over HTTP.

Commands and configuration are taken from the page. Only addresses and ports are replaced, and waits are shortened.
Instead of clicks, the test sends the requests of the buttons. The tests of the pages press the buttons; here their
labels are compared.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess
from tests.docs.pages import DOCS
from tests.docs.reader import Reader, blocks_of, steps_of
from tests.parts.audit.fleet import USUAL, Console, fixes, game
from tests.parts.bracket.startgg_double import TOKEN, DoubleSet, Entrant, Player, StartggDouble
from tests.parts.controllers.hands import analog, moved, with_inputs
from tests.parts.handover.validator import problems
from tests.project import ROOT
from tests.sets.games import FOX, MARTH, Seat, replay

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.parts("dashboard", "scenes", "seats")]

PAGE = (DOCS / "tournament" / "index.md").read_text(encoding="utf-8")
STEPS = steps_of(PAGE)
SETUPS = 50
ELSEWHERE = {"setup", "station", "Developer settings", "Personal access tokens", "Save as type", "All files"}
"""Words in italics that do not belong to slpstream."""
NAMELESS = {0: Seat(character=FOX), 1: Seat(character=MARTH)}
TRIES_SECONDS = 60.0


def blocks(step: int, language: str) -> list[str]:
    return blocks_of(STEPS[step], language)


class Organiser(Reader):
    """The organiser of the tournament."""

    def __init__(self, home: Path, startgg: str) -> None:
        super().__init__(home)
        self.tournament = home / "tournament"
        self._startgg = startgg
        self.daemon: DaemonProcess | None = None

    @property
    def running(self) -> DaemonProcess:
        assert self.daemon is not None
        return self.daemon

    def run(self, step: int, *, code: int = 0) -> str:
        """Run the commands of a step, and return their output."""
        [text] = blocks(step, "sh") if step != 14 else ["\n".join(blocks(step, "sh"))]
        return self.shell(text, code=code)

    def shell(self, text: str, *, code: int = 0) -> str:
        if self.daemon is not None:
            text = text.replace("127.0.0.1:5151", self.daemon.url.removeprefix("http://"))
        return super().shell(text, code=code)

    def configure(self, text: str) -> None:
        """Save a configuration from the page, with the address of the double and shorter waits."""
        changes = {
            "[handover]\n": "[handover]\ndelay_seconds = 0.0\n",
            "[bracket]\n": f'[bracket]\nurl = "{self._startgg}"\nrequests_per_minute = 80\n'
            "poll_seconds = 5.0\nhold_seconds = 1.0\n",
        }
        for old, new in changes.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (self.tournament / "slpstream.toml").write_text(text)

    def start(self) -> DaemonProcess:
        """Start the daemon like in step 3."""
        arguments = self.arguments_of_serve(blocks(3, "sh")[0])
        self.daemon = DaemonProcess(arguments=arguments, environment={"HOME": str(self.home)})
        self.daemon.url = self.daemon.url.replace("0.0.0.0", "127.0.0.1")  # as on the page
        self.daemon.until(lambda: len(self.running.get("/v1/stations")["stations"]) == SETUPS, 60)
        self.daemon.wait_ready()
        return self.daemon

    def stop(self) -> None:
        """Press Ctrl-C."""
        self.running.process.send_signal(signal.SIGINT)
        self.running.process.wait(30)
        self.running.kill()
        self.daemon = None

    def put(self, setup: str, name: str, data: bytes) -> None:
        """Put a complete game into the folder of a setup."""
        hidden = self.tournament / "setups" / setup / f".{name}"
        hidden.write_bytes(data)
        hidden.rename(hidden.with_name(f"{name}.slp"))

    def play(self, setup: str, number: int, winner: int, *, names: Sequence[str] = ()) -> None:
        """Have two people, unnamed in the replay, tap their `names` and play a game that the setup writes live."""
        for port, name in enumerate(names, 1):
            Phone(self, setup).sit(port, name)
        minute = 10.0 * int(setup) + number
        data = replay(NAMELESS, {winner: 2, 1 - winner: 0}, seconds=40, minute=minute)
        game = PlayedGame(self.tournament / "setups" / setup / f"Game_{number}.slp", data)
        game.write(len(data) // 2)
        self.running.until(lambda: self._state(setup) == "playing")
        if names:
            self.running.until(lambda: self._names_in_game(setup) == list(names))
        game.end()
        self.running.until(lambda: self._state(setup) == "idle")

    def _state(self, setup: str) -> str:
        stations = self.running.get("/v1/stations")["stations"]
        return next(str(each["state"]) for each in stations if each["id"] == setup)

    def _names_in_game(self, setup: str) -> list[str | None]:
        """The names that are shown during a game."""
        shown = self.set_of(setup)
        playing = [game["gameId"] for game in shown["games"] if game["verdict"] == "playing"]
        return [player.get("name") for player in shown["players"]] if playing else []

    def set_of(self, setup: str) -> dict[str, Any]:
        return dict(self.running.get(f"/v1/stations/{setup}/set"))

    def entry(self, setup: str) -> dict[str, Any]:
        """The newest entry of a setup in the bracket's queue that was matched to a set of the bracket."""
        queue = self.running.get("/v1/bracket")["queue"]
        return next((each for each in queue if each["station"] == setup and each.get("bracketSet")), {"state": ""})

    def wait_for(self, setup: str, state: str) -> dict[str, Any]:
        """Wait until a result reaches a state."""
        self.running.until(lambda: self.entry(setup)["state"] == state, TRIES_SECONDS)
        return self.entry(setup)

    def press(self, setup: str, button: str) -> None:
        """Press a button on the page of the bracket."""
        decision = {"station": setup, "setId": self.entry(setup)["setId"], "do": button}
        self.send("POST", "/v1/bracket", decision)

    def correct(self, setup: str, patch: Mapping[str, Any]) -> None:
        """Correct the set like under *Set* on the dashboard."""
        self.send("PATCH", f"/v1/stations/{setup}/set", patch)

    def send(self, method: str, path: str, body: Mapping[str, Any], *, address: str = "", **headers: str) -> Any:
        request = urllib.request.Request(
            (address or self.running.url) + path,
            json.dumps(body).encode(),
            {"content-type": "application/json", **headers},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)


class Phone:
    """The phone of a player who has scanned the code of a setup."""

    def __init__(self, organiser: Organiser, setup: str) -> None:
        self._organiser = organiser
        self._path = f"/v1/seats/{setup}"
        codes = organiser.running.get("/v1/seat-codes")["codes"]
        [url] = [each["url"] for each in codes if each["station"] == setup]
        self._address = url.partition("/seats/")[0]
        self._headers = {"Authorization": f"Bearer {url.partition('#')[2]}", "slpstream-phone": os.urandom(12).hex()}

    def people(self) -> list[str]:
        """The people expected by the bracket."""
        request = urllib.request.Request(self._address + self._path, headers=self._headers)
        with urllib.request.urlopen(request, timeout=20) as response:
            return [each["name"] for each in json.load(response)["people"] if each.get("expected")]

    def sit(self, port: int, name: str) -> None:
        claim = {"act": "claim", "playerIndex": port - 1, "name": name}
        self._organiser.send("POST", self._path, claim, address=self._address, **self._headers)


@pytest.fixture
def double() -> StartggDouble:
    """An event of four players: two sets, whose winners meet in the final."""
    made = StartggDouble(time.time)
    made.phases = [1]
    made.stations |= {500 + number: (number, f"Setup {number}") for number in range(1, SETUPS + 1)}
    ann, bob, cyd, dan = (Entrant(1000 + i, [Player(name)]) for i, name in enumerate(("Ann", "Bob", "Cyd", "Dan")))
    made.add(DoubleSet("first", "preview_400_1", 400, [ann, bob], feeds=[("final", 0)]))
    made.add(DoubleSet("second", "preview_400_2", 400, [cyd, dan], feeds=[("final", 1)]))
    made.add(DoubleSet("final", "preview_400_3", 400, [None, None], round="Winners Final", round_number=2))
    return made


@pytest.fixture
def organiser(double: StartggDouble, tmp_path: Path) -> Iterator[Organiser]:
    with double.served() as url:
        organiser = Organiser(tmp_path / "organiser", url)
        try:
            yield organiser
        finally:
            if organiser.daemon is not None:
                organiser.daemon.kill()


def test_page_has_fourteen_steps() -> None:
    assert list(STEPS) == list(range(1, 15))
    for number, text in STEPS.items():
        assert "**You see**" in text, number
        assert "**If not**" in text, number


def test_quoted_words_exist_in_pages_or_programs() -> None:
    """Words in italics or bold appear on a page of slpstream or in its output."""
    package = ROOT / "slpstream"
    files = [*package.rglob("texts/en.js"), *package.rglob("*.py")]
    known = "\n".join(file.read_text(encoding="utf-8") for file in files)
    text = re.sub(r"^ *```.*?^ *```$|`[^`]*`|!?\[[^\]]*\]\([^)]*\)", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    words = {" ".join(word.split()) for _, word in re.findall(r"(?<!\w)(\*{1,2})([^*\n][^*]*)\1", text)}
    assert len(words) > 25
    assert not {word for word in words - ELSEWHERE - {"You see", "If not", "+", "−"} if word not in known}


def test_archive_has_no_secrets(organiser: Organiser) -> None:
    """Even if everything went wrong between steps 3 and 14."""
    _install(organiser)
    organiser.start().get("/v1/seat-codes")
    organiser.stop()
    _archive(organiser)


@pytest.mark.parts("chat", "demo", "rehearse")
def test_rehearsal(organiser: Organiser) -> None:
    """Step 7, which needs no daemon, faster than on the page."""
    configuration = _install(organiser)
    (organiser.tournament / "secrets/discord.url").write_text("https://discord.example/api/webhooks/1\n")
    [chat] = blocks(7, "toml")
    organiser.configure(configuration + chat)
    for number in (1, 2):
        data = replay(NAMELESS, {0: 2, 1: 0}, seconds=40, minute=10.0 * number)
        (organiser.home / f"Game_{number}.slp").write_bytes(data)
    commands = blocks(7, "sh")[0].rstrip()
    assert " --speed 8\n" in commands
    shown = organiser.shell(commands.replace(" --speed 8\n", " --speed 100 --pause 1\n") + " --speed 0")
    assert "[[chat]] 1 POST discord.example:443" in shown
    assert (organiser.tournament / "setups/01/Game_1.slp").is_file()


def test_every_step(organiser: Organiser, double: StartggDouble) -> None:
    configuration = _install(organiser)
    daemon = organiser.start()  # step 3
    assert [each["id"] for each in daemon.get("/v1/stations")["stations"]] == [f"{n:02}" for n in range(1, SETUPS + 1)]

    _compare_setups(organiser)
    _print_codes(organiser)
    _dry_run(organiser, double, configuration)
    _call_and_report(organiser, double)
    _controller(organiser)
    _crew_battle(organiser)
    _last_set(organiser, double, configuration)
    _replays(organiser)
    _end(organiser)
    assert [winner for winner, _ in double.sets["final"].completions] == [1], "once, also after the end"


def _install(organiser: Organiser) -> str:
    """Steps 1 and 2: create the folders, the tokens and the configuration, which is returned."""
    tournament = organiser.tournament
    version = organiser.run(1)
    assert re.search(r"\d+\.\d+\.\d+", version)
    assert len(list((tournament / "setups").iterdir())) == SETUPS

    secrets = tournament / "secrets"
    (secrets / "token").write_text("a password\n")  # step 2
    (secrets / "startgg_token").write_text(f"{TOKEN}\n")
    permissions, check = blocks(2, "sh")
    organiser.shell(permissions)
    assert (secrets / "startgg_token").stat().st_mode & 0o077 == 0
    assert secrets.stat().st_mode & 0o077 == 0
    [configuration] = blocks(2, "toml")
    organiser.configure(configuration)
    assert f"good; stations ({SETUPS}): 01, 02, " in organiser.shell(check)
    return configuration


def _compare_setups(organiser: Organiser) -> None:
    """Step 4: the difference shown on the page is found, and disappears after its correction."""
    odd = Console(fixes=fixes(3, 0, 0))
    every: dict[str, Any] = {"ports": (1, 2, 3, 4), "seconds": 31.0, "quits": True}
    for number in range(1, SETUPS + 1):
        console = odd if number == 12 else USUAL
        organiser.put(f"{number:02}", "Game_0", game(console, 0, random_seed=number, **every))
    audit = "/v1/audit"
    organiser.running.until(lambda: sum(each["games"] for each in organiser.running.get(audit)["setups"]) == SETUPS, 60)
    [shown] = blocks(4, "text")
    assert shown in organiser.run(4, code=1)
    organiser.put("12", "Game_00", game(USUAL, 0, random_seed=99, **every))
    organiser.running.until(
        lambda: not any(each["kind"] == "differs" for each in organiser.running.get(audit)["findings"])
    )


def _print_codes(organiser: Organiser) -> None:
    """Step 5. The phones of step 10 use the same address: the page of the bracket asks them for the token."""
    address = organiser.running.get("/v1/seat-codes")["address"]
    assert address in organiser.run(5)
    page = (organiser.tournament / "secrets/codes.html").read_text()
    assert page.count("<svg") == SETUPS
    with urllib.request.urlopen(f"{address}/bracket", timeout=20) as response:
        assert b"bracket.js" in response.read()
    if "127.0.0.1" not in address:  # the machine is on a network
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address}/v1/bracket", timeout=20)
    with urllib.request.urlopen(f"{address}/v1/bracket?token=a%20password", timeout=20) as response:
        assert json.load(response)["configured"]


def _dry_run(organiser: Organiser, double: StartggDouble, configuration: str) -> None:
    """Step 6: the first set is recognised, and reported only after `report = true` and a confirmation."""
    listed = organiser.run(6)
    assert "the token may report for tournament/the-big-one" in listed
    assert all(f"station {number}: is {number:02}\n" in listed for number in range(1, SETUPS + 1))
    assert "Ann – Bob" in listed
    organiser.play("03", 1, 0, names=("Ann", "Bob"))
    organiser.play("03", 2, 0)
    assert organiser.wait_for("03", "confirm")["request"]
    assert organiser.running.get("/v1/bracket")["dryRun"]
    assert double.sets["first"].completions == []

    [section] = blocks(6, "toml")
    organiser.configure(configuration[: configuration.index("[bracket]")] + section)
    organiser.stop()
    organiser.start()
    organiser.wait_for("03", "confirm")
    assert not organiser.running.get("/v1/bracket")["dryRun"]
    organiser.press("03", "confirm")
    organiser.wait_for("03", "done")
    assert [winner for winner, _ in double.sets["first"].completions] == [0]


def _call_and_report(organiser: Organiser, double: StartggDouble) -> None:
    """Steps 8 to 10: a set is called, played, reported through an outage, and corrected."""
    second = double.sets["second"]
    second.station, second.updated_at = 505, int(time.time())
    organiser.running.until(lambda: second.state == 6, TRIES_SECONDS)

    organiser.running.until(lambda: Phone(organiser, "05").people() == ["Cyd", "Dan"], TRIES_SECONDS)
    organiser.play("05", 1, 0, names=("Dan", "Cyd"))
    organiser.running.until(lambda: second.state == 2, TRIES_SECONDS)
    assert [each["name"] for each in organiser.set_of("05")["players"]] == ["Dan", "Cyd"]

    organiser.play("05", 2, 0)
    organiser.wait_for("05", "confirm")
    double.trouble = lambda operation: "unreachable"
    organiser.press("05", "confirm")
    organiser.wait_for("05", "due")
    organiser.running.until(lambda: "does not answer" in _readiness(organiser), TRIES_SECONDS)
    assert second.completions == []
    double.trouble = lambda operation: ""
    organiser.wait_for("05", "done")
    assert [winner for winner, _ in second.completions] == [1]

    games = {each["gameId"]: {"winner": 1} for each in organiser.set_of("05")["games"] if each["counts"]}
    organiser.correct("05", {"games": games})
    organiser.running.until(lambda: organiser.entry("05")["changed"])
    assert [winner for winner, _ in second.completions] == [1]
    organiser.press("05", "correct")
    organiser.running.until(lambda: len(second.completions) == 2, TRIES_SECONDS)
    organiser.running.until(lambda: not organiser.entry("05")["changed"], TRIES_SECONDS)
    assert second.completions[1][0] == 0


def _last_set(organiser: Organiser, double: StartggDouble, configuration: str) -> None:
    """The end of step 10: the final is reported automatically."""
    final = double.sets["final"]
    assert [entrant.name for entrant in final.entrants if entrant is not None] == ["Ann", "Cyd"]
    assert "`confirm = false` to `[bracket]`" in STEPS[10]
    [section] = blocks(6, "toml")
    organiser.configure(f"{configuration[: configuration.index('[bracket]')]}{section}confirm = false\n")
    organiser.stop()
    organiser.start()
    assert not organiser.running.get("/v1/bracket")["confirm"]

    final.station, final.updated_at = 501, int(time.time())
    organiser.running.until(lambda: Phone(organiser, "01").people() == ["Ann", "Cyd"], TRIES_SECONDS)
    organiser.play("01", 1, 1, names=("Ann", "Cyd"))
    organiser.play("01", 2, 1)
    organiser.wait_for("01", "done")
    assert [(winner, len(games)) for winner, games in final.completions] == [(1, 2)]


def _readiness(organiser: Organiser) -> str:
    try:
        return organiser.running.text("/readyz")
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def _controller(organiser: Organiser) -> None:
    """Step 11: a stick that rests off centre."""
    players = {0: analog(1, change=partial(moved, 9, 0)), 1: analog(2)}
    organiser.put("07", "Game_1", with_inputs(players))
    printed = organiser.run(11)
    assert re.search(r"\brest\b", printed), printed
    said = {"event": "look at this controller", "station": "07", "port": 1, "check": "rest"}
    organiser.running.until(
        lambda: any(said.items() <= line.items() for line in organiser.running.lines), TRIES_SECONDS
    )


def _crew_battle(organiser: Organiser) -> None:
    """Step 12: the loser's crew has lost a player, the winner keeps two stocks."""
    organiser.play("09", 1, 0)
    crews = {"crews": [{"name": "Red", "stocks": 20}, {"name": "Blue", "stocks": 20}], "stocksPerPlayer": 4}
    organiser.correct("09", {"crewBattle": crews})
    organiser.play("09", 2, 1)
    organiser.running.until(lambda: [side["score"] for side in organiser.set_of("09")["sides"]] == [16, 14])


def _replays(organiser: Organiser) -> None:
    """Step 13: a zip of each set of the bracket."""
    zips = organiser.tournament / "zips"
    [shown] = re.findall(r"`(.*)\.zip`", STEPS[13])
    organiser.running.until(lambda: (zips / f"{shown}.zip").exists(), TRIES_SECONDS)
    assert problems(zips / f"{shown}.zip") == []
    daemon, again = organiser.running, organiser.entry("03")["setId"]
    with urllib.request.urlopen(f"{daemon.url}/v1/stations/03/sets/{again}/replays.zip") as response:
        assert problems(io.BytesIO(response.read())) == []
        assert response.headers["content-type"] == "application/zip"
        assert response.headers["content-disposition"] == f'attachment; filename="{shown}.zip"'
    for other in (f"03/sets/{'0' * 32}", f"other/sets/{again}"):
        assert daemon.status(f"/v1/stations/{other}/replays.zip") == 404


def _end(organiser: Organiser) -> None:
    """Step 14: no report is pending, the codes are invalid, and the backup is complete."""
    assert organiser.running.get("/v1/bracket")["waiting"] == 0
    stranger = Phone(organiser, "03")
    renew, _ = blocks(14, "sh")
    organiser.shell(renew)
    with pytest.raises(urllib.error.HTTPError) as refused:
        stranger.people()
    with refused.value as error:
        assert error.code == 401
    organiser.stop()
    names = _archive(organiser)
    assert {"tournament/slpstream.toml", "tournament/state/reports.sqlite3", "tournament/setups/05/Game_2.slp"} <= names
    kept = [path for path in organiser.tournament.rglob("*") if path.is_file() and "secrets" in path.parts]
    assert {"token", "startgg_token", "codes.html", "seats.json"} == {path.name for path in kept}


def _archive(organiser: Organiser) -> set[str]:
    """Pack the archive of step 14, which must not contain secrets. Returns the names in it."""
    _, pack = blocks(14, "sh")
    organiser.shell(pack)
    with tarfile.open(organiser.home / "tournament.tar.gz") as archive:
        names = set(archive.getnames())
        content = b"".join(file.read() for each in archive if (file := archive.extractfile(each)) is not None)
    [keys] = (organiser.tournament / "state").rglob("seats.json")
    for secret in ("a password", TOKEN, json.loads(keys.read_bytes())["secret"]):
        assert secret.encode() not in content
    assert not [name for name in names if "secrets" in name or "token" in name]
    return names
