"""`slpstream bugreport`: the contents of its file, which has no secrets."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote
from zipfile import ZipFile

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import Meta

from slpstream.config import Section, all_keys
from slpstream.parts import registry
from slpstream.parts.bugreport.cli import command
from slpstream.parts.bugreport.redaction import REMOVED, Redaction
from tests.cli.command_line import called, slpstream
from tests.daemons.configuration import requiring_tokens
from tests.daemons.process import running
from tests.ports import free_port
from tests.synthetic.match import synthetic_match

NOT_SECRET = {
    "server.require_token", "server.allowed_origins", "obs.url", "scoreboards.url", "fanout.ca_file", "chat.link",
    "chat.avatar_url", "search.me",
}  # fmt: skip
"""Keys that look like secrets but are none. URLs among them lose everything after the host."""


def report(folder: Path, *arguments: object) -> dict[str, str]:
    """The files of a report as texts, and the output of the command as `stdout`."""
    out = folder / "report.zip"
    done = called(command, *arguments, "-o", out)
    assert done.exit_code == 0, done.output
    if sys.platform != "win32":
        assert out.stat().st_mode & 0o077 == 0
    with ZipFile(out) as archive:
        files = {
            name: archive.read(name).decode("latin-1" if name.endswith(".bin") else "utf-8")
            for name in archive.namelist()
        }
    for name in files.keys() - {"README.txt"}:
        assert name in done.stdout
    assert str(out) in done.stdout
    assert "Nothing was sent" in done.stdout
    return files | {"stdout": done.stdout}


def written(folder: Path, text: str) -> Path:
    file = folder / "slpstream.toml"
    file.write_text(f"[server]\nport = {free_port()}\n{text}", encoding="utf-8")
    return file


def test_no_secret_of_a_hostile_configuration(tmp_path: Path) -> None:
    secrets = {
        "token": "s3cr\"et\\tok'en <&>", "obs": "ä日本 pass", "key": "c2VjcmV0/+key==", "discord": "B0t-Webh00k",
        "short": "q9",
    }  # fmt: skip
    for name, secret in secrets.items():
        (tmp_path / name).write_text(f"{secret}\nolder-{name}-secret\n", encoding="utf-8")
    (tmp_path / "discord").write_text("https://discord.example/api/webhooks/12345/B0t-Webh00k\nolder-discord-secret\n")
    log = tmp_path / "daemon.log"
    log.write_text(
        "".join(f"using {secret}\n{json.dumps(secret)}\nolder-{name}-secret\n" for name, secret in secrets.items())
        + "GET https://user:pw-in-log@example.org/secret-path?token=query-secret failed\n"
        "GET /v1/stream?station=main&token=relative-secret\nAuthorization: Bearer bearer-secret\n"
        "redis-pw and s3cr%22et%5Ctok%27en%20%3C%26%3E and the rest of the line\n",
        encoding="utf-8",
    )
    config = written(
        tmp_path,
        f"""# the token was comment-secret once
