"""The configuration: one documented list of keys, and errors that name the file, the key and the expected value."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.parts.bracket.checks import event_slug
from slpstream.parts.bracket.part import Bracket
from slpstream.parts.fanout.part import Fanout
from slpstream.parts.handover.part import Handover
from tests.project import ROOT

SECTIONS = registry.sections()
REQUIRED: dict[str, dict[str, str]] = {
    "stations": {"id": "a", "folder": "/x"},
    "webhooks": {"url": "https://example.org/hook", "secret_file": __file__},
    "chat": {"url_file": __file__},
    "jsonl": {"folder": "/x"},
    "scoreboards": {"kind": "text", "station": "a", "path": "/x"},
    "obs_rules": {"on": "game_start", "scene": "Game"},
    "situations": {"name": "kill", "query": "kill"},
}
"""The required keys of the sections that have any."""
SHIPPED = ROOT / "config" / "slpstream.toml"


def test_shipped_file_has_every_key_with_description_and_default() -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    values = tomllib.loads(text)
    assert config.load(SHIPPED, SECTIONS) == config.Config()
    for key in config.all_keys(SECTIONS):
        assert key.description
        comment = "# " if key.many else ""
        assert re.search(rf"^# {re.escape(key.description)}\n{comment}{key.name} = ", text, re.MULTILINE), key
        assert comment or values[key.section][key.name] == key.default


TEXT = {"kind": "text", "station": "a", "path": "/x"}
SCOREBOARD_ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({**TEXT, "kind": "obs"}, "scoreboards[0].kind", '"streamcontrol"'),
    ({**TEXT, "station": "a b"}, "scoreboards[0].station", "id of a station"),
    ({**TEXT, "url": "http://x:5000"}, "scoreboards[0].url", "does not apply to text"),
    ({**TEXT, "mapping": {"a": "nam1"}}, "scoreboards[0].mapping.a", "found 'nam1'"),
    ({**TEXT, "mapping": {"../a": "name1"}}, "scoreboards[0].mapping", "names of files"),
    ({**TEXT, "path": ""}, "scoreboards[0].path", "must be given"),
    ({**TEXT, "path": __file__}, "scoreboards[0].path", "is a file"),
    ({"kind": "tournament-stream-helper", "station": "a", "url": "x:5000"}, "scoreboards[0].url", "http://host:port"),
    ({"kind": "tournament-stream-helper", "station": "a", "path": "/x"}, "scoreboards[0].path", "does not apply"),
    ({"kind": "melee-stream-tool", "station": "a", "path": "/x", "number": 2}, "scoreboards[0].number", "not apply"),
]


CHAT_ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({"url_file": ""}, "chat[0].url_file", "a file"),
    ({"url_file": "/nowhere/url"}, "chat[0].url_file", "/nowhere/url"),
    ({"events": ["game_start"]}, "chat[0].events[0]", '"set_end"'),
    ({"game_message": "{winer} wins"}, "chat[0].game_message", "unknown placeholder {winer}"),
    ({"set_message": "{winner} on {stage}"}, "chat[0].set_message", "unknown placeholder {stage}"),
    ({"set_message": ""}, "chat[0].set_message", ">= 1"),
    ({"set_message": "[[{round}"}, "chat[0].set_message", "has no `]]`"),
    ({"set_message": "}"}, "chat[0].set_message", "a single `}`"),
    ({"link": "https://example.org/{winner}"}, "chat[0].link", "unknown placeholder {winner}"),
    ({"link": "example.org"}, "chat[0].link", "https://"),
    ({"avatar_url": "x.png"}, "chat[0].avatar_url", "https://"),
    ({"username": "The Discord"}, "chat[0].username", "does not allow"),
]


OBS = {"url": "ws://127.0.0.1:4455"}
KILL = REQUIRED["situations"]
MAIN = {"id": "main", "folder": "/x"}
RULE_ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({"on": "game_start"}, "", "does nothing"),
    ({"on": "game_begin", "scene": "A"}, ".on", '"game_start"'),
    ({"on": "event", "scene": "A"}, ".event", "must be given"),
    ({"on": "event", "event": "combos", "scene": "A"}, ".event", "combo_ended"),
    ({"on": "game_end", "event": "lap", "scene": "A"}, ".event", "applies only with on = 'event'"),
    ({"on": "event", "event": "stock_lost", "kill": True, "scene": "A"}, ".kill", "stock_lost never applies"),
    ({"on": "event", "event": "tech", "min_damage": 5, "scene": "A"}, ".min_damage", "tech never applies"),
    ({"on": "game_end", "min_damage": 5, "scene": "A"}, ".min_damage", "found 'game_end'"),
    ({"on": "game_end", "after_seconds": 5, "scene": "A"}, ".after_seconds", "'station_idle'"),
    ({"on": "game_end", "show": ["Logo"]}, ".in_scene", "must be given"),
    ({"on": "game_end", "in_scene": "A", "scene": "B"}, ".in_scene", "applies only with"),
    ({"on": "game_end", "in_scene": "A", "show": ["x"], "hide": ["x"]}, ".hide", "shown by the same rule: 'x'"),
    ({"on": "game_end", "text": {"Score": "{score9}"}}, ".text.Score", "{score1}"),
    ({"on": "game_end", "text": {"Score": "{score1:>9}"}}, ".text.Score", "unknown placeholder"),
    ({"on": "game_end", "chapter": "{"}, ".chapter", "{{ for a brace"),
    ({"on": "game_end", "station": "side", "scene": "A"}, ".station", "no such station: 'side'"),
    ({"on": "game_end", "situation": "kill", "scene": "A"}, ".situation", "applies only with on = 'situation'"),
    ({"on": "situation", "situation": "kill", "scene": "A"}, ".situation", "no such situation: 'kill'"),
    ({"on": "situation", "scene": "A"}, ".on", "there are no [[situations]]"),
]
OBS_ADDRESSES = (
    *("127.0.0.1:4455", "ws://obs", "ws://obs:99999", "ws://obs:0", "wss://obs:4455", "ws://", "ws://user@obs:4455"),
    "ws://obs/x",
)


def _spectated(id: str, port: int) -> dict[str, Any]:
    return {"id": id, "folder": "/x", "relay_enet_port": port}


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"server": {"prt": 1}}, "server.prt", "unknown key"),
        ({"bogus": 1}, "bogus", "unknown key"),
        ({"server": {"port": "x"}}, "server.port", "expected `int`"),
        ({"server": {"port": 70000}}, "server.port", "65535"),
        ({"watch": {"poll_seconds": 0}}, "watch.poll_seconds", "> 0"),
        ({"watch": {"idle_seconds": 1.0, "stalled_seconds": 5.0}}, "watch.idle_seconds", "stalled_seconds"),
        ({"log": {"format": "xml"}}, "log.format", "xml"),
        ({"stations": [{"id": "a b", "folder": "/x"}]}, "stations[0].id", "letters"),
        ({"stations": [{"id": "a", "folder": "/x"}, {"id": "a", "folder": "/y"}]}, "stations[1].id", "twice"),
        ({"stations": [{"id": "a"}]}, "stations[0].folder", "one source"),
        ({"stations": [{"id": "a", "folder": ""}]}, "stations[0].folder", "folder"),
        ({"server": {"token_file": "/nowhere/token"}}, "server.token_file", "/nowhere/token"),
        ({"server": {"token_file": "/a\0b"}}, "server.token_file", "cannot be read"),
        ({"server": {"operate_token_file": "/a\0b"}}, "server.operate_token_file", "cannot be read"),
        ({"fanout": {"ca_file": "/a\0b"}}, "fanout.ca_file", "cannot be read"),
        ({"webhooks": [{"url": "http://x", "secret_file": "/a\0b"}]}, "webhooks[0].secret_file", "cannot be read"),
        ({"webhooks": [{"url": "http://x", "secret_file": ""}]}, "webhooks[0].secret_file", "a file"),
        ({"watch": {"poll_seconds": math.nan}}, "watch.poll_seconds", "float"),
        ({"watch": {"idle_seconds": math.inf}}, "watch.idle_seconds", "a number"),
        ({"sets": {"handwarmer_seconds": math.inf}}, "sets.handwarmer_seconds", "a number"),
        (
            {"webhooks": [{"url": "http://x", "secret_file": __file__, "keep_hours": math.inf}]},
            "webhooks[0].keep_hours",
            "a number",
        ),
        ({"store": {"folder": __file__}}, "store.folder", "is a file"),
        ({"server": {"allowed_origins": ["example"]}}, "server.allowed_origins", "scheme"),
        pytest.param(
            {"stations": [{"id": "a", "folder": "~nobody-of-this-name/x"}]},
            "stations[0].folder",
            "home",
            marks=pytest.mark.not_on_windows("Windows takes the folder of any user to be next to one's own"),
        ),
        ({"stations": [{"id": "a", "folder": "/x\0y"}]}, "stations[0].folder", "path"),
        ({"stations": [{"id": "a", "console": "192.168..1"}]}, "stations[0].console", "host"),
        ({"stations": [{"id": "a", "dolphin": "x" * 64}]}, "stations[0].dolphin", "host"),
        ({"relay": {"host": "a..b"}}, "relay.host", "host"),
        ({"stations": [_spectated("a", 1), _spectated("b", 1)]}, "stations[1].relay_enet_port", "taken by stations[0]"),
        ({"stations": [_spectated("*", 1)]}, "stations[0].relay_enet_port", "single station"),
        (
            {"stations": [_spectated("a", 20582)], "relay": {"discovery": True}},
            "stations[0].relay_enet_port",
            "taken by relay.discovery_port",
        ),
        ({"webhooks": [{**REQUIRED["webhooks"], "events": ["game_ended"]}]}, "webhooks[0].events[0]", '"game_end"'),
        ({"jsonl": [{"folder": "/x", "topics": ["game", "frames"]}]}, "jsonl[0].topics[1]", '"frame"'),
        ({"jsonl": [{"folder": "/x"}, {"folder": "/y", "frames": "all"}]}, "jsonl[1].frames", '"finalized"'),
        *(({"chat": [{"url_file": __file__, **chat}]}, key, expected) for chat, key, expected in CHAT_ERRORS),
        *(({"scoreboards": [board]}, key, expected) for board, key, expected in SCOREBOARD_ERRORS),
        (
            {"stations": [{"id": "a", "folder": "/x"}], "scoreboards": [{**TEXT, "station": "b"}]},
            "scoreboards[0].station",
            "found 'b'",
        ),
        ({"scoreboards": [TEXT, {**TEXT, "station": "b"}]}, "scoreboards[1].path", "scoreboards[0] too"),
        *(
            ({"obs": OBS, "obs_rules": [rule], "stations": [MAIN]}, f"obs_rules[0]{key}", expected)
            for rule, key, expected in RULE_ERRORS
        ),
        *(({"obs": {"url": url}}, "obs.url", "ws://") for url in OBS_ADDRESSES),
        ({"obs_rules": [{"on": "game_start", "scene": "A"}]}, "obs.url", "the address"),
        ({"situations": [KILL, KILL]}, "situations[1].name", ""),
        ({"situations": [KILL, {"name": "a\x1b", "query": "hit"}]}, "situations[1].name", ""),
        ({"situations": [KILL, {"name": "", "query": "hit"}]}, "situations[1].name", ""),
        ({"situations": [KILL, {"name": "hit"}]}, "situations[1].query", ""),
        ({"handover": {"replay_name": "{stgae}"}}, "handover.replay_name", "found {stgae}"),
        ({"handover": {"zip_name": "{stage}"}}, "handover.zip_name", "found {stage}"),
        ({"handover": {"folder": __file__}}, "handover.folder", "is a file"),
        ({"playback": {"file": "/x"}, "stations": [MAIN]}, "playback.station", "a station, or 'on-air'"),
        ({"playback": {"file": "/x", "station": "b"}, "stations": [MAIN]}, "playback.station", "found 'b'"),
        ({"playback": {"file": "/", "station": "main"}, "stations": [MAIN]}, "playback.file", "is a folder: /"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS, file="my.toml")
    assert refused.value.key == key
    assert str(refused.value).startswith(f"my.toml: {key}: ")
    assert expected in str(refused.value)


SECRET = "hunter2"
URLS = [
    ("obs", {"url": f"ws://user:{SECRET}@["}),
    ("obs", {"url": f"ws://user:{SECRET}@obs:4455"}),
    ("fanout", {"url": f"redis://user:{SECRET}@[x"}),
    ("fanout", {"url": f"redis://user:{SECRET}@host:99999"}),
    ("fanout", {"url": f"redis://user:{SECRET}"}),
    ("fanout", {"url": f"redis://user:{SECRET}@host/a"}),
    ("fanout", {"url": f"redis+cluster://user:{SECRET}@host/1"}),
    ("fanout", {"url": f"http://user:{SECRET}@host"}),
    ("fanout", {"url": f"redis://user:{SECRET}@a..b"}),
    ("bracket", {"kind": "webhook", "url": f"http://user:{SECRET}@[", "token_file": __file__}),
    ("seats", {"address": f"http://user:{SECRET}@host"}),
    ("seats", {"address": f"http://host?{SECRET}"}),
    ("webhooks", [{"url": f"https://user:{SECRET}@host:0", "secret_file": __file__}]),
    ("webhooks", [{"url": f"https://user:{SECRET}@host:99999", "secret_file": __file__}]),
    ("webhooks", [{"url": f"https://host/a b?{SECRET}", "secret_file": __file__}]),
    ("chat", [{"url_file": __file__, "avatar_url": f"https://[/{SECRET}"}]),
    ("scoreboards", [{"kind": "tournament-stream-helper", "station": "a", "url": f"http://host/{SECRET}"}]),
    ("scoreboards", [{"kind": "tournament-stream-helper", "station": "a", "url": f"http://user:{SECRET}@["}]),
    ("scoreboards", [{"kind": "tournament-stream-helper", "station": "a", "url": f"http://user:{SECRET}@host:99999"}]),
]


@pytest.mark.parametrize(("section", "table"), URLS)
def test_refused_url_is_not_shown(section: str, table: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        config.check({section: table}, SECTIONS)
    assert refused.value.key.removeprefix(section).lstrip("[0].") in ("url", "avatar_url", "address")
    assert SECRET not in str(refused.value)


def test_broker_urls_can_have_any_password() -> None:
    for url in ("redis://:p w@redis_1", "rediss://user:a%40b@[::1]:6380/3", "redis+cluster://host:7000"):
        assert config.check({"fanout": {"url": url}}, SECTIONS).section(Fanout).url == url


@pytest.mark.parametrize(
    "table",
    [
        {"server": {"token_file": "/nowhere/x"}},
        {"server": {"token_file": "~nobody-has-this-name/nowhere"}},
        {"store": {"folder": __file__}},
        {"web": {"overlay_folder": "/nowhere"}},
        {"stations": [{"id": "a", "folder": __file__}]},
        {"jsonl": [{"folder": __file__}]},
        {"playback": {"file": str(Path(__file__).parent), "station": "a"}},
        {"bracket": {"kind": "webhook", "url": "http://x", "token_file": "/nowhere/x"}},
    ],
)
def test_errors_reveal_no_paths_to_clients(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS, file="/etc/slpstream.toml")
    assert "/" not in refused.value.for_clients
    assert refused.value.for_clients.startswith(f"{refused.value.key}: ")
    assert str(refused.value).startswith("/etc/slpstream.toml: ")


@pytest.mark.parametrize("start", ["x = " + "[" * 5000, "x = " + "{a = " * 5000])
def test_deeply_nested_file_is_refused(start: str, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(start)
    with pytest.raises(ConfigError, match="nested too deeply"):
        config.load(file, SECTIONS)


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("[watch]\npace = true\n", encoding="utf-8-sig")
    assert config.load(file, SECTIONS).watch.pace
    file.write_text("hunter2\r\n", encoding="utf-8-sig")
    assert config.read_secret(file, "key") == "hunter2"
    assert config.read_secret_bytes(file, "key") == b"hunter2"
    file.write_text("\n", encoding="utf-8-sig")
    with pytest.raises(ConfigError, match="first line is empty"):
        config.read_secret(file, "key")
    file.write_bytes(b"hunter2\xff\n")
    with pytest.raises(ConfigError, match="the first line is not UTF-8") as refused:
        config.read_secret(file, "key")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["no such value", ["no such value"], {"no": 1}, -1, 1e300, math.nan, True, "a\0b"], ids=repr
)
def test_invalid_values_are_refused_with_a_key_of_their_section(value: object) -> None:
    """An error other than `ConfigError` would end a running daemon during a reload."""
    refused: list[tuple[str, ConfigError]] = []
    for key in config.all_keys(SECTIONS):
        section = {**REQUIRED.get(key.section, {}), key.name: value}
        try:
            config.check({key.section: [section] if key.many else section}, SECTIONS)
        except ConfigError as error:
            refused.append((key.section, error))
    assert 2 * len(refused) > len(list(config.all_keys(SECTIONS)))
    assert not [str(error) for section, error in refused if section not in str(error)]


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]
)
def test_is_loopback(host: str, loopback: bool) -> None:
    assert config.is_loopback(host) is loopback


def test_unmounted_share_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of the folder is unknown, and the other stations must start."""
    stat = os.stat

    def away(path: Any, **options: Any) -> os.stat_result:
        if str(path) == "/share/replays":
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", away)
    assert (
        config.check({"stations": [{"id": "a", "folder": "/share/replays"}]}, SECTIONS).stations[0].folder
        == "/share/replays"
    )


