"""Pictures of the real OBS's window, driven by the configuration in docs/production/index.md."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image

from slpstream.parts.demo.bundled import bundled_match
from tests.daemons.process import running
from tests.parts.obs.real_obs import PASSWORD, SCREEN_FILE, RealObs, real_obs
from tests.project import ROOT
from tests.replays.in_progress import begun

_WINDOW = (0, 0, 1079, 730)
"""The position of OBS's window on a display without a window manager."""
_DRAWN_SECONDS = 2.0


def taken() -> Mapping[str, Image.Image]:
    """Pictures of the window after `slpstream obs-scenes`, and during a game."""
    with _scenes_made() as (folder, config, obs):
        time.sleep(_DRAWN_SECONDS)
        scenes = _window(folder)
        with running(arguments=("--config", str(config))) as daemon:
            daemon.until(lambda: "slpstream_obs_connected 1.0" in daemon.text("/metrics"), 60)
            begun(folder / "Slippi" / "Game_1.slp", bundled_match(1, started_at=datetime.now(UTC)))
            daemon.until(lambda: obs.recorded == ["Game"], 60)
            time.sleep(_DRAWN_SECONDS)
            return {"scenes": scenes, "game": _window(folder)}


@contextmanager
def _scenes_made() -> Iterator[tuple[Path, Path, RealObs]]:
    """A folder, the configuration in it, and an OBS with the scenes named by the configuration."""
    with tempfile.TemporaryDirectory() as name, real_obs(Path(name), prepared=False, visible=True) as obs:
        folder = Path(name)
        page = (ROOT / "docs" / "production" / "index.md").read_text(encoding="utf-8")
        rules = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
        config = folder / "slpstream.toml"
        config.write_text(
            rules.replace("ws://127.0.0.1:4455", obs.url)
            .replace("~/production/obs_password", str(folder / "password"))
            .replace("~/Slippi", str(folder / "Slippi"))
        )
        (folder / "password").write_text(PASSWORD)
        (folder / "Slippi").mkdir()
        subprocess.run([sys.executable, "-m", "slpstream", "obs-scenes", config], check=True, capture_output=True)
        obs.until_saved("Game", "Break", "Result", "Players", "Score", "Winner")
        obs.kill()  # nothing is selected in a fresh window
        obs.start().ask("SetCurrentSceneTransition", transitionName="Cut")
        yield folder, config, obs


def _window(folder: Path) -> Image.Image:
    """The window of OBS, from the file with the screen of Xvfb: an xwd header, colours, pixels."""
    data = (folder / SCREEN_FILE).read_bytes()
    header = struct.unpack(">25I", data[:100])
    begin = header[0] + 12 * header[19]
    return Image.frombytes("RGB", header[4:6], data[begin:], "raw", "BGRX", header[12]).crop(_WINDOW)
