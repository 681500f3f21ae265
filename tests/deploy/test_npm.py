"""The npm package: its types are current and exact, and node follows a daemon with it.

`npm install --prefix tests/oracles` installs TypeScript's compiler.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import messages
from slpstream.model.version import __version__
from tests.daemons.process import running
from tests.deploy import artefacts
from tests.deploy.tools import needs
from tests.oracles.slippi_js import MODULES
from tests.project import IN_CI, ROOT
from tests.web.javascript import needs_node
from tests.web.shown import game_file

TSC = MODULES / "typescript" / "bin" / "tsc"
CODE = {"slpstream.js", "delta.js", "node.js", "slpstream.d.ts", "slpstream_types.d.ts"}
DECLARATIONS = """
import { CloseCode, Stream, connect } from "slpstream";
import type { StationView } from "slpstream";
import type { Conversion, FrameEntry, GameSummary, Meeting, Move, SetScore, Settings } from "slpstream/types";
import type { Stats, Stock, Thing } from "slpstream/types";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? unknown : never;
declare function exactly<B>(): <A>(value: A & Same<A, B>) => void;
const client = connect({ stations: ["main"], topics: ["game", "event"] });
const stream = new Stream({ station: "main", onChange: () => {} });
"""
LISTENERS = {
    "message": {
        "value.type === 'frame' && value.frame.frame": "number | false",
        "value.type === 'error' ? value.code : null": "number | null",
    },
    "game_start": {"value.settings": "Settings", "value.settings.stageId": "number", "value.rate": "number[]"},
    "frame": {
        "value.frame": "FrameEntry",
        "value.frame.players?.[0]?.post?.percent": "number | undefined",
        "value.frame.players?.[1]?.pre?.physicalButtons": "number | undefined",
        "value.frame.players?.[1]?.post?.isAirborne": "boolean | undefined",
        "value.frame.items?.[0]?.typeId": "number | undefined",
        "value.cursor": "string",
    },
    "event": {
        "value.kind === 'stock_lost' ? value.stock : null": "Stock | null",
        "value.kind === 'stock_lost' ? value.stocksRemaining : null": "number | null",
        "value.kind === 'conversion_ended' ? value.conversion : null": "Conversion | null",
        "value.kind === 'combo_ended' ? value.combo.moves : null": "Move[] | null | undefined",
        "value.kind === 'tech' && value.outcome === 'missed' ? value.outcome : null": "'missed' | null",
    },
    "stats": {"value.stats": "Stats", "value.stats.overall[0]!.inputCounts.total": "number | undefined"},
    "game_end": {"value.reason": "'game_end' | 'raw_length' | 'file_end' | 'incomplete' | 'error'"},
    "set": {
        "value.players[0]?.seed": "number | undefined",
        "value.games[0]?.operator?.counts": "boolean | undefined",
        "value.crewBattle?.crews?.[0]?.stocks": "number | undefined",
    },
    "odds": {"value.odds": "number", "value.stocks": "number[]"},
    "matchup": {
        "value.players[0]?.worked?.stage": "Thing | undefined",
        "value.headToHead?.last": "Meeting | undefined",
    },
    "connection": {"value": "'connecting' | 'open' | 'waiting' | 'closed'"},
}
"""Expressions in listeners by the type of message, with their exact types."""
EXPRESSIONS = {
    "client.cursors": "{ [station: string]: string }",
    "stream.stations": "StationView[]",
    "stream.station('main').set": "SetScore | null",
    "stream.station('main').game?.summary": "GameSummary | null | undefined",
    "CloseCode.CURSOR_GONE": "4410",
}
WRONG = (
    "client.on('event', (value) => value.kind === 'combo_endedd');",
    "client.on('message', (value) => value.type === 'game_ended');",
    "client.on('events', () => {});",
    "client.on('event', (value) => value.kind === 'lcancel' && value.combo);",
    "client.on('frame', ({ frame }) => frame.players?.[0]?.post?.percentage);",
    "client.on('director', (value) => value.choosen);",
    "connect({ topics: ['games'] });",
)
"""Each of these does not compile."""
FOLLOWER = """
import { connect } from "slpstream";

