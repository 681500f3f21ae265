"""Markers of whole modules, and additional options of pytest. CONTRIBUTING.md describes the loops.

Single tests are marked in their modules. Tests that use a browser or a broker are marked by their fixtures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.project import ROOT, deleted_part, has_part
from tests.replays import SHARED, own_folder

TESTS = ROOT / "tests"
MARKS: Mapping[str, str] = {
    "daemon/test_archive.py": "waits",
    "daemon/test_live_game.py": "waits",
    "daemon/test_setup_seen_live.py": "waits",
    "daemon/test_state_folder.py": "waits",
    "daemon/test_stations.py": "waits",
    "daemon/test_unfinished.py": "waits",
    "daemon/test_unread.py": "waits",
    "formats/slippi/stats/test_damage.py": "sweep",
    "formats/test_vanishing.py": "waits",
    "game/test_log_reader.py": "waits",
    "parts/consoles/spectators": "waits",
    "parts/consoles/test_daemon.py": "waits",
    "parts/handover/test_handover.py": "waits",
    "sources/tail/test_watcher.py": "waits",
    "web/test_bounds.py": "waits",
    "web/test_departures.py": "waits",
    "web/test_texts.py": "process",
    "bench": "process slow",
    "bench/test_tournament.py": "release",
    "cli": "process",
    "parts/audit/test_daemon.py": "process",
    "parts/announce/test_announce.py": "process",
    "parts/chapters/test_chapters.py": "process",
    "daemon/test_end_to_end.py": "process",
    "daemon/test_games.py": "process",
    "daemon/test_reload.py": "process",
    "daemon/test_sets.py": "process",
    "deploy": "process",
    "deploy/test_container.py": "release",
    "deploy/test_debian.py": "release",
    "deploy/test_linux.py": "release",
    "deploy/test_lock.py": "slow",
    "deploy/test_release.py": "release",
    "deploy/test_windows.py": "release",
    "docs/test_commands.py": "process",
    "docs/test_data.py": "process",
    "docs/test_first_minutes.py": "process release",
    "docs/test_pictures.py": "process",
    "docs/test_site.py": "process",
    "faults": "process slow",
    "formats/slippi/test_arrow.py": "process sweep",
    "formats/slippi/test_columns.py": "sweep",
    "formats/slippi/test_differential.py": "process slow",
    "formats/slippi/test_edited.py": "sweep",
    "formats/slippi/test_fuzz.py": "fuzz process slow",
    "formats/slippi/test_golden.py": "sweep",
    "formats/slippi/test_hostile.py": "sweep",
    "formats/slippi/test_kernel_columns.py": "sweep",
    "formats/slippi/test_peppi.py": "sweep",
    "formats/slippi/test_writer.py": "sweep",
    "parts/pack/test_commands.py": "sweep",
    "formats/slplog/test_figures.py": "sweep",
    "formats/slplog/test_frames.py": "sweep",
    "formats/slplog/test_log.py": "sweep",
    "formats/slplog/test_page.py": "sweep",
    "formats/test_commands.py": "process",
    "formats/test_finished_games.py": "sweep",
    "formats/test_registry.py": "process",
    "formats/test_serve.py": "process slow",
    "formats/test_third_party.py": "process",
    "formats/test_whole_file_fuzz.py": "fuzz slow",
    "parts/verify/test_replay_check.py": "process",
    "hostile": "process slow",
    "hostile/test_fairness.py": "release",
    "hostile/test_fuzz.py": "fuzz release",
    "model/test_delta.py": "sweep",
    "parts/dashboard/test_dashboard.py": "process browser slow",
    "parts/dashboard/test_first_run.py": "process browser slow",
    "parts/dashboard/test_index.py": "process browser slow",
    "parts/dashboard/test_keyboard_day.py": "process browser slow",
    "parts/controllers/test_checked_games.py": "process",
    "parts/controllers/test_labelled.py": "process slow sweep",
    "parts/controllers/test_planted.py": "sweep",
    "parts/demo/test_bundled.py": "sweep",
    "parts/commentary/test_daemon.py": "process slow",
    "parts/commentary/test_page.py": "process browser slow",
    "parts/demo/test_command.py": "process",
    "parts/director/test_daemon.py": "process slow",
    "parts/director/test_scene.py": "process browser slow",
    "parts/demo/test_daemon.py": "process slow",
    "parts/demo/test_simulated.py": "sweep",
    "formats/slippi/test_write_schedule.py": "sweep",
    "parts/export": "process",
    "parts/fanout": "redis process",
    "parts/find": "process",
    "parts/info": "process",
    "parts/fanout/test_untouched.py": "slow",
    "parts/highlights": "process",
    "parts/matchup/test_daemon.py": "process slow",
    "parts/matchup/test_five_games.py": "process browser slow",
    "parts/odds/test_daemon.py": "process slow",
    "parts/on_air/test_daemon.py": "process slow",
    "parts/pictures": "process",
    "parts/playback_dolphin/test_daemon.py": "process",
    "parts/reindex": "process",
    "parts/scenes/test_board_contents.py": "process browser slow",
    "parts/scenes/test_drawing.py": "process browser slow",
    "parts/scenes/test_overlay_live.py": "process browser slow",
    "parts/scenes/test_overlay_options.py": "process browser slow",
    "parts/scenes/test_scenes.py": "process browser slow",
    "parts/scenes/test_scenes_boards.py": "process browser slow",
    "parts/scoreboards/test_afternoon.py": "slow",
    "parts/seats/test_claims_properties.py": "fuzz",
    "parts/situations/test_command.py": "process",
    "parts/situations/test_daemon.py": "process slow",
    "parts/situations/test_live.py": "sweep",
    "parts/situations/test_reference.py": "sweep",
    "parts/sql": "sweep",
    "parts/start": "process",
    "parts/stats": "process",
    "parts/test_outputs.py": "process",
    "parts/test_outputs_page.py": "process",
    "parts/test_without_parts.py": "process slow",
    "parts/training/test_page.py": "process slow",
    "parts/trends/test_command.py": "process",
    "parts/trends/test_page.py": "process browser slow",
    "parts/training/test_rows.py": "sweep",
    "parts/training/test_training_set.py": "sweep",
    "sets/test_properties.py": "fuzz",
    "soak": "process slow soak",
    "parts/archives/test_bombs.py": "process slow",
    "parts/archives/test_members.py": "sweep",
    "parts/consoles/test_console.py": "sweep",
    "parts/consoles/spectators/test_spectator_clients.py": "process slow",
    "sources/tail/test_model.py": "fuzz slow",
    "formats/slippi/stats/test_compat.py": "process sweep",
    "formats/slippi/stats/test_differences.py": "sweep",
    "formats/slippi/stats/test_events.py": "sweep",
    "formats/slippi/stats/test_incremental.py": "sweep",
    "formats/slippi/stats/test_live.py": "sweep",
    "stream/test_delivery.py": "fuzz",
    "stream/test_played_games.py": "fuzz",
    "synthetic/test_match.py": "slow",
    "test_api.py": "process",
    "test_structure.py": "process",
    "test_wheel.py": "process slow",
    "parts/handover/test_handed_set.py": "sweep",
    "web/test_client_js.py": "process slow",
    "web/test_client_module.py": "process slow",
    "parts/controllers/test_dashboard.py": "process browser slow",
    "web/test_delta_client.py": "process",
    "parts/dashboard/test_instant_replay.py": "process browser slow",
    "web/test_lighthouse.py": "process release",
    "parts/playback_dolphin/test_moments.py": "process browser slow",
    "web/test_openapi.py": "process",
    "web/test_paths.py": "process",
    "web/test_playout.py": "process",
    "parts/scenes/test_set_on_air.py": "process browser slow",
    "parts/dashboard/test_sets.py": "process browser slow",
    "web/test_types.py": "process slow",
}
"""Marks by folder or module below `tests/`. `--quick` does not import these modules."""
NOT_ON_WINDOWS: Mapping[str, str] = {
    "parts/archives/test_commands.py": "numpy does not load in Wine",
    "parts/export/test_export.py": "numpy does not load in Wine",
    "parts/info/test_info.py": "it opens a pseudo-terminal, which requires Unix",
    "cli/test_process_pool.py": "it sends Unix signals to processes and threads",
    "parts/find/test_find.py": "a file name contains a line break",
    "parts/start/test_start.py": "it replaces the home folder through HOME",
    "parts/situations/test_command.py": "numpy does not load in Wine",
    "parts/obs/test_real_obs.py": "it needs Xvfb and signals",
    "parts/seats/test_claims_properties.py": "slow",
    "web/test_fonts.py": "the tools for fonts are not installed there",
    "web/test_paths.py": "its configuration quotes paths, in which a backslash begins an escape",
    "web/test_types.py": "it only reads sources, which are the same",
}
"""Modules that cannot be imported by Windows' Python, with the reason. Single tests have the mark `not_on_windows`."""
MAX_DEFAULT_REPLAY_BYTES = 600_000
"""Tests with a replay above this size are slow. They take most of the time, and smaller and synthetic replays cover
all versions and all kinds of events."""
MAX_GATE_REPLAY_BYTES = 1_200_000
LARGE_IN_THE_GATE = ("doubles", "ics2", "rollbackFrameTest", "v0.1")
"""The real replays above this size that the gate reads too: teams, Ice Climbers, rollbacks, and the oldest version.
Tests with another one belong to the release check."""
_BROWSER_MODULES = ("playwright", "tests.browsers", "tests.web.shown")
"""A module that imports one of these drives a browser, which is not tested on Windows."""
_FIXTURE_MARKS = {"browser": ("browser", "process", "slow"), "broker": ("redis", "process")}
_NOT_QUICK = ("slow", "release", "browser", "process", "redis", "soak", "fuzz", "sweep", "waits")
_BYTECODE = ROOT / ".pytest_cache" / "bytecode"