token_file = '{tmp_path / "token"}'
operate_token_file = 'pasted-operator-token'
require_token = 'wrong-type-secret'
my_own_password = 'undeclared-secret'
alloved_hosts = ['misspelled-secret']
[server.nested]
deeper = ['nested-secret', {{ more = 'deeper-secret' }}]
[store]
folder = '{Path.home() / "state"}'
[log]
level = 'not-a-level-secret'
[obs]
url = 'ws://me:obs-url-pw@127.0.0.1:4455/obs-path-secret'
password_file = '{tmp_path / "obs"}'
[fanout]
url = 'rediss://default:redis-pw@broker.example:6379/0'
password_file = '{tmp_path / "short"}'
[bracket]
kind = 'webhook'
url = 'https://hooks.example/bracket-hook-secret'
token_file = '{tmp_path / "key"}'
[secret_section_of_mine]
value = 'section-secret'
[[chat]]
url_file = '{tmp_path / "discord"}'
link = 'https://a:link-pw@example.org/link-path'
[[webhooks]]
url = 'https://hooks.example/services/T0/webhook-secret'
secret_file = '{tmp_path / "missing-file-secret"}'
[[stations]]
id = 'main'
folder = '{tmp_path}'
console = 'user:console-pw@10.0.0.7:51441'
""",
    )
    found = report(tmp_path, "--config", config, "--log", log, "--token-file", tmp_path / "key")
    everything = "\n".join(found.values())
    for secret in (
        *(secrets[name] for name in ("token", "obs", "key", "discord")), "comment-secret", "pasted-operator-token",
        "wrong-type-secret", "undeclared-secret", "misspelled-secret", "nested-secret", "deeper-secret",
        "not-a-level-secret", "obs-url-pw", "obs-path-secret", "redis-pw", "bracket-hook-secret", "section-secret",
        "link-pw", "link-path", "webhook-secret", "missing-file-secret", "console-pw", "pw-in-log", "secret-path",
        "query-secret", "relative-secret", "bearer-secret", "my_own_password", "secret_section_of_mine", "-secret\n",
        "s3cr%22", str(Path.home() / "state"),
    ):  # fmt: skip
        assert secret not in everything, secret
    assert not re.search(r"\bq9\b", everything)
    configuration = found["configuration.toml"]
    assert "port = " in configuration
    assert 'kind = "webhook"' in configuration or not registry.command("bracket")
    assert 'id = "main"' in configuration
    assert f'alloved_hosts = "{REMOVED}"' in configuration, "the name of a typing mistake helps"
    assert "and the rest of the line" in found["log_file.txt"]
    assert "require_token" in found["check_config.txt"]


def test_what_installed_packages_declare_is_removed_unless_they_say_otherwise() -> None:
    class Theirs(msgspec.Struct):
        api: str = ""
        shown: Annotated[str, Meta(extra={"secret": False})] = ""
        tokens: list[str] = []
        count: int = 0

    redaction = Redaction([Section("theirs", Theirs)])
    table = {"theirs": {"api": "hunter2-theirs", "shown": "fine", "tokens": ["one-of-theirs"], "count": 3}}
    assert redaction.table(table) == {"theirs": {"api": REMOVED, "shown": "fine", "tokens": REMOVED, "count": 3}}
    assert redaction.text("one-of-theirs, hunter2-theirs, 3") == f"{REMOVED}, {REMOVED}, 3"


@given(
    secret=st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=40),
    around=st.sampled_from(["", " ", "'", "=", "\n"]),
)
def test_pasted_secret_is_removed_in_every_form(secret: str, around: str) -> None:
    assume(secret.strip("'\"") and secret not in REMOVED)
    redaction = Redaction(())
    assert redaction.table({"server": {"token_file": secret}}) == {"server": {"token_file": REMOVED}}
    forms = (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), quote(secret, safe=""), repr(secret))
    for form in forms:
        shown = redaction.text(f"{around}{form}{around}".join([" ; "] * 3))
        assert form.strip("'\"") not in shown.replace(REMOVED, ""), form


def test_every_key_that_can_hold_a_secret_is_declared_as_one() -> None:
    sections = registry.sections()
    names = {"url", "token", "password", "secret", "key", "credential", "code"}
    suspicious = [
        key
        for key in all_keys(sections)
        if "text" in key.type
        and (names & {*key.name.split("_")} or "first line" in key.description)
        and f"{key.section}.{key.name}" not in NOT_SECRET
    ]
    assert suspicious
    redaction = Redaction(sections)
    for key in suspicious:
        table = {key.section: {key.name: "hunter2-of-a-key"}}
        assert redaction.table(table) == {key.section: {key.name: REMOVED}}, f"{key.section}.{key.name}"


@pytest.mark.process
def test_running_daemon_is_asked_with_the_token(tmp_path: Path) -> None:
    setup = tmp_path / "setup"
    setup.mkdir()
    (setup / "Game_1.slp").write_bytes(synthetic_match(frames=100))
    arguments = requiring_tokens(tmp_path, f"[[stations]]\nid = 'setup'\nfolder = '{setup}'\n[log]\nlevel = 'info'\n")
    config = tmp_path / "slpstream.toml"
    with running(arguments=arguments, state=tmp_path / "state", strict=False) as daemon:
        daemon.until(lambda: daemon.request("GET", "/readyz", token="sesame")[0] == 200)
        found = report(tmp_path, daemon.url, "--config", config)
        assert json.loads(found["readyz.json"])["status"] == "ready"
        assert [each["id"] for each in json.loads(found["station_list.json"])["stations"]] == ["setup"]
        assert "slpstream_" in found["metrics.txt"]
        lines = [json.loads(line) for line in found["daemon_log.txt"].splitlines()]
        assert "listening" in [line["event"] for line in lines]
        assert "good" in found["check_config.txt"]
        assert "sesame" not in "".join(found.values())
        assert daemon.request("GET", "/v1/log", token="sesame")[0] == 403, "the log is for operators"

        config.write_text(config.read_text().replace("'info'", "'warning'"))
        assert daemon.request("POST", "/v1/reload", token="open")[0] == 200
        config.write_text("[server]\nport = 'none'\n")
        assert daemon.request("POST", "/v1/reload", token="open")[0] == 409
        newest = daemon.request("GET", "/v1/log", token="open")[1]["lines"][-1]
        assert json.loads(newest)["event"] == "configuration refused; the old one stays"

        (tmp_path / "report.zip").unlink()
        refused = report(tmp_path, daemon.url)
        assert "--token-file" in refused["README.txt"]
        assert "metrics.txt" not in refused


def test_without_a_daemon_and_without_a_configuration(tmp_path: Path) -> None:
    found = report(tmp_path, f"http://user:url-password@127.0.0.1:{free_port()}")
    assert "Python: " in found["versions.txt"]
    assert "kernel: " in found["versions.txt"]
    assert "Not included: answers of the daemon" in found["README.txt"]
    assert "url-password" not in "".join(found.values())


@pytest.mark.process
def test_existing_files_stay(tmp_path: Path) -> None:
    out = tmp_path / "report.zip"
    out.write_bytes(b"mine")
    assert slpstream("bugreport", f"http://127.0.0.1:{free_port()}", "-o", out).returncode == 74
    assert out.read_bytes() == b"mine"


def test_configuration_that_is_not_toml_is_left_out(tmp_path: Path) -> None:
    config = written(tmp_path, "token = unquoted-secret\n")
    found = report(tmp_path, "--config", config, f"http://127.0.0.1:{free_port()}")
    assert "it is not TOML (at line 3, column 9)" in found["README.txt"]
    assert "unquoted-secret" not in "".join(found.values())


@pytest.mark.parametrize("damaged", [False, True])
def test_head_of_a_replay(tmp_path: Path, damaged: bool) -> None:
    replay = tmp_path / "Game_1.slp"
    content = synthetic_match(frames=3000)
    replay.write_bytes(content[:5000] + b"\xff" * 50 + content[5050:] if damaged else content)
    found = report(tmp_path, "--replay", replay, f"http://127.0.0.1:{free_port()}")
    assert '"type":"game_start"' in found["replay.txt"]
    assert ('"type":"diagnostic"' in found["replay.txt"]) is damaged
    assert replay.read_bytes().startswith(head := found["replay_head.bin"].encode("latin-1"))
    assert len(head) == 64 << 10
    assert "000000  7b 55 03 72 61 77" in found["replay.txt"]


def test_file_that_is_no_replay(tmp_path: Path) -> None:
    (tmp_path / "Game_1.slp").write_bytes(b"no replay")
    found = report(tmp_path, "--replay", tmp_path / "Game_1.slp", f"http://127.0.0.1:{free_port()}")
    assert "6e 6f 20 72 65 70 6c 61 79" in found["replay.txt"]
