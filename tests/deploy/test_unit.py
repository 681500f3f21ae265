"""deploy/slpstream.service and the drop-ins of docs/howto/install.md and docs/tournament/discovery.md, checked by
systemd's own tools.

`systemd-analyze verify` finds unknown keys, invalid values and missing executables; `systemd-analyze security`
calculates the exposure score. Both need neither a running systemd nor root privileges. Without systemd-analyze the
tests are skipped, except in CI, where they fail.

The unit's executable, /opt/slpstream/bin/slpstream, does not exist where tests run, so the tests check a *copy* of the
unit with an executable that does exist. Nothing else is changed, verify runs at its strictest, and the drop-ins are
checked the same way. Further tests show that mistakes would be detected.
"""

import os
import plistlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from slpstream.config import Announce
from tests.project import ROOT

DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "slpstream.service").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "howto" / "install.md").read_text(encoding="utf-8")
DISCOVERY = (ROOT / "docs" / "tournament" / "discovery.md").read_text(encoding="utf-8")
EXECUTABLE = "/opt/slpstream/bin/slpstream"

# systemd 252 calculates 0.9 as shipped and 1.0 with the network open. Other versions weigh the settings differently.
MAX_SCORE = 1.5


def settings(text: str) -> list[tuple[str, str]]:
    """Key and value of every assignment in a unit or drop-in; a key may occur more than once."""
    lines = (line.strip() for line in text.splitlines())
    return [(key, value) for line in lines if line and line[0] not in "#;[" for key, _, value in [line.partition("=")]]