def test_missing_or_malformed_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path / "nothing.toml", SECTIONS)
    bad = tmp_path / "bad.toml"
    bad.write_text("[server\n")
    with pytest.raises(ConfigError, match="not TOML"):
        config.load(bad, SECTIONS)
    bad.write_text('[[stations]]\nid = "a"\nfolder = "C:\\Users\\me\\Slippi"\n')
    with pytest.raises(ConfigError, match=r"Invalid hex value \(at line 3.*put the path in single quotes"):
        config.load(bad, SECTIONS)
    bad.write_text('[[stations]]\nid = "a"\nfolder = "D:\\Slippi"\n')
    with pytest.raises(ConfigError, match="put the path in single quotes"):
        config.load(bad, SECTIONS)
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.load(bad, SECTIONS)


def test_stations_of_folders_have_unique_ids(tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "Slippi", tmp_path / "b" / "Slippi", tmp_path / "c" / "Slippi", tmp_path / "My Setup"]
    assert [s.id for s in config.stations_of_folders(folders)] == ["Slippi", "Slippi-2", "Slippi-3", "My-Setup"]


@pytest.mark.parametrize(
    ("platform", "first"), [("linux", "Slippi"), ("darwin", "Slippi"), ("win32", "Documents/Slippi")]
)
def test_usual_folders_of_a_platform(platform: str, first: str, tmp_path: Path) -> None:
    assert config.usual_folders(tmp_path, platform, environ={}) == [tmp_path / first]
    (tmp_path / "Documents" / "Slippi").mkdir(parents=True)
    assert config.usual_folders(tmp_path, platform, environ={}) == [tmp_path / "Documents" / "Slippi"]
    elsewhere = tmp_path / "OneDrive" / "Documents"
    found = config.usual_folders(tmp_path, "win32", environ={}, documents=elsewhere)
    assert found == [elsewhere / "Slippi"], "Documents on another drive"


