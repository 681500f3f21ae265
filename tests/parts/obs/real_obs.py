"""A real OBS under Xvfb with a separate home folder, and a client that records its program scenes.

Debian 12 has OBS 29.0.2 with obs-websocket 5.1.0. Its settings are in `global.ini`; newer versions use other files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.ports import free_port

PASSWORD = "slpstream-test"
PROGRAMS = ("obs", "Xvfb")
START_SECONDS = 90.0
SCREEN_FILE = "Xvfb_screen0"
_GLOBAL = """[General]
FirstRun=true
LastVersion=486539266
EnableAutoUpdates=false
ConfirmOnExit=false

[Basic]
Profile=Test
ProfileDir=Test
SceneCollection=Test
SceneCollectionFile=Test

[OBSWebSocket]
FirstLoad=false
ServerEnabled=true
ServerPort={port}
AuthRequired=true
ServerPassword={password}
AlertsEnabled=false
"""
_PROFILE = """[General]
Name=Test

[Video]
BaseCX={width}
BaseCY={height}
OutputCX={width}
OutputCY={height}
FPSCommon=30

[Output]
Mode=Simple

[SimpleOutput]
FilePath={folder}
RecFormat=mkv
RecRB=true
RecRBTime=5
RecRBSize=64
VBitrate=300
"""
SCENES = ("Break", "Game", "Result", "Interview")
TEXTS = ("Players", "Score", "Winner")
TEXT_KIND = "text_ft2_source_v2"


def missing() -> str:
    """The programs that are not installed, for a message; empty if all of them are."""
    return ", ".join(name for name in PROGRAMS if shutil.which(name) is None)


class Control:
    """A client of obs-websocket that shares no code with slpstream's."""

    def __init__(self, url: str, *, events: int = 0) -> None:
        protocol = Subprotocol("obswebsocket.json")
        self.socket: ClientConnection = connect(url, subprotocols=[protocol], open_timeout=10, legacy=True)
        hello = json.loads(self.socket.recv(10))["d"]
        proof = hello["authentication"]
        secret = base64.b64encode(hashlib.sha256((PASSWORD + proof["salt"]).encode()).digest()).decode()
        answer = base64.b64encode(hashlib.sha256((secret + proof["challenge"]).encode()).digest()).decode()
        self._send(1, {"rpcVersion": 1, "authentication": answer, "eventSubscriptions": events})
        assert json.loads(self.socket.recv(10))["op"] == 2
        self._count = 0

    def _send(self, op: int, d: Mapping[str, Any]) -> None:
        self.socket.send(json.dumps({"op": op, "d": d}))

    def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        """Send a request that has to succeed, and return the answer."""
        self._count += 1
        self._send(6, {"requestType": kind, "requestId": str(self._count), "requestData": data})
        while True:
            message = json.loads(self.socket.recv(10))
            if message["op"] == 7 and message["d"]["requestId"] == str(self._count):
                assert message["d"]["requestStatus"]["result"], message["d"]
                found: dict[str, Any] = message["d"].get("responseData", {})
                return found


class RealObs:
    """An OBS that can be killed and restarted. `recorded` has its program scenes across all runs."""

    def __init__(self, home: Path, display: str, *, visible: bool = False) -> None:
        width, height = (1280, 720) if visible else (320, 180)  # software rendering
        self.home = home
        self._options = [] if visible else ["--minimize-to-tray"]
        self._environment = {
            **os.environ, "HOME": str(home), "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1",
            "XDG_CONFIG_HOME": str(home / ".config"), "XDG_RUNTIME_DIR": str(home), "QT_QPA_PLATFORM": "xcb",
        }  # fmt: skip
        self.port = free_port()
        self.url = f"ws://127.0.0.1:{self.port}"
        settings = home / ".config" / "obs-studio"
        (settings / "basic" / "profiles" / "Test").mkdir(parents=True)
        (settings / "basic" / "scenes").mkdir(parents=True)
        (home / "videos").mkdir()
        (settings / "global.ini").write_text(_GLOBAL.format(port=self.port, password=PASSWORD))
        (settings / "basic" / "profiles" / "Test" / "basic.ini").write_text(
            _PROFILE.format(folder=home / "videos", width=width, height=height)
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.recorded: list[str] = []
        """Every change of the program scene, from the events of OBS."""
        self._recorder: threading.Thread | None = None

    def start(self) -> Control:
        """Start OBS and wait until it answers."""
        command = ["obs", "--multi", "--disable-updater", *self._options]
        with (self.home / "obs.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                control = Control(self.url)
                control.ask("GetSceneList")
                break
            except (OSError, ConnectionClosed, AssertionError, TimeoutError):
                assert time.monotonic() < deadline, (self.home / "obs.log").read_text(errors="replace")[-3000:]
                assert self.process.poll() is None, (self.home / "obs.log").read_text(errors="replace")[-3000:]
                time.sleep(0.2)
        watcher = Control(self.url, events=1 << 2)
        self._recorder = threading.Thread(target=self._record, args=(watcher,), daemon=True)
        self._recorder.start()
        return control

    def _record(self, watcher: Control) -> None:
        try:
            for line in watcher.socket:
                message = json.loads(line)
                if message["op"] == 5 and message["d"]["eventType"] == "CurrentProgramSceneChanged":
                    self.recorded.append(message["d"]["eventData"]["sceneName"])
        except ConnectionClosed:
            pass

    def kill(self) -> None:
        """Kill OBS."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(20)
            self.process = None
        if self._recorder is not None:
            self._recorder.join(10)

    def prepare(self) -> None:
        """Create the scenes and sources of the tests, and have OBS save them."""
        control = self.start()
        for scene in SCENES:
            control.ask("CreateScene", sceneName=scene)
        for text in TEXTS:
            control.ask(
                "CreateInput", sceneName="Game", inputName=text, inputKind=TEXT_KIND, inputSettings={"text": ""},
                sceneItemEnabled=True,
            )  # fmt: skip
        control.ask("SetCurrentSceneTransition", transitionName="Cut")
        control.ask("SetCurrentProgramScene", sceneName="Break")
        self.until_saved(*SCENES, *TEXTS)
        deadline = time.monotonic() + START_SECONDS
        while self.recorded != ["Break"]:
            assert time.monotonic() < deadline, self.recorded
            time.sleep(0.2)
        self.recorded.clear()

    def until_saved(self, *names: str) -> None:
        """Wait until OBS has saved scenes and sources, so that they survive a kill."""
        file = self.home / ".config" / "obs-studio" / "basic" / "scenes" / "Test.json"
        deadline = time.monotonic() + START_SECONDS
        while not all(f'"{name}"' in _text(file) for name in names):
            assert time.monotonic() < deadline, "OBS does not save its scenes"
            time.sleep(0.2)


def _text(file: Path) -> str:
    """The text of a file. While OBS saves it, it is missing for a moment."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


@contextmanager
def real_obs(folder: Path, *, prepared: bool = True, visible: bool = False) -> Iterator[RealObs]:
    """A running OBS with its own display, and with the scenes of the tests if `prepared`.

    The picture of the display, with the window if `visible`, is in `folder / SCREEN_FILE`, in xwd format.
    """
    reading, writing = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-fbdir", str(folder)],
        pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writing)
    try:
        with os.fdopen(reading) as number:
            display = f":{number.readline().strip()}"
        home = folder / "home"
        home.mkdir(mode=0o700)
        obs = RealObs(home, display, visible=visible)
        try:
            if prepared:
                obs.prepare()
            else:
                obs.start()
            yield obs
        finally:
            obs.kill()
    finally:
        screen.terminate()
        screen.wait(10)
