"""The example on the page "add a part": a package that is built, installed and used, without a change of slpstream."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.pages import open_page
from tests.daemons.process import running
from tests.example_package import installed_package, run_slpstream
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

PAGE = ROOT / "docs" / "howto" / "add_a_part.md"
MAX_LINES = 80
PACKAGE = "slpstream_applause"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The files of the example by name."""
    text = PAGE.read_text("utf-8")
    names = ("pyproject.toml", f"{PACKAGE}/part.py", f"{PACKAGE}/running.py")
    found = {name: re.findall(rf"`{re.escape(name)}`:\n\n```\w+\n(.*?)```", text, re.DOTALL)[0] for name in names}
    return found | {f"{PACKAGE}/static/applause.html": re.findall(r"```html\n(.*?)```", text, re.DOTALL)[0]}


@pytest.fixture(scope="module")
def installed(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel of the example, which is how pure Python wheels are installed."""
    return installed_package(tmp_path_factory.mktemp("slpstream-applause"), files)


def test_example_is_short(files: dict[str, str]) -> None:
    python = "\n".join(content for name, content in files.items() if name.endswith(".py"))
    assert len([line for line in python.splitlines() if line.strip()]) < MAX_LINES


def test_commands_know_the_part(installed: Path, tmp_path: Path) -> None:
    assert "applause" in run_slpstream("--help", path=installed).stdout
    (tmp_path / "lines").write_text("a\nb\n")
    assert run_slpstream("applause", tmp_path / "lines", path=installed).stdout == "2\n"
    (tmp_path / "good.toml").write_text("[applause]\nfile = 'lines'\n")
    assert run_slpstream("check-config", tmp_path / "good.toml", path=installed).returncode == 0
    (tmp_path / "bad.toml").write_text("[applause]\nfiles = 'lines'\n")
    refused = run_slpstream("check-config", tmp_path / "bad.toml", path=installed)
    assert (refused.returncode, "applause.files: unknown key" in refused.stderr) == (78, True)
    for page, words in (
        ("config", "| `applause.file` | text |"),
        ("metrics", "| `slpstream_applause_total` | counter |"),
        ("http", "## GET /v1/applause"),
        ("commands", "## slpstream applause"),
    ):
        assert words in run_slpstream("reference", page, path=installed).stdout, page


def test_daemon_runs_the_part(
    installed: Path, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    lines = tmp_path / "lines"
    config = tmp_path / "slpstream.toml"
    config.write_text(f"[applause]\nfile = '{lines}'\n")
    (tmp_path / "setup").mkdir()
    with running(tmp_path / "setup", arguments=("--config", str(config)), strict=False) as daemon:
        daemon.wait_ready()
        (tmp_path / "setup" / "Game_1.slp").write_bytes(synthetic_match(frames=200, stocks=1))
        daemon.until(lambda: daemon.get("/v1/applause") == {"counts": {"setup": 1}}, 60.0)
        daemon.until(lambda: daemon.get("/v1/games")["games"])
        [game] = daemon.get("/v1/games")["games"]
        assert lines.read_text() == f"setup {game['gameId']}\n"
        assert 'slpstream_applause_total{station="setup"} 1.0' in daemon.text("/metrics")
        listed = daemon.get("/v1/pages")
        assert listed["pages"] == [{"path": "/applause", "title": "Applause"}]
        assert {"api_docs", "applause"} <= {*listed["parts"]}
        assert "/v1/applause" in daemon.get("/openapi.json")["paths"]
        with open_page(browser) as watched:
            watched.page.goto(daemon.url)
            watched.page.get_by_role("link", name="Applause").click()
            expect(watched.page.get_by_role("heading", name="Applause")).to_be_visible()
        lines.unlink()
        lines.mkdir()  # every game is a bug of the part from now on
        (tmp_path / "setup" / "Game_2.slp").write_bytes(synthetic_match(seed=2, frames=200, stocks=1))
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 2, 60.0)
        daemon.until(lambda: any(reason.startswith("applause, station setup:") for reason in daemon.missing()), 60.0)
        assert 'slpstream_internal_errors_total{part="applause"} ' in daemon.text("/metrics")
        lines.rmdir()
        daemon.until(lambda: lines.exists() and len(lines.read_text().splitlines()) >= 1, 120.0)


@pytest.mark.parametrize(
    ("file", "pattern", "broken", "message"),
    [
        ("part.py", r"PART = Part\(.*\n\)", 'PART = "applause"', "expected a slpstream.parts.interface.Part"),
        ("part.py", r"import msgspec\n", "import msgspec_of_old\n", "cannot be loaded"),
        ("part.py", r"    start=", "    begin=", "cannot be loaded"),
        ("part.py", r'name="applause"', 'name="chat"', "the name chat is taken"),
        ("part.py", r'Section\("applause"', 'Section("server"', "the section server is taken"),
        ("part.py", r'Command\("applause"', 'Command("obs-scenes"', "the command obs-scenes is taken"),
    ],
)
def test_broken_package_is_a_configuration_error(
    installed: Path, tmp_path: Path, file: str, pattern: str, broken: str, message: str
) -> None:
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    module = tmp_path / PACKAGE / file
    changed = re.sub(pattern, broken, module.read_text("utf-8"), flags=re.DOTALL)
    assert changed != module.read_text("utf-8")
    module.write_text(changed, encoding="utf-8")
    (tmp_path / "empty.toml").write_text("")
    refused = run_slpstream("check-config", tmp_path / "empty.toml", path=tmp_path)
    assert refused.returncode == 78, refused.stderr
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert json.dumps(refused.stderr).count("Traceback") == 0
