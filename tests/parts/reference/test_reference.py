"""The reference pages are complete, and every row has a description."""

from __future__ import annotations

import doctest
import inspect
import json
import shutil
from pathlib import Path

import pytest

import slpstream
from slpstream import config
from slpstream.parts import registry
from slpstream.parts.reference.cli import PAGES
from slpstream.parts.reference.python_page import EXAMPLES
from slpstream.system.metrics import TABLE
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match


def page(name: str) -> str:
    return "\n".join(PAGES[name]())


NAMES = [pytest.param(name, marks=pytest.mark.parts("api_docs")) if name == "http" else name for name in PAGES]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_a_description(name: str) -> None:
    rows = [line for line in page(name).splitlines() if line.startswith("|") and not line.startswith("| ---")]
    assert rows
    assert all(row.rstrip(" |").count("|") >= 2 for row in rows)
    assert not [row for row in rows if row.rstrip().endswith("|  |")]
    assert page(name).splitlines()[2].startswith("This page lists ")


def test_every_key_and_metric_is_documented() -> None:
    text = page("config")
    assert all(f"| `{key.section}.{key.name}` |" in text for key in config.all_keys(registry.sections()))
    assert all(f"| `{row.name}` |" in page("metrics") for row in (*TABLE, *registry.metric_rows()))


def test_every_function_for_python_is_described() -> None:
    pytest.importorskip("numpy")  # some names are only imported when they are used
    assert list(EXAMPLES) == [name for name in sorted(dir(slpstream)) if inspect.isfunction(getattr(slpstream, name))]
    assert all(f"\n## {name}\n" in page("python") for name in EXAMPLES)


def test_examples_for_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = tmp_path / "Game_20261121T052951.slp"
    replay.write_bytes(synthetic_match(seed=2, frames=500))
    folder = tmp_path / "main"
    folder.mkdir()
    shutil.copy(replay, folder)
    printed: list[str] = []
    with running(folder) as daemon:
        daemon.wait_ready()
        monkeypatch.chdir(tmp_path)
        text = "\n".join(EXAMPLES.values()).replace("http://127.0.0.1:5151", daemon.url)
        examples = doctest.DocTestParser().get_doctest(text, {"json": json, "slpstream": slpstream}, "page", None, 0)
        failed, attempted = doctest.DocTestRunner().run(examples, out=printed.append)
    assert attempted >= len(EXAMPLES)
    assert not failed, "".join(printed)