# Properties have no deadline, because a loaded machine is not a fault. The profile "ci" has the same two settings.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# On another Python or platform, tests look only for differences, which requires fewer examples.
settings.register_profile("brief", settings.get_profile("ci"), max_examples=20)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slpstream")
    group.addoption("--gate", action="store_true", help="run every test not marked release, including slow ones")
    group.addoption("--all", action="store_true", help="run every test, including slow and release tests")
    group.addoption("--quick", action="store_true", help=f"run the inner loop: no test marked {', '.join(_NOT_QUICK)}")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the inner loop in two workers, unless files or a number of workers are given."""
    option = config.option
    whole = config.args_source is config.ArgsSource.TESTPATHS
    is_worker = hasattr(config, "workerinput")
    if option.quick and whole and not (is_worker or option.usepdb) and getattr(option, "numprocesses", 0) is None:
        option.numprocesses = 2


def pytest_configure(config: pytest.Config) -> None:
    listed = [path for path in (*MARKS, *NOT_ON_WINDOWS) if deleted_part(f"tests/{path}") is None]
    missing = [path for path in listed if not (TESTS / path).exists()]
    if missing:
        raise pytest.UsageError(f"the tests list paths that are missing: {', '.join(missing)}")
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        # The suite starts hundreds of Python processes. Without bytecode, compiling takes most of their time. The
        # bytecode goes to pytest's own cache, not next to the sources.
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(_BYTECODE)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that imports a deleted part, and name the part in the reason."""
    report = yield
    failure = report.call.excinfo if report.failed else None
    cause = failure.value.__cause__ if failure is not None else None
    part = deleted_part(cause.name or "", ".") if isinstance(cause, ModuleNotFoundError) else None
    if part is not None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: the part {part} was deleted")
    return report


