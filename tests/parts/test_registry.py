"""The registry of parts: declarations are cheap, complete, and known to nobody in the core."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pkgutil import resolve_name

import pytest

from slpstream.parts import registry
from slpstream.parts.interface import Part
from tests.marks import of_part
from tests.project import ROOT

PACKAGE = ROOT / "slpstream"
NAMES = sorted(path.parent.name for path in PACKAGE.glob("parts/*/part.py"))
HEAVY = ("trio", "starlette", "prometheus_client", "websockets", "numpy", "h11", "structlog", "slpstream.stream")


def loaded_after(statement: str) -> list[str]:
    """The modules that a statement loads in a new process."""
    code = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stdout)
    return modules


def test_each_folder_declares_a_part_of_its_name() -> None:
    assert len(NAMES) > 5
    assert [part.name for part in registry.parts()] == NAMES


@pytest.mark.process
def test_declarations_are_cheap_to_import() -> None:
    loaded = loaded_after("from slpstream.parts import registry; registry.parts()")
    assert not [name for name in loaded if name.split(".")[0] in HEAVY or name.startswith(HEAVY[-1])]
    machinery = [name for name in loaded if re.match(r"slpstream\.parts\.\w+\.(?!part$)", name)]
    assert machinery == []


@pytest.mark.process
def test_daemon_imports_no_part() -> None:
    loaded = loaded_after("import slpstream.daemon.daemon")
    assert [name for name in loaded if re.match(r"slpstream\.parts\.(?!interface$|registry$|services$)", name)] == []


def test_core_names_no_part() -> None:
    named = re.compile(rf"slpstream[./]parts[./]({'|'.join(NAMES)})\b")
    core = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "parts")]
    assert [str(path) for path in core if named.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("part", registry.parts(), ids=lambda part: part.name)
def test_references_can_be_resolved(part: Part) -> None:
    references = [part.start, part.endpoints, *(section.check for section in part.sections)]
    references += [command.click for command in part.commands]
    for reference in filter(None, references):
        assert callable(resolve_name(reference)), reference
    for page in part.pages:
        assert (PACKAGE / "parts" / part.name / "static" / page.file).is_file()


@pytest.mark.process
@pytest.mark.parts("export")
def test_command_of_a_part_of_its_name_starts_without_the_others() -> None:
    loaded = loaded_after("from slpstream.parts import registry; assert registry.command('export')")
    assert [name for name in loaded if re.fullmatch(r"slpstream\.parts\.\w+\.part", name)] == [
        "slpstream.parts.export.part"
    ]
    assert "msgspec" not in loaded


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("unpack", marks=pytest.mark.parts("pack")),
        pytest.param("obs-scenes", marks=pytest.mark.parts("obs")),
        of_part("stats"),
    ],
)
def test_commands_are_found_by_name(name: str) -> None:
    command = registry.command(name)
    assert command is not None
    assert command.name == name
    assert registry.commands()[name] == command


@pytest.mark.parametrize("name", ["", "interface", "archives", "../parts", "nothing"])
def test_unknown_commands(name: str) -> None:
    assert registry.command(name) is None
