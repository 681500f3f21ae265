"""deploy/slpstream.service and the drop-ins of docs/howto/install.md and slpstream/parts/announce/docs.md."""

from __future__ import annotations

import plistlib
import re
from pathlib import Path

import pytest

from tests.deploy.systemd import (
    EXECUTABLE,
    GATEWAY_UNIT,
    MAX_SCORE,
    UNIT,
    complaints,
    exposure,
    install,
    needs_systemd,
    settings,
)
from tests.docs.pages import blocks
from tests.project import ROOT

PAGE = "docs/howto/install.md"
INSTALL = (ROOT / PAGE).read_text(encoding="utf-8")
DROP_INS = [block.text for block in blocks("ini") if block.page in (PAGE, "slpstream/parts/announce/docs.md")]


def values(key: str) -> list[str]:
    return [value for name, value in settings(UNIT) if name == key]


@needs_systemd
@pytest.mark.parametrize(
    "drop_ins",
    [
        pytest.param([], id="as-shipped"),
        *(pytest.param([drop_in], id=settings(drop_in)[0][0]) for drop_in in DROP_INS),
        pytest.param(DROP_INS, id="every-drop-in"),
    ],
)
def test_unit_is_valid_and_has_a_low_exposure_score(tmp_path: Path, drop_ins: list[str]) -> None:
    path = install(tmp_path, UNIT, *drop_ins)
    assert complaints(path) == ""
    assert exposure(path) <= MAX_SCORE


def test_all_commands_use_the_replaced_path() -> None:
    # If a command did not begin with EXECUTABLE, the copy would not run the unit's command.
    (before,) = values("ExecStartPre")
    (start,) = values("ExecStart")
    (config,) = re.findall(r"--config (\S+)", start)
    assert start == f"{EXECUTABLE} serve --config {config}"
    # systemd does not apply RestartPreventExitStatus= to ExecStartPre=. Without the "-", an invalid configuration would
    # be tried until the start limit; with it, serve refuses the file once, with exit status 78.
    assert before == f"-{EXECUTABLE} check-config {config}"
    assert values("RestartPreventExitStatus") == ["78"]


def test_units_start_after_clock_synchronisation() -> None:
    for unit in (UNIT, GATEWAY_UNIT):
        ordering = dict(settings(unit))
        assert "time-sync.target" in ordering["After"].split()
        assert "time-sync.target" in ordering["Wants"].split()
    assert "systemd-time-wait-sync" in INSTALL


def test_user_is_static() -> None:
    assert values("DynamicUser") == []
    (user,) = values("User")
    (line,) = re.findall(r"^u .*$", INSTALL, re.MULTILINE)  # the sysusers.d line
    assert line.split()[1] == user == values("StateDirectory")[0]


def test_only_drop_ins_show_replays_and_open_the_network() -> None:
    assert values("ProtectSystem") == ["strict"]
    # ReadOnlyPaths=/home would undo ProtectHome=tmpfs and show the real /home (measured with systemd 252).
    assert not [key for key, _ in settings(UNIT) if key in ("ReadWritePaths", "BindPaths", "ReadOnlyPaths")]
    assert values("ProtectHome") == ["tmpfs"]
    assert (values("IPAddressDeny"), values("IPAddressAllow")) == (["any"], ["localhost"])
    added = {key for drop_in in DROP_INS for key, _ in settings(drop_in)}
    assert {key for key in added if "Path" in key} == {"BindReadOnlyPaths"}
    assert "IPAddressAllow" in added


def test_install_names_settings_and_paths_of_the_unit() -> None:
    """Every `Key=` or `Key=value` in the prose exists."""
    prose = re.sub(r"^```.*?^```$", "", INSTALL, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([A-Z][A-Za-z]+)=([^`]*)`", prose))
    assert len(named) >= 5
    there = [pair for text in (UNIT, *DROP_INS) for pair in settings(text)]
    for key, value in named:
        assert any(name == key and value in ("", text) for name, text in there), key
    for path in (EXECUTABLE, "/etc/slpstream/slpstream.toml", "/etc/systemd/system/slpstream.service"):
        assert path in UNIT
        assert path in INSTALL


def test_launchd_example_parses() -> None:
    (block,) = [block for block in blocks("xml") if block.page == PAGE]
    plist = plistlib.loads(block.text.encode())
    assert plist["ProgramArguments"][1] == "serve"
    assert f"{plist['Label']}.plist" in INSTALL
