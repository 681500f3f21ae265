"""Commands called like by a user: output, exit codes, and errors as a single line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from slpstream.cli import check_config, cli, main
from tests.cli.command_line import CONFIG, INPUT_OUTPUT, NO, USAGE, called, error_line, exit_code, in_shell, slpstream
from tests.marks import of_part, slow
from tests.project import ROOT
from tests.synthetic.match import synthetic_match


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("game") / "Game_a.slp"
    path.write_bytes(synthetic_match(seed=2, frames=300))
    return path


def test_help_lists_every_command() -> None:
    assert set(cli.list_commands(click.Context(cli))) >= {
        *("serve", "start", "demo", "dump", "follow", "info", "find", "situations", "export", "stats", "verify"),
        *("simulate", "check-config", "reference", "reindex", "bracket", "seats", "pack", "import-pictures"),
    }
    done = slpstream("--help")
    assert done.returncode == 0
    for name in cli.list_commands(click.Context(cli)):
        assert f"\n  {name}" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        "dump",
        "nonsense",
        "dump x.slp --topics weather",
        "info",
        "demo --speed nan",
        "demo --speed inf",
        "simulate x.slp --into x --speed nan",
        "simulate x.slp --into x --writer quill",
    ],
)
def test_wrong_usage_exits_with_2(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == USAGE
    assert "Error: " in capsys.readouterr().err


def test_similar_command_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("servee") == USAGE
    assert capsys.readouterr().err.endswith("Error: No such command 'servee'. Did you mean 'serve'?\n")


def loaded_by(*arguments: str | Path) -> set[str]:
    """Run a command and return the modules that it has loaded."""
    script = """import sys
from slpstream.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


HEAVY = {"asyncio", "importlib.metadata", "msgspec", "multiprocessing", "numpy", "pyarrow", "rich", "trio", "watchdog"}
EVENT_LOOP = {"asyncio", "trio", "watchdog", "slpstream.sources.tail"}
OURS = {f"slpstream.{name}" for name in ("api", "formats", "game", "model.messages", "sources.tail")}


@pytest.mark.parametrize("name", ["dump", "follow", of_part("info"), of_part("stats")])
def test_help_loads_only_necessary_modules(name: str) -> None:
    loaded = loaded_by(name, "--help")
    assert loaded & {f"slpstream.cli.{name}", f"slpstream.parts.{name}.cli"}
    assert not loaded & (HEAVY | OURS)


@pytest.mark.parametrize("name", ["dump", of_part("info"), of_part("stats")])
def test_file_commands_load_no_event_loop(name: str, game: Path) -> None:
    loaded = loaded_by(name, game)
    assert "slpstream.api" in loaded
    assert not loaded & EVENT_LOOP


def test_dump_prints_all_topics_by_default(game: Path) -> None:
    done = slpstream("dump", game)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert lines[0]["type"] == "game_start"
    assert {line["type"] for line in lines} == {
        *("game_start", "frame", "finalized", "event", "stats", "game_end", "metadata"),
    }
    assert not any("station" in line for line in lines)
    only = slpstream("dump", game, "--topics", "game", "--frames", "finalized")
    assert [json.loads(line)["type"] for line in only.stdout.splitlines()] == ["game_start", "game_end", "metadata"]


def test_dump_continues_after_a_broken_file(game: Path, tmp_path: Path) -> None:
    bad, cut = tmp_path / "bad.slp", tmp_path / "cut.slp"
    bad.write_text("this is no replay")
    cut.write_bytes(game.read_bytes()[:50_000])
    done = slpstream("dump", bad, cut, "--topics", "game")
    assert done.returncode == NO
    assert error_line(done) == f"slpstream: {bad}: not a Slippi replay, at offset 0"
    assert json.loads(done.stdout.splitlines()[-1])["reason"] == "incomplete"
    assert slpstream("dump", cut).returncode == 0


@pytest.mark.not_on_windows("folders have no named pipes there")
@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "empty"])
def test_dump_reports_unreadable_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.slp"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "empty":
        path.touch()
    done = slpstream("dump", path)
    assert done.returncode == (NO if kind == "empty" else INPUT_OUTPUT)
    assert str(path) in error_line(done)


@pytest.mark.parametrize("command", ["dump", "stats", *slow("info", "info --json", "stats --json")])
def test_closed_pipe_is_not_an_error(command: str, game: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = slpstream(*command.split(), game, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.not_on_windows("it needs a Unix shell or a signal")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dump {game} | head -1 >{out}", (0, "")),
        *(
            (f"{command} >&-", (INPUT_OUTPUT, "slpstream: output: Bad file descriptor\n"))
            for command in (
                "dump {game}",
                "export {game} --to csv -o {out}",
                "info {game}",
                "stats {game}",
                "reference config",
            )
        ),
        ("export {game} --to csv -o {out} >/dev/full", (INPUT_OUTPUT, "slpstream: output: No space left on device\n")),
        ("dump {out} 2>&-", (INPUT_OUTPUT, "")),
    ],
)
def test_unwritable_output(line: str, expected: tuple[int, str], game: Path, tmp_path: Path) -> None:
    done = in_shell(f"slpstream {line.format(game=game, out=tmp_path / 'out')}")
    assert (done.returncode, done.stderr) == expected