const [base, protocol, cursor] = process.argv.slice(2);
const client = connect({ base, protocol, cursor, stations: ["main"], topics: ["game", "event"], delivery: "lossless" });
const cursors = [];
client.on("message", ({ type, cursor }) => cursor && type !== "snapshot" && cursors.push(cursor));
client.on("metadata", () => {
  client.close();
  console.log(JSON.stringify({ cursors, version: client.version }));
});
"""


def program() -> Any:
    """The program that makes the declarations."""
    spec = importlib.util.spec_from_file_location("declarations", ROOT / "deploy/npm/declarations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a project in which the package is installed."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"type": "module"}')
    package = artefacts.npm_package(tmp_path_factory)
    command = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", str(folder / "cache"), str(package)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@needs("npm")
def test_package_has_the_version_and_no_dependencies(installed: Path) -> None:
    folder = installed / "node_modules" / "slpstream"
    described = json.loads((folder / "package.json").read_text())
    assert described["version"] == __version__
    assert "dependencies" not in described
    assert {path.name for path in folder.iterdir()} == CODE | {"package.json", "README.md", "LICENSE"}


def test_messages_are_current() -> None:
    declarations = program()
    text = declarations.MESSAGE_TYPES.read_text(encoding="utf-8")
    assert text == declarations.message_types(), "run python deploy/npm/declarations.py"


@needs("npm")
@pytest.mark.skipif(not TSC.is_file() and not IN_CI, reason="no typescript (npm install --prefix tests/oracles)")
def test_compiler_knows_exact_types_and_refuses_what_is_misspelt(installed: Path) -> None:
    """One run also makes the declarations of the client, which are compared with those of the package."""
    declarations = program()
    lines = DECLARATIONS.splitlines()
    for kind, expressions in LISTENERS.items():
        for expression, exact in expressions.items():
            lines.append(f"client.on('{kind}', (value) => exactly<{exact}>()({expression}));")
    lines += [f"exactly<{exact}>()({expression});" for expression, exact in EXPRESSIONS.items()]
    for wrong in WRONG:
        lines += ["// @ts-expect-error", wrong]
    (installed / "client.ts").write_text("\n".join(lines))
    settings = {
        "compilerOptions": {
            "strict": True,
            "noUncheckedIndexedAccess": True,
            "allowJs": True,
            "declaration": True,
            "emitDeclarationOnly": True,
            "outDir": "out",
            "target": "es2023",
            "lib": ["es2023", "dom"],
            "module": "esnext",
            "moduleResolution": "bundler",
            "types": [],
        },
        "files": ["client.ts", str(declarations.CLIENT), str(ROOT / "deploy/npm/node.js")],
    }
    (installed / "tsconfig.json").write_text(json.dumps(settings))
    command = ["node", str(TSC), "--project", str(installed), "--pretty", "false"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [f"{line}\n{lines[int(found[1]) - 1]}" if (found := re.search(r"client\.ts\((\d+)", line)) else line
              for line in done.stdout.splitlines()]  # fmt: skip
    assert (done.returncode, errors) == (0, []), "\n".join(errors)
    [emitted] = (installed / "out").rglob("slpstream.d.ts")
    current = declarations.client_types(emitted.read_text(encoding="utf-8"))
    assert declarations.CLIENT_TYPES.read_text(encoding="utf-8") == current, "run python deploy/npm/declarations.py"


@needs("npm")
@needs_node
def test_node_follows_a_daemon(installed: Path, tmp_path: Path) -> None:
    (installed / "follower.js").write_text(FOLLOWER)
    folder = tmp_path / "main"
    folder.mkdir()
    replay = Path(shutil.copy(game_file("v3.18", tmp_path), folder))
    first, *others = [message.cursor for message in messages(replay, topics=("game", "event"))]
    with running(folder) as daemon:
        for protocol in ("json", "delta"):
            command = ["node", "--experimental-websocket", "follower.js", f"{daemon.url}/", protocol, str(first)]
            done = subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout) == {"cursors": others, "version": __version__}