@pytest.mark.skipif(sys.platform != "win32", reason="Windows alone knows where Documents are")
def test_documents_folder_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = config.folders.documents_folder()
    assert documents is not None
    monkeypatch.setenv("APPDATA", "C:\\nothing")
    assert config.usual_folders() == [documents / "Slippi"]


@pytest.mark.parametrize(
    ("platform", "settings"),
    [
        ("win32", "AppData/Roaming/Slippi Launcher/Settings"),
        ("darwin", "Library/Application Support/Slippi Launcher/Settings"),
        ("linux", ".config/Slippi Launcher/Settings"),
    ],
)
def test_folder_of_the_launcher_comes_first(platform: str, settings: str, tmp_path: Path) -> None:
    def found() -> list[Path]:
        return config.usual_folders(tmp_path, platform, environ={})

    default = tmp_path / "Documents" / "Slippi"
    default.mkdir(parents=True)
    chosen = tmp_path / "Replays"
    file = tmp_path / settings
    file.parent.mkdir(parents=True)
    for content in ("", "{", "[]", "{}", '{"settings": {}}', '{"settings": {"rootSlpPath": null}}', "\xff"):
        file.write_text(content, encoding="latin-1")
        assert found() == [default], content
    file.write_text(json.dumps({"connections": [], "settings": {"isoPath": None, "rootSlpPath": str(chosen)}}))
    assert found() == [default], "the folder does not exist"
    chosen.mkdir()
    assert found() == [chosen]
    default.rmdir()
    chosen.rmdir()
    assert found() == [chosen], "the best guess"


