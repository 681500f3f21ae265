"""The manual page of all commands is current, and valid according to man."""

from __future__ import annotations

import importlib.util
import subprocess

import click

from slpstream.cli import cli
from tests.deploy.tools import needs
from tests.project import ROOT

PROGRAM = ROOT / "deploy/wheel/manual.py"
PAGE = PROGRAM.with_name("slpstream.1")


def test_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("manual", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    manual = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(manual)
    assert PAGE.read_text(encoding="utf-8") == manual.page(), "run python deploy/wheel/manual.py"


def test_page_has_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\", "")
    for name in cli.list_commands(click.Context(cli)):
        assert f"\n.SS slpstream {name} " in text


@needs("groff")
def test_page_is_valid() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-z", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
