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
from typing import Annotated, Any

import msgspec
import pytest

from slpstream import config
from slpstream.model.errors import ConfigError
from tests.config.refusals import SECTIONS, check_hides_paths, check_home_is_expanded, check_refused
from tests.project import ROOT

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
    keys = list(config.all_keys(SECTIONS))
    known = {(key.section, key.name) for key in keys}
    # The file also has the sections of deleted parts.
    read = {
        section: {name: value for name, value in table.items() if (section, name) in known}
        for section, table in values.items()
        if section in {key.section for key in keys}
    }
    assert config.check(read, SECTIONS) == config.Config()
    for key in keys:
        assert key.description
        comment = "# " if key.many else ""
        assert re.search(rf"^# {re.escape(key.description)}\n{comment}{key.name} = ", text, re.MULTILINE), key
        assert comment or values[key.section][key.name] == key.default


class Cable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys that a part adds to `[[stations]]`."""

    cable: Annotated[str, msgspec.Meta(description="A source.")] = ""
    length_meters: Annotated[float, msgspec.Meta(ge=0, description="A number.")] = 0


def test_part_adds_keys_to_stations() -> None:
    sections = [config.Section("stations", Cable, many=True, sources=("cable",))]

    def check(**keys: object) -> config.StationConfig:
        return config.check({"stations": [{"id": "a", **keys}]}, sections).stations[0]

    station = check(cable="blue", name="A")
    assert (station.name, station.keys(Cable), station.is_recorded) == ("A", Cable("blue"), True)
    station = check(folder="/x")
    assert (station.keys(Cable), station.is_recorded) == (Cable(), False)
    assert station == config.StationConfig("a", "/x")
    for refused, expected in (
        (
            {"cable": "blue", "folder": "/x"},
            "stations[0].folder: expected one source, folder or cable; found folder and",
        ),
        ({}, "stations[0].folder: expected one source, folder or cable; found none"),
        ({"cable": 1}, "stations[0].cable: expected `str`"),
        ({"folder": "/x", "length_meters": math.inf}, "stations[0].length_meters: expected a number"),
        ({"cable": "blue", "colour": "blue"}, "stations[0].colour: unknown key"),
        ({"id": "*", "folder": "/x", "length_meters": 1}, "stations[0].length_meters: applies to a single station"),
    ):
        with pytest.raises(ConfigError, match=re.escape(expected)):
            check(**refused)
    assert {("stations", key) for key in ("folder", "cable", "length_meters")} <= {
        (key.section, key.name) for key in config.all_keys(sections)
    }


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"server": {"prt": 1}}, "server.prt", "unknown key; did you mean port?"),
        ({"servers": {}}, "servers", "unknown key; did you mean server?"),
        ({"stations": [{"id": "a", "foldr": "/x"}]}, "stations[0].foldr", "unknown key; did you mean folder?"),
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
        ({"watch": {"poll_seconds": math.nan}}, "watch.poll_seconds", "float"),
        ({"watch": {"idle_seconds": math.inf}}, "watch.idle_seconds", "a number"),
        ({"sets": {"handwarmer_seconds": math.inf}}, "sets.handwarmer_seconds", "a number"),
        ({"store": {"folder": __file__}}, "store.folder", "is a file"),
        ({"server": {"allowed_origins": ["example"]}}, "server.allowed_origins", "scheme"),
        pytest.param(
            {"stations": [{"id": "a", "folder": "~nobody-of-this-name/x"}]},
            "stations[0].folder",
            "home",
            marks=pytest.mark.not_on_windows("Windows takes the folder of any user to be next to one's own"),
        ),
        ({"stations": [{"id": "a", "folder": "/x\0y"}]}, "stations[0].folder", "path"),
        ({"stations": [{"id": "*", "folder": "/x", "name": "A"}]}, "stations[0].name", "single station"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    "table",
    [
        {"server": {"token_file": "/nowhere/x"}},
        {"server": {"token_file": "~nobody-has-this-name/nowhere"}},
        {"store": {"folder": __file__}},
        {"web": {"overlay_folder": "/nowhere"}},
        {"stations": [{"id": "a", "folder": __file__}]},
    ],
)
def test_errors_reveal_no_paths_to_clients(table: dict[str, Any]) -> None:
    check_hides_paths(table)


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


@pytest.mark.parametrize(
    "table",
    [
        {"server": {"token_file": "~/secret"}},
        {"server": {"operate_token_file": "~/secret", "token_file": "~/secret"}},
    ],
)
def test_secret_paths_can_begin_with_the_home_folder(
    table: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_home_is_expanded(table, tmp_path, monkeypatch)
    assert config.read_secret(Path("~/secret"), "key") == "hidden"


@pytest.mark.parts("consoles")
@pytest.mark.parametrize("address", ["[::1]x", "[::1]x:51441", "[::1]51441", "[::1", "::1]", "me@192.0.2.7", "[x]"])
def test_address_of_a_console_is_parsed_whole(address: str) -> None:
    with pytest.raises(ConfigError, match="expected host or host:port"):
        config.check({"stations": [{"id": "a", "console": address}]}, SECTIONS)