@pytest.mark.parametrize(
    ("configured", "environ", "platform", "expected"),
    [
        ("/data", {"STATE_DIRECTORY": "/var/lib/slpstream"}, "linux", "/data"),
        ("", {"STATE_DIRECTORY": "/var/lib/slpstream", "XDG_STATE_HOME": "/x"}, "linux", "/var/lib/slpstream"),
        ("", {"STATE_DIRECTORY": "/var/lib/a:/var/lib/b"}, "linux", "/var/lib/a"),
        ("", {"STATE_DIRECTORY": "C:/slpstream"}, "win32", "C:/slpstream"),
        ("", {"XDG_STATE_HOME": "/x"}, "linux", "/x/slpstream"),
        ("", {}, "linux", "/home/me/.local/state/slpstream"),
        ("", {}, "darwin", "/home/me/Library/Application Support/slpstream"),
        ("", {"LOCALAPPDATA": "/local"}, "win32", "/local/slpstream"),
        ("", {}, "win32", "/home/me/AppData/Local/slpstream"),
    ],
)
def test_state_folder(configured: str, environ: dict[str, str], platform: str, expected: str) -> None:
    found = config.state_folder(configured, environ=environ, home=Path("/home/me"), platform=platform)
    assert found == Path(expected)


@pytest.mark.parametrize("stations", [[], [MAIN], [{"id": "*", "folder": "/x"}]])
def test_references_to_possible_stations_are_accepted(stations: list[dict[str, str]]) -> None:
    name = "main" if stations == [MAIN] else "side"
    rules = [
        {"on": "event", "event": "conversion_ended", "min_damage": 80, "kill": True, "save_replay": True},
        {"on": "station_idle", "after_seconds": 60, "station": "*", "scene": "A"},
        {"on": "game_start", "station": name, "text": {"Score": "{{{player1}}} {score1}"}},
        {"on": "situation", "situation": "kill", "save_replay": True},
        {"on": "situation", "scene": "A"},
    ]
    config.check({"obs": OBS, "obs_rules": rules, "stations": stations, "situations": [KILL]}, SECTIONS)
    for station in (name, "on-air"):
        config.check({"playback": {"file": "/playback.txt", "station": station}, "stations": stations}, SECTIONS)


