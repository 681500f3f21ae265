"""deploy/slpstream.service and deploy/install.md, held to what they say.

systemd itself is the judge: `systemd-analyze verify` (unknown keys, values it cannot parse, executables that are not
there) and `systemd-analyze security` (the exposure score). It needs no running systemd and no root. On a developer's
machine without it these tests are skipped; on CI they fail, since a gate that is silently open is none.

The unit's executable, /opt/slpstream/bin/slpstream, does not exist where tests run, and verify complains about that,
rightly. So the tests judge a *copy* in which exactly that path is replaced by an executable which does exist; verify
runs at its strictest on everything, and the drop-ins of install.md are judged the same way. Tests at the end of each
part prove that the gate would have closed.
"""

import os
import plistlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.project import ROOT

DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "slpstream.service").read_text(encoding="utf-8")
INSTALL = (DEPLOY / "install.md").read_text(encoding="utf-8")
EXECUTABLE = "/opt/slpstream/bin/slpstream"

# Measured with systemd 252: 0.9 as shipped, 1.0 with the network opened. The room is for other versions' weights.
WORST_SCORE = 1.5


def settings(text: str) -> list[tuple[str, str]]:
    """Key and value of every assignment of a unit or drop-in; a key may occur more than once."""
    lines = (line.strip() for line in text.splitlines())
    return [(key, value) for line in lines if line and line[0] not in "#;[" for key, _, value in [line.partition("=")]]


def blocks(language: str) -> list[str]:
    """The fenced code blocks of install.md in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", INSTALL, re.DOTALL | re.MULTILINE)


DROP_INS = blocks("ini")


def values(key: str) -> list[str]:
    return [value for name, value in settings(UNIT) if name == key]


# --- systemd's own judgement -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        why = "systemd-analyze is missing (Debian: apt install systemd)"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
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
    """The copy that can be judged here: the unit with an executable that exists, and drop-ins as systemd finds them."""
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
    # Without --recursive-errors, verify prints unknown keys and exits 0. --man=no: pages need not be installed.
    return run(analyze, "--no-pager", "verify", "--man=no", "--recursive-errors=yes", path)


def score(analyze: str, path: Path) -> float:
    # The threshold is in tenths; systemd-analyze itself refuses what is above.
    threshold = f"--threshold={round(WORST_SCORE * 10)}"
    result = run(analyze, "--no-pager", "security", "--offline=true", threshold, path)
    match = re.search(r"Overall exposure level for slpstream\.service: (\d+\.\d+)", result.stdout)
    assert match, result.stdout + result.stderr
    exposure = float(match[1])
    assert (result.returncode == 0) == (exposure <= WORST_SCORE), result.stdout + result.stderr
    return exposure


with_drop_ins = pytest.mark.parametrize(
    "drop_ins",
    [
        pytest.param([], id="as-shipped"),
        *(pytest.param([drop_in], id=settings(drop_in)[0][0]) for drop_in in DROP_INS),
        pytest.param(DROP_INS, id="every-drop-in-of-install.md"),
    ],
)


@with_drop_ins
def test_verify_has_nothing_to_say(analyze: str, tmp_path: Path, drop_ins: list[str]) -> None:
    result = verify(analyze, install(tmp_path, UNIT, *drop_ins))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@with_drop_ins
def test_exposure_score(analyze: str, tmp_path: Path, drop_ins: list[str]) -> None:
    assert score(analyze, install(tmp_path, UNIT, *drop_ins)) <= WORST_SCORE


@pytest.mark.parametrize(
    ("unit", "complaint"),
    [
        pytest.param(UNIT.replace("ProtectHome=", "ProtectHoem="), "ProtectHoem", id="misspelt-key"),
        pytest.param(UNIT.replace("WatchdogSec=20", "WatchdogSec=often"), "often", id="value-that-does-not-parse"),
        pytest.param(UNIT.replace(EXECUTABLE, "/nonexistent/slpstream"), "/nonexistent", id="missing-executable"),
    ],
)
def test_verify_would_complain(analyze: str, tmp_path: Path, unit: str, complaint: str) -> None:
    assert unit != UNIT
    result = verify(analyze, install(tmp_path, unit))
    assert result.returncode != 0
    assert complaint in result.stderr


def test_verify_would_complain_about_a_drop_in(analyze: str, tmp_path: Path) -> None:
    assert verify(analyze, install(tmp_path, UNIT, "[Service]\nIPAdressAllow=any\n")).returncode != 0


def test_score_would_drop(analyze: str, tmp_path: Path) -> None:
    relaxed = re.sub(r"^(Protect|Private|Restrict|SystemCall|Capability|User|Group).*\n", "", UNIT, flags=re.MULTILINE)
    assert score(analyze, install(tmp_path, relaxed)) > WORST_SCORE


# --- What the daemon and its operators rely on -----------------------------------------------------------------------


def test_the_replaced_path_is_the_whole_command() -> None:
    # If a command did not begin with EXECUTABLE, the copy would run something else than the unit.
    (before,) = values("ExecStartPre")
    (start,) = values("ExecStart")
    (config,) = re.findall(r"--config (\S+)", start)
    assert start == f"{EXECUTABLE} serve --config {config}"
    # The "-": systemd does not apply RestartPreventExitStatus= to ExecStartPre=, so without it a wrong configuration is
    # tried until the start limit. With it serve refuses the same file with 78, once.
    assert before == f"-{EXECUTABLE} check-config {config}"
    assert values("RestartPreventExitStatus") == ["78"]
    assert values("Restart") == ["on-failure"]


def test_systemd_is_told_and_tells() -> None:
    assert values("Type") == ["notify"]
    assert values("NotifyAccess") == ["main"]
    assert values("WatchdogSec") == ["20"]
    assert values("TimeoutStopSec") == ["10"]
    # systemd.notify() needs AF_UNIX, the rest of us TCP over both families.
    assert values("RestrictAddressFamilies") == ["AF_UNIX AF_INET AF_INET6"]


def test_a_reload_is_the_signal_that_the_daemon_knows() -> None:
    assert values("ExecReload") == ["/bin/kill -HUP $MAINPID"]
    assert "systemctl reload slpstream" in INSTALL


def test_a_fixed_user_so_that_an_acl_can_name_it() -> None:
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


def test_closed_to_the_network_until_a_drop_in_opens_it() -> None:
    assert values("IPAddressDeny") == ["any"]
    assert values("IPAddressAllow") == ["localhost"]
    assert any(key == "IPAddressAllow" for drop_in in DROP_INS for key, _ in settings(drop_in))


# --- install.md ------------------------------------------------------------------------------------------------------


def promises() -> list[tuple[str, str]]:
    """Every `Key=` or `Key=value` that install.md writes in its prose."""
    prose = re.sub(r"^```.*?^```$", "", INSTALL, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([A-Z][A-Za-z]+)=([^`]*)`", prose)


def test_install_promises_something() -> None:
    assert len(promises()) >= 5


@pytest.mark.parametrize(("key", "value"), sorted(set(promises())))
def test_install_promises_only_what_is_there(key: str, value: str) -> None:
    there = [text for text in (UNIT, *DROP_INS) for name, text in settings(text) if name == key]
    assert there
    assert not value or value in there


@pytest.mark.parametrize("path", [EXECUTABLE, "/etc/slpstream/slpstream.toml", "/etc/systemd/system/slpstream.service"])
def test_install_puts_things_where_the_unit_looks(path: str) -> None:
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