def blocks(language: str, page: str = INSTALL) -> list[str]:
    """The fenced code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


(ANNOUNCE,) = blocks("ini", DISCOVERY)
DROP_INS = [*blocks("ini"), ANNOUNCE]


def values(key: str) -> list[str]:
    return [value for name, value in settings(UNIT) if name == key]


@pytest.fixture(scope="module")
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        reason = "systemd-analyze is missing (Debian: apt install systemd)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"},
    )


def install(folder: Path, unit: str, *drop_ins: str) -> Path:
    """Write a copy of the unit with an executable that exists, and the drop-ins where systemd finds them."""
    path = folder / "slpstream.service"
    present = shutil.which("true")
    assert present is not None
    path.write_text(unit.replace(EXECUTABLE, present), encoding="utf-8")
    for number, drop_in in enumerate(drop_ins):
        directory = folder / "slpstream.service.d"
        directory.mkdir(exist_ok=True)
        (directory / f"{number}.conf").write_text(drop_in, encoding="utf-8")
    return path


def verify(analyze: str, path: Path) -> subprocess.CompletedProcess[str]:
    # Without --recursive-errors, verify prints unknown keys and exits 0. --man=no, since man pages may be missing.
    return run(analyze, "--no-pager", "verify", "--man=no", "--recursive-errors=yes", path)


def score(analyze: str, path: Path) -> float:
    # The threshold is in tenths; above it, systemd-analyze exits with an error.
    threshold = f"--threshold={round(MAX_SCORE * 10)}"
    result = run(analyze, "--no-pager", "security", "--offline=true", threshold, path)
    match = re.search(r"Overall exposure level for slpstream\.service: (\d+\.\d+)", result.stdout)
    assert match, result.stdout + result.stderr
    exposure = float(match[1])
    assert (result.returncode == 0) == (exposure <= MAX_SCORE), result.stdout + result.stderr
    return exposure


with_drop_ins = pytest.mark.parametrize(
    "drop_ins",
    [
        pytest.param([], id="as-shipped"),
        *(pytest.param([drop_in], id=settings(drop_in)[0][0]) for drop_in in DROP_INS),
        pytest.param(DROP_INS, id="every-drop-in"),
    ],
)


@with_drop_ins
def test_verify_has_no_complaints(analyze: str, tmp_path: Path, drop_ins: list[str]) -> None:
    result = verify(analyze, install(tmp_path, UNIT, *drop_ins))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@with_drop_ins
def test_exposure_score_is_low(analyze: str, tmp_path: Path, drop_ins: list[str]) -> None:
    assert score(analyze, install(tmp_path, UNIT, *drop_ins)) <= MAX_SCORE


@pytest.mark.parametrize(
    ("unit", "complaint"),
    [
        pytest.param(UNIT.replace("ProtectHome=", "ProtectHoem="), "ProtectHoem", id="misspelt-key"),
        pytest.param(UNIT.replace("WatchdogSec=20", "WatchdogSec=often"), "often", id="value-that-does-not-parse"),
        pytest.param(UNIT.replace(EXECUTABLE, "/nonexistent/slpstream"), "/nonexistent", id="missing-executable"),
    ],
)
def test_verify_detects_mistakes(analyze: str, tmp_path: Path, unit: str, complaint: str) -> None:
    assert unit != UNIT
    result = verify(analyze, install(tmp_path, unit))
    assert result.returncode != 0
    assert complaint in result.stderr


def test_verify_detects_mistakes_in_a_drop_in(analyze: str, tmp_path: Path) -> None:
    assert verify(analyze, install(tmp_path, UNIT, "[Service]\nIPAdressAllow=any\n")).returncode != 0


def test_score_detects_a_relaxed_unit(analyze: str, tmp_path: Path) -> None:
    relaxed = re.sub(r"^(Protect|Private|Restrict|SystemCall|Capability|User|Group).*\n", "", UNIT, flags=re.MULTILINE)
    assert score(analyze, install(tmp_path, relaxed)) > MAX_SCORE


def test_commands_begin_with_the_replaced_path() -> None:
    # If a command did not begin with EXECUTABLE, the copy would run another command than the unit.
    (before,) = values("ExecStartPre")
    (start,) = values("ExecStart")
    (config,) = re.findall(r"--config (\S+)", start)
    assert start == f"{EXECUTABLE} serve --config {config}"
    # systemd does not apply RestartPreventExitStatus= to ExecStartPre=. Without the "-", an invalid configuration would
    # be tried until the start limit; with it, serve refuses the file once, with exit status 78.
    assert before == f"-{EXECUTABLE} check-config {config}"
    assert values("RestartPreventExitStatus") == ["78"]
    assert values("Restart") == ["on-failure"]


def test_unit_uses_notifications_and_a_watchdog() -> None:
    assert values("Type") == ["notify"]
    assert values("NotifyAccess") == ["main"]
    assert values("WatchdogSec") == ["20"]
    assert values("TimeoutStopSec") == ["10"]
    # systemd.notify() needs AF_UNIX, the server needs TCP over IPv4 and IPv6.
    assert values("RestrictAddressFamilies") == ["AF_UNIX AF_INET AF_INET6"]


def test_units_start_after_the_clock_was_synchronised() -> None:
    for unit in (UNIT, (DEPLOY / "slpstream-gateway.service").read_text(encoding="utf-8")):
        ordering = dict(settings(unit))
        assert "time-sync.target" in ordering["After"].split()
        assert "time-sync.target" in ordering["Wants"].split()
    assert "systemd-time-wait-sync" in INSTALL


def test_reload_sends_sighup() -> None:
    assert values("ExecReload") == ["/bin/kill -HUP $MAINPID"]
    assert "systemctl reload slpstream" in INSTALL


def test_user_is_fixed_so_that_an_acl_can_name_it() -> None:
    assert values("DynamicUser") == []
    (user,) = values("User")
    (line,) = re.findall(r"^u .*$", INSTALL, re.MULTILINE)  # the sysusers.d line
    assert line.split()[1] == user == values("StateDirectory")[0]


def test_replays_are_read_only() -> None:
    assert values("ProtectSystem") == ["strict"]
    assert not values("ReadWritePaths")
    assert not values("BindPaths")
    # ReadOnlyPaths=/home would undo ProtectHome=tmpfs and show the real /home (measured with systemd 252).
    assert not values("ReadOnlyPaths")
    assert values("ProtectHome") == ["tmpfs"]
    assert {key for drop_in in DROP_INS for key, _ in settings(drop_in) if "Path" in key} == {"BindReadOnlyPaths"}


def test_network_is_closed_unless_a_drop_in_opens_it() -> None:
    assert values("IPAddressDeny") == ["any"]
    assert values("IPAddressAllow") == ["localhost"]
    assert any(key == "IPAddressAllow" for drop_in in DROP_INS for key, _ in settings(drop_in))


def test_a_drop_in_permits_what_announcements_need() -> None:
    # DNS-SD finds the addresses of the machine with getifaddrs, which needs AF_NETLINK. Its address is in RFC 6762.
    assert settings(ANNOUNCE) == [
        ("RestrictAddressFamilies", "AF_NETLINK"),
        ("IPAddressAllow", f"224.0.0.251 {Announce().broadcast_host}"),
    ]


def named_settings() -> list[tuple[str, str]]:
    """Every `Key=` or `Key=value` in the prose of install.md."""
    prose = re.sub(r"^```.*?^```$", "", INSTALL, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([A-Z][A-Za-z]+)=([^`]*)`", prose)


def test_install_names_settings() -> None:
    assert len(named_settings()) >= 5


@pytest.mark.parametrize(("key", "value"), sorted(set(named_settings())))
def test_settings_that_install_names_exist(key: str, value: str) -> None:
    found = [text for text in (UNIT, *DROP_INS) for name, text in settings(text) if name == key]
    assert found
    assert not value or value in found


@pytest.mark.parametrize("path", [EXECUTABLE, "/etc/slpstream/slpstream.toml", "/etc/systemd/system/slpstream.service"])
def test_install_uses_the_paths_of_the_unit(path: str) -> None:
    assert path in UNIT
    assert path in INSTALL


def test_launchd_example_parses() -> None:
    (text,) = blocks("xml")
    plist = plistlib.loads(text.encode())
    assert plist["ProgramArguments"][1] == "serve"
    assert f"{plist['Label']}.plist" in INSTALL


def test_configuration_examples_parse() -> None:
    examples = blocks("toml")
    assert examples
    for example in examples:
        tomllib.loads(example)