@pytest.mark.parametrize(
    ("station", "zips"),
    [
        ({"id": "main", "folder": "{}/main"}, "{}/main"),
        ({"id": "main", "folder": "{}/main"}, "{}/main/old/zips"),
        pytest.param(
            {"id": "main", "folder": "{}/linked"},
            "{}/main/zips",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Wine does not resolve such links"),
        ),
        ({"id": "*", "folder": "{}"}, "{}/zips"),
        ({"id": "tv", "console": "192.0.2.1"}, "{}/recordings/tv/zips"),
    ],
)
def test_zip_folder_must_be_outside_all_stations(tmp_path: Path, station: dict[str, str], zips: str) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "main")
    table = {
        "stations": [{key: value.format(tmp_path) for key, value in station.items()}],
        "recordings": {"folder": str(tmp_path / "recordings")},
        "handover": {"folder": zips.format(tmp_path)},
    }
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS)
    assert refused.value.key == "handover.folder"
    assert f"in the folder of the station {station['id']}" in refused.value.expected
    table["handover"] = {"folder": f"{tmp_path}-zips"}
    assert config.check(table, SECTIONS).section(Handover).folder == f"{tmp_path}-zips"


@pytest.mark.parametrize(
    "table",
    [
        {"server": {"token_file": "~/secret"}},
        {"server": {"operate_token_file": "~/secret", "token_file": "~/secret"}},
        {"webhooks": [{"url": "http://x", "secret_file": "~/secret"}]},
        {"chat": [{"url_file": "~/secret"}]},
        {"obs": {"password_file": "~/secret"}},
        {"fanout": {"password_file": "~/secret", "ca_file": "~/secret"}},
    ],
)
def test_secret_paths_can_begin_with_the_home_folder(
    table: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(ConfigError, match="cannot be read: ~/secret"):
        config.check(table, SECTIONS)
    (tmp_path / "secret").write_text("hidden\n")
    config.check(table, SECTIONS)
    assert config.read_secret(Path("~/secret"), "key") == "hidden"


EVENT = "tournament/the-big-one/event/melee-singles"


@pytest.mark.parametrize(
    ("bracket", "key", "what"),
    [
        ({"report": True}, "bracket.kind", "must be given"),
        ({"kind": "start.gg"}, "bracket.events", "must be given for start.gg"),
        ({"kind": "start.gg", "events": ["melee"]}, "bracket.events[0]", "expected tournament/NAME/event/NAME"),
        ({"kind": "start.gg", "events": [EVENT], "report": True}, "bracket.token_file", "must be given to report"),
        ({"kind": "start.gg", "events": [EVENT], "token_file": "/nowhere/x"}, "bracket.token_file", "cannot be read"),
        ({"kind": "start.gg", "events": [EVENT], "url": "ftp://x"}, "bracket.url", "expected http"),
        ({"kind": "webhook"}, "bracket.url", "must be given for a webhook"),
        ({"kind": "webhook", "url": "http://x", "events": [EVENT]}, "bracket.events", "does not apply"),
        ({"kind": "start.gg", "events": [EVENT], "stations": {"1": "c"}}, "bracket.stations.1", "no such station"),
        ({"kind": "start.gg", "events": [EVENT], "stations": {"1": "a", "2": "a"}}, "bracket.stations.1", "twice"),
        ({"kind": "start.gg", "events": [EVENT], "streams": {"x": "c"}}, "bracket.streams.x", "no such station"),
        ({"kind": "start.gg", "events": [EVENT], "requests_per_minute": 81}, "bracket.requests_per_minute", "80"),
    ],
)
def test_impossible_brackets_are_refused(bracket: dict[str, Any], key: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.check({"bracket": bracket, "stations": [{"id": "a", "folder": "/a"}]}, SECTIONS)
    assert caught.value.key == key
    assert what in caught.value.expected


@pytest.mark.parametrize(
    "address", [EVENT, f"https://www.start.gg/{EVENT}", f"https://start.gg/{EVENT}/brackets/1?x=2"]
)
def test_address_of_an_event(address: str, tmp_path: Path) -> None:
    assert event_slug(address) == EVENT
    (tmp_path / "token").write_text("t")
    made = {"kind": "start.gg", "events": [address], "token_file": str(tmp_path / "token"), "report": True}
    assert config.check({"bracket": made}, SECTIONS).section(Bracket).confirm


@pytest.mark.parametrize("address", ["[::1]x", "[::1]x:51441", "[::1]51441", "[::1", "::1]", "me@192.0.2.7", "[x]"])
def test_address_of_a_console_is_parsed_whole(address: str) -> None:
    with pytest.raises(ConfigError, match="expected host or host:port"):
        config.check({"stations": [{"id": "a", "console": address}]}, SECTIONS)
