"""The replays that tests read: the project's own, and real ones if available.

The own replays are in `own/`, packed; `record` creates them. The real ones are next to the project and never part of
it. Tests that need missing replays are skipped with a reason. In CI (`CI=true`) these tests fail instead, so that a
build without data is never green.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.project import IN_CI, ROOT

FOLDER = Path(__file__).with_name("own")
SHARED = ROOT.parent / "shared" / "data"
SLP = SHARED / "slp"
MORE = SHARED / "slp_more"
"""Real replays found later: modes of the game, mods, and damaged files."""
NOT_REPLAYS = frozenset({"not_slp_text", "slippc__crashes__crash2", "slippc__crashes__crash6"})
"""Real files without Game Start."""
_UNPACKED = ROOT / ".pytest_cache" / "own_replays"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir() and not IN_CI, reason=f"the real replays are not at {SHARED}; only CI requires them"
)


def replays() -> list[Path]:
    """All Slippi replays for `parametrize`: the own ones by name, then the available real ones."""
    return own_replays() + real_replays()


def own_replays() -> list[Path]:
    """The project's own replays, sorted by name."""
    return sorted(own_folder().iterdir())


def real_replays() -> list[Path]:
    """The real replays, sorted by name, and those found later. Empty if they are missing, except in CI."""
    found = sorted(SLP.glob("*.slp"))
    if not found and IN_CI:
        raise FileNotFoundError(f"no replays in {SLP}")
    return found + sorted(MORE.glob("*.slp"))


def replay(name: str) -> bytes:
    """The bytes of an own or a real replay: `replay("rollbacks_3.18")`, `replay("v3.18")`."""
    return replay_path(name).read_bytes()


def replay_path(name: str) -> Path:
    """The path of an own or a real replay."""
    folders = (own_folder(), SLP, MORE)
    return next((path for folder in folders if (path := folder / f"{name}.slp").exists()), SLP / f"{name}.slp")


def existing(*names: str) -> list[str]:
    """The available ones of these replays, for further cases of a test from real games."""
    return [name for name in names if replay_path(name).exists()]


@cache
def own_folder() -> Path:
    """The folder with the unpacked own replays. The first call after a change unpacks them."""
    packed = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.slplog"))}
    digest = hashlib.sha256()
    for name, data in packed.items():
        digest.update(f"{name} {len(data)}\n".encode() + data)
    folder = _UNPACKED / digest.hexdigest()[:16]
    if not folder.is_dir():
        _unpack(packed, folder)
    return folder


def _unpack(packed: dict[str, bytes], folder: Path) -> None:
    from slpstream.formats.slplog.reader import ReplayLog  # needed only in the first run

    folder.parent.mkdir(parents=True, exist_ok=True)
    growing = Path(tempfile.mkdtemp(prefix="growing", dir=folder.parent))
    for name, data in packed.items():
        (growing / f"{name}.slp").write_bytes(ReplayLog.of(data).unpack())
    growing.chmod(0o755)
    try:
        # Several workers of one run can get here simultaneously. The first one wins.
        growing.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(growing)