@pytest.mark.parts("verify")
def test_verify_reports_the_first_difference(game: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(slpstream("dump", game, "--topics", "game,frame").stdout)
    equal = slpstream("verify", game, lines)
    assert (equal.returncode, equal.stdout.startswith("equal: ")) == (0, True)
    all_lines = lines.read_text().splitlines()
    index = next(i for i, line in enumerate(all_lines) if '"frame":{"frame":0,' in line)
    changed = json.loads(all_lines[index])
    changed["frame"]["players"]["1"]["post"]["percent"] = 99.5
    all_lines[index] = json.dumps(changed)
    lines.write_text("\n".join(all_lines) + "\n")
    different = slpstream("verify", game, lines)
    assert different.returncode == NO
    assert f"message {index + 1}: frame 0" in different.stdout
    assert "player 1, post.percent: A has 0.0, B has 99.5" in different.stdout


@pytest.mark.parametrize(
    "url", ["http://[bad/x", "http://127.0.0.1:notaport/x", "http://:80/x", "http://127.0.0.1/a b", "x", "http://ü/x"]
)
def test_verify_refuses_invalid_urls(url: str) -> None:
    done = called(cli, "verify", "--live", url)
    assert done.exit_code == USAGE
    assert done.stderr.splitlines()[-1] == "Error: --live expects http://HOST:PORT/STATION"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://a..b/x"])
@pytest.mark.parts("verify")
def test_verify_reports_unreachable_daemon(url: str) -> None:
    done = slpstream("verify", "--live", url)
    assert done.returncode == INPUT_OUTPUT
    assert url in error_line(done)


@pytest.mark.parametrize("token", ["p\tq", "pässword", "", "p\0q"])
@pytest.mark.parts("verify")
def test_invalid_token_is_not_shown(token: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(token.encode())
    done = slpstream("verify", "--live", "http://127.0.0.1:9/x", "--token-file", file)
    assert done.returncode == CONFIG
    what = "expected a token in the first line" if token else "the first line is empty"
    assert error_line(done).startswith(f"slpstream: {file}: {what}")
    assert not token or token not in done.stderr


@pytest.mark.slow
def test_follow_prints_the_log_of_a_simulated_game(game: Path, tmp_path: Path) -> None:
    follower = subprocess.Popen(
        [sys.executable, "-m", "slpstream", "follow", str(tmp_path / "live" / game.name)], stdout=subprocess.PIPE
    )
    (tmp_path / "live").mkdir()
    done = slpstream("simulate", game, "--into", tmp_path / "live", "--speed", "10", "--writer", "random:3")
    assert done.returncode == 0
    assert (tmp_path / "live" / game.name).read_bytes() == game.read_bytes()
    out, _ = follower.communicate(timeout=60)
    assert out.decode() == slpstream("dump", game).stdout
    assert follower.returncode == 0
    again = slpstream("simulate", game, "--into", tmp_path / "live", "--speed", "0")
    assert again.returncode == INPUT_OUTPUT
    assert "already exists" in error_line(again)


@pytest.mark.slow
def test_check_config_reports_errors_like_serve(tmp_path: Path) -> None:
    good = ROOT / "config" / "slpstream.toml"
    assert slpstream("check-config", good).returncode == 0
    bad = tmp_path / "bad.toml"
    bad.write_text('[server]\nhost = "0.0.0.0"\n')
    done = slpstream("check-config", bad)
    assert done.returncode == CONFIG
    assert "token" in error_line(done)
    assert slpstream("serve", "--config", bad).returncode == CONFIG
    bad.write_text("[serve]\n")
    assert "serve: unknown key" in error_line(slpstream("check-config", bad))


def test_check_config_describes_a_configuration_without_stations(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("")
    alone = called(check_config.command, file).stdout
    assert alone == f"{file}: good; stations: none: the usual Slippi folders are watched\n"


def test_check_config_lists_stations_and_folders_that_cannot_be_read(tmp_path: Path) -> None:
    file, there, missing = tmp_path / "my.toml", tmp_path / "setups", tmp_path / "missing"
    for name in ("01", "02"):
        (there / name).mkdir(parents=True)
    file.write_text(
        f"[[stations]]\nid = '*'\nfolder = '{there}'\n[[stations]]\nid = 'tv1'\nfolder = '{missing}'\n"
        "[[stations]]\nid = 'tv2'\nfolder = 'elsewhere'\n"
    )
    done = slpstream("check-config", file)
    assert done.returncode == 0
    assert done.stdout.endswith("my.toml: good; stations (4): tv1, tv2, 01, 02\n")
    first, second = done.stderr.splitlines()
    assert first.startswith(str(missing))
    assert second.startswith("elsewhere: cannot be read now")


@pytest.mark.parts("fanout")
@pytest.mark.not_on_windows("the extra for the broker is not installed there")
def test_check_config_describes_a_gateway(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[fanout]\nurl = "redis://broker"\n')
    gateway = called(check_config.command, file).stdout
    assert gateway.endswith("none: a gateway serves those of the broker; `serve` watches the usual Slippi folders\n")


@pytest.mark.parametrize(("filename", "expected"), [(None, 0), ("a.slp", INPUT_OUTPUT)])
def test_closed_pipe_on_windows_is_not_an_error(filename: str | None, expected: int) -> None:
    """Windows reports a closed pipe as EINVAL, which a file name can cause too."""
    failing = f"lambda **_: (_ for _ in ()).throw(OSError(22, 'Invalid argument', {filename!r}))"
    before = f"import sys, slpstream.cli; slpstream.cli.cli.main = {failing}; sys.platform = 'win32'"
    done = slpstream("dump", before=before)
    assert done.returncode == expected
    assert "Traceback" not in done.stderr