def _marks_of(path: Path) -> Iterator[str]:
    if path.is_relative_to(TESTS):
        relative = path.relative_to(TESTS)
        for marked in (relative, *relative.parents):
            yield from MARKS.get(marked.as_posix(), "").split()


def _marks_of_replays(item: pytest.Item) -> Iterator[str]:
    """The marks of a test with large replays."""
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    folders = (SHARED, own_folder())
    files = [value for value in parameters if isinstance(value, Path) and any(map(value.is_relative_to, folders))]
    for file in files:
        size_bytes = file.stat().st_size
        if size_bytes > MAX_DEFAULT_REPLAY_BYTES:
            yield "slow"
        if size_bytes > MAX_GATE_REPLAY_BYTES and file.is_relative_to(SHARED) and file.stem not in LARGE_IN_THE_GATE:
            yield "release"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if sys.platform == "win32" and collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        if _key(collection_path) in NOT_ON_WINDOWS or any(module in text for module in _BROWSER_MODULES):
            return True
    return True if config.getoption("quick") and any(_marks_of(collection_path)) else None


def _key(path: Path) -> str:
    return path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in _marks_of(item.path):
            item.add_marker(mark)
        needed = {part for mark in item.iter_markers("parts") for part in mark.args}
        for part in sorted(part for part in needed if not has_part(part)):
            item.add_marker(pytest.mark.skip(reason=f"the part {part} was deleted"))
        reason = item.get_closest_marker("not_on_windows")
        if sys.platform == "win32" and reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"not on Windows: {reason.args[0]}"))
        for mark in _marks_of_replays(item):
            item.add_marker(mark)
        for fixture in getattr(item, "fixturenames", ()):
            for mark in _FIXTURE_MARKS.get(fixture, ()):
                item.add_marker(mark)
    if config.getoption("all") or "release" in config.option.markexpr:
        return
    left_out: Sequence[str] = ("slow", "release")
    if config.getoption("quick"):
        left_out = _NOT_QUICK
    elif config.getoption("gate") or "slow" in config.option.markexpr:
        left_out = ("release",)
    # A slow test runs if its file is named on the command line.
    named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    marked = [item for item in items if any(map(item.get_closest_marker, left_out))]
    _deselect(config, items, [item for item in marked if item.path not in named])


def _deselect(config: pytest.Config, items: list[pytest.Item], deselected: Sequence[pytest.Item]) -> None:
    """Remove tests from the run."""
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        left_out = set(deselected)
        items[:] = [item for item in items if item not in left_out]
