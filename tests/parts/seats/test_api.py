"""Seats over HTTP with a real daemon: requests that the token of a station allows, and no other token."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slpstream.parts import registry
from slpstream.web.app import described_endpoints
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import ask, correct_set

pytestmark = pytest.mark.process

ANN, BOB = "a" * 32, "b" * 32
"""Ids of phones."""
OPERATOR = "operators-token-for-tests"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("main", "side", "state"):
        (tmp_path / name).mkdir()
    return tmp_path


def daemon_in(folder: Path, more: str = "") -> Any:
    """A daemon with two stations, seats, and a persistent state folder."""
    arguments = configuration(folder, f"[seats]\non = true\n{more}")
    return running(folder / "main", folder / "side", arguments=arguments, state=folder / "state")


@pytest.fixture
def daemon(folder: Path) -> Iterator[DaemonProcess]:
    with daemon_in(folder) as started:
        started.wait_ready()
        yield started


def codes(daemon: DaemonProcess, **headers: str) -> dict[str, str]:
    """The tokens in the codes, by station."""
    status, _, body = ask(daemon, "/v1/seat-codes", **headers)
    assert status == 200
    return {code["station"]: code["url"].partition("#")[2] for code in body["codes"]}


def claim(
    daemon: DaemonProcess,
    token: str,
    name: str,
    index: int = 0,
    *,
    phone: str = ANN,
    station: str = "main",
    **more: Any,
) -> tuple[int, Any]:
    body = {"act": "claim", "playerIndex": index, "name": name, **more}
    status, _, answer = ask(
        daemon, f"/v1/seats/{station}", body, authorization=f"Bearer {token}", slpstream_phone=phone
    )
    return status, answer


def names(daemon: DaemonProcess, station: str = "main") -> list[str | None]:
    return [player.get("name") for player in daemon.get(f"/v1/stations/{station}/set")["players"]]


def test_claim_swap_and_leave(daemon: DaemonProcess) -> None:
    token = codes(daemon)["main"]
    status, seats = claim(daemon, token, "  Ann\tB  ")
    assert (status, names(daemon)) == (200, ["Ann B", None])
    assert [port.get("name") for port in seats["ports"]] == ["Ann B", None, None, None]
    assert seats["ports"][0]["yours"]
    assert claim(daemon, token, "Ann B") == (200, seats), "the same claim gets the same answer"
    status, problem = claim(daemon, token, "Bob", phone=BOB)
    assert (status, problem["detail"]) == (409, "Ann B sits at port 1")
    assert claim(daemon, token, "Bob", 1, phone=BOB)[0] == 200
    act = {"authorization": f"Bearer {token}", "slpstream_phone": BOB}
    status, _, seats = ask(daemon, "/v1/seats/main", {"act": "swap", "playerIndex": 0}, **act)
    assert (status, names(daemon)) == (200, ["Bob", "Ann B"])
    assert [port.get("yours", False) for port in seats["ports"]] == [True, False, False, False]
    assert ask(daemon, "/v1/seats/main", {"act": "leave"}, **act)[0] == 200
    assert names(daemon) == [None, "Ann B"]
    changes = daemon.get("/v1/stations/main/set/changes")["changes"]
    assert [change["by"] for change in changes] == ["phone: Bob", "phone: Bob", "phone: Bob", "phone: Ann B"]
    assert changes[-1]["values"] == [{"field": "name", "to": "Ann B", "port": 1}]


def test_station_token_is_valid_for_its_seats_only(folder: Path) -> None:
    (folder / "token").write_text(OPERATOR)
    (folder / "read").write_text("readers-token-for-tests")
    tokens_of_daemon = (
        f"[server]\nrequire_token = true\ntoken_file = '{folder / 'read'}'\noperate_token_file = '{folder / 'token'}'\n"
    )
    with daemon_in(folder, tokens_of_daemon) as daemon:
        operator = {"authorization": f"Bearer {OPERATOR}"}
        daemon.until(lambda: ask(daemon, "/readyz", **operator)[0] == 200)
        token = codes(daemon, **operator)["main"]
        assert claim(daemon, token, "Ann")[0] == 200, "no other token is required"
        seat = {"authorization": f"Bearer {token}"}
        refused = 0
        for endpoint in described_endpoints(registry.endpoints({})):
            if endpoint.path.startswith("/v1/seats/"):
                continue
            path = re.sub(r"\{game\w*\}", "0" * 32, endpoint.path.replace("{station}", "main"))
            path = re.sub(r"\{\w+\}", "1", path)
            body: Any = None if endpoint.body is None else {}
            status, _, answer = ask(daemon, path, body, method=endpoint.method, **seat)
            assert status in (401, 403), (endpoint.name, status, answer)
            refused += 1
        assert refused > 20
        status, _, _ = ask(daemon, "/v1/stream?station=main", **seat, upgrade="websocket", connection="upgrade")
        assert status != 101
        status, _, _ = ask(daemon, "/v1/events?station=main", **seat)
        assert status == 401
        assert claim(daemon, token, "Bob", station="side")[0] == 401
        page = ask(daemon, "/seats/main")
        assert page[0] == 200
        assert "main" not in re.sub(r"<[^>]*>", "", page[2])
        assert page[1]["referrer-policy"] == "no-referrer"


def test_phones_use_the_venue_address_and_foreign_pages_are_refused(daemon: DaemonProcess) -> None:
    token = codes(daemon)["main"]
    own = {"authorization": f"Bearer {token}", "slpstream_phone": ANN}
    body = {"act": "claim", "playerIndex": 0, "name": "Ann"}
    lan = {"host": "192.168.1.20:5151", "origin": "http://192.168.1.20:5151", "sec_fetch_site": "same-origin"}
    assert ask(daemon, "/v1/seats/main", body, **own, **lan)[0] == 200
    assert ask(daemon, "/v1/seats/main", {**body, "name": "Eve"}, **own, origin="http://evil.example")[0] == 403
    assert ask(daemon, "/v1/seats/main", body, **own, host="evil.example")[0] == 421
    assert names(daemon) == ["Ann", None]


def test_names_can_be_restricted_to_known_ones(folder: Path) -> None:
    with daemon_in(folder, "typed_names = false\n") as daemon:
        daemon.wait_ready()
        token = codes(daemon)["main"]
        assert claim(daemon, token, "Rude")[0] == 409
        patch = {"names": {"0": "Ann"}, "players": {"0": {"sponsor": "GG", "pronouns": "she/her"}}}
        assert ask(daemon, "/v1/stations/side/set", patch, method="PATCH")[0] == 200
        _, _, seats = ask(daemon, "/v1/seats/main", authorization=f"Bearer {token}")
        assert (seats["people"], seats["typedNames"]) == (
            [{"name": "Ann", "sponsor": "GG", "pronouns": "she/her"}],
            False,
        )
        status, seats = claim(daemon, token, "ann")
        assert (status, seats["ports"][0]["sponsor"], names(daemon)) == (200, "GG", ["Ann", None])
        player = daemon.get("/v1/stations/main/set")["players"][0]
        assert (player["sponsor"], player["pronouns"]) == ("GG", "she/her")


def test_too_many_requests(daemon: DaemonProcess) -> None:
    token = codes(daemon)["main"]
    statuses = [claim(daemon, "x" * 24, "Ann")[0] for _ in range(30)]
    assert statuses[:20] == [401] * 20
    assert 429 in statuses
    assert claim(daemon, token, "Ann")[0] == 200, "a correct token is not affected"
    statuses = [claim(daemon, token, "Ann")[0] for _ in range(30)]
    assert 429 in statuses
    assert claim(daemon, codes(daemon)["side"], "Bob", station="side")[0] == 200, "nor is another station"
    page = daemon.text("/metrics")
    assert re.search(r'slpstream_seat_requests_total\{outcome="limited"\} \d\d', page)
    assert 'slpstream_claimed_seats{station="main"} 1.0' in page


def test_names_invented_by_a_phone_are_listed_last(daemon: DaemonProcess) -> None:
    tokens = codes(daemon)
    made_up = [f"Made up {number}" for number in range(5)]

    def offered() -> list[str]:
        seats = ask(daemon, "/v1/seats/side", authorization=f"Bearer {tokens['side']}", slpstream_phone=BOB)
        return [person["name"] for person in seats.body["people"]]

    correct_set(daemon, "side", {"names": {"0": "Operated"}})
    daemon.until(offered)
    for name in made_up:
        assert claim(daemon, tokens["main"], name)[0] == 200
        daemon.until(lambda name=name: name in offered())  # type: ignore[misc]
    assert offered() == ["Operated", *reversed(made_up)]


def test_operators_name_takes_precedence(daemon: DaemonProcess) -> None:
    token = codes(daemon)["main"]
    correct_set(daemon, "main", {"names": {"0": "Zoe"}})
    _, seats = claim(daemon, token, "Ann")
    assert names(daemon) == ["Zoe", None]
    assert (seats["ports"][0]["name"], seats["ports"][0]["operatorName"]) == ("Ann", "Zoe")
    correct_set(daemon, "main", {"names": {"0": None}})
    assert names(daemon) == ["Ann", None]


def test_bad_requests(daemon: DaemonProcess) -> None:
    own = {"authorization": f"Bearer {codes(daemon)['main']}", "slpstream_phone": ANN}
    good = {"act": "claim", "playerIndex": 0, "name": "Ann"}
    for body, headers, status in (
        (good | {"playerIndex": 4}, {}, 422),
        (good | {"name": "A" * 61}, {}, 422),
        (good | {"name": " \u200b\u202e "}, {}, 409),
        ({"act": "claim", "playerIndex": 0}, {}, 409),
        ({"act": "swap", "playerIndex": 1}, {}, 409),
        ({"act": "dance"}, {}, 422),
        (good | {"score": 3}, {}, 422),
        (good, {"slpstream_phone": "short"}, 422),
        (good, {"content_type": "text/plain"}, 415),
        (good, {"origin": "http://friend.example"}, 403),
    ):
        assert ask(daemon, "/v1/seats/main", body, **own | headers).status == status, body
    assert names(daemon) == [None, None]


def test_claim_requires_the_token(folder: Path) -> None:
    (folder / "token").write_text(OPERATOR)
    with daemon_in(folder, f"[server]\noperate_token_file = '{folder / 'token'}'\n") as daemon:
        daemon.wait_ready()
        operator = {"authorization": f"Bearer {OPERATOR}"}
        tokens = codes(daemon, **operator)
        assert ask(daemon, "/v1/seat-codes", {"station": "main"}, **operator).status == 200  # renewed
        renewed = codes(daemon, **operator)
        assert renewed["side"] == tokens["side"], "other stations keep their tokens"
        body = {"act": "claim", "playerIndex": 0, "name": "Ann"}
        for given in ("", "x" * 24, tokens["side"], tokens["main"], OPERATOR):
            headers = {"slpstream_phone": ANN} | ({"authorization": f"Bearer {given}"} if given else {})
            path = f"/v1/seats/main?token={renewed['main']}"  # valid in the header only
            for answer in (ask(daemon, path, body, **headers), ask(daemon, path, **headers)):
                required = "the code of the station is required: scan it again"
                assert (answer.status, answer.body["detail"]) == (401, required), given
                assert answer.headers["www-authenticate"] == 'Bearer realm="seats"'
        assert names(daemon) == [None, None]


def test_damaged_codes_are_preserved_and_replaced(folder: Path) -> None:
    kept = folder / "state/secrets/seats.json"
    kept.parent.mkdir()
    kept.write_text('{"secret": "00"}')
    with daemon_in(folder) as daemon:
        daemon.wait_ready()
        assert claim(daemon, codes(daemon)["main"], "Ann")[0] == 200
        [line] = [line for line in daemon.lines if line["event"].startswith("codes of seats cannot be read")]
        assert line["level"] == "error"
        assert Path(line["damaged"]).read_text() == '{"secret": "00"}'


def test_codes_that_cannot_be_saved_still_work(folder: Path) -> None:
    (folder / "state/secrets").write_bytes(b"")
    with daemon_in(folder) as daemon:
        daemon.until(lambda: "seats: the codes cannot be kept" in json.dumps(ask(daemon, "/readyz").body))
        assert claim(daemon, codes(daemon)["main"], "Ann")[0] == 200, "players notice nothing"
        assert "slpstream_seat_codes_kept 0.0" in daemon.text("/metrics")


@pytest.mark.not_on_windows("Windows kills processes without SIGTERM")
@pytest.mark.slow
def test_codes_and_claims_survive_a_restart(folder: Path) -> None:
    with daemon_in(folder) as daemon:
        daemon.wait_ready()
        before = codes(daemon)
        assert claim(daemon, before["main"], "Ann")[0] == 200
        assert daemon.terminate() == 0
    kept = folder / "state/secrets/seats.json"
    if sys.platform != "win32":
        modes = {path: path.stat().st_mode & 0o777 for path in (kept, kept.parent, kept.parent.parent)}
        assert list(modes.values()) == [0o600, 0o700, 0o700]
    kept.rename(folder / "state/seats.json")  # the file of earlier versions
    with daemon_in(folder) as daemon:
        daemon.wait_ready()
        assert codes(daemon) == before
        assert kept.is_file()
        assert not (folder / "state/seats.json").exists()
        status, problem = claim(daemon, before["main"], "Bob", phone=BOB)
        assert (status, problem["detail"]) == (409, "Ann sits at port 1")
        assert ask(daemon, "/v1/seat-codes", {})[0] == 200
        after = codes(daemon)
        assert not set(after.values()) & set(before.values())
        assert claim(daemon, before["main"], "Ann")[0] == 401


@pytest.mark.not_on_windows("Windows kills processes without SIGTERM")
def test_no_token_is_logged(folder: Path) -> None:
    with daemon_in(folder) as daemon:
        daemon.wait_ready()
        token = codes(daemon)["main"]
        claim(daemon, token, "Ann")
        ask(daemon, "/seats/main")
        ask(daemon, "/v1/seat-codes", {})
        assert daemon.terminate() == 0
        assert token not in json.dumps(daemon.lines)
        assert ANN not in json.dumps(daemon.lines)
        assert any(line.get("by") == "phone: Ann" for line in daemon.lines)


def test_off_by_default(folder: Path) -> None:
    with running(folder / "main") as daemon:
        assert daemon.get("/v1/seats") == {"on": False}
        assert ask(daemon, "/v1/seats/main").status == 401
        assert ask(daemon, "/v1/seat-codes").status == 409
