"""The structure of the package: rooms, no circular imports, short import chains, no unused code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
import pytest

from tests.project import ROOT
from tests.unused_names import USED_ELSEWHERE

PACKAGE = ROOT / "slpstream"
MAX_ROOMS = 21
MAX_CHAIN = 19

Imports = Mapping[str, frozenset[str]]


@pytest.fixture(scope="module")
def imports() -> Imports:
    """The modules that each module imports, including imports in functions and for type checkers only."""
    graph = grimp.build_graph("slpstream", cache_dir=None)
    return {module: frozenset(graph.find_modules_directly_imported_by(module)) for module in sorted(graph.modules)}


def circles(imports: Imports) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others."""
    reached = {module: set(_reach(module, imports)) for module in imports}
    found = {tuple(sorted(other for other in reached[module] if module in reached[other])) for module in imports}
    return sorted([*group] for group in found if group)


def _reach(start: str, imports: Imports) -> Iterator[str]:
    waiting, seen = list(imports[start]), set[str]()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            yield module
            waiting += imports[module]


def max_chain(imports: Imports) -> list[str]:
    """The longest chain of imports. Each circle is followed for one step only."""
    known: dict[str, list[str]] = {}

    def chain_of(module: str, above: frozenset[str]) -> list[str]:
        if module not in known:
            below = [chain_of(other, above | {module}) for other in sorted(imports[module] - above)]
            known[module] = [module, *max(below, key=len, default=[])]
        return known[module]

    return max((chain_of(module, frozenset({module})) for module in imports), key=len)


def test_circles_and_chains_are_found() -> None:
    example = {"a": {"b"}, "b": {"c", "d"}, "c": {"d"}, "d": set[str](), "e": {"f"}, "f": {"e"}}
    frozen = {module: frozenset(others) for module, others in example.items()}
    assert circles(frozen) == [["e", "f"]]
    assert max_chain(frozen) == ["a", "b", "c", "d"]


def test_top_level_has_only_rooms_and_four_files() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {
        *("__init__.py", "__main__.py", "api.py", "py.typed"),
    }
    assert len(rooms()) <= MAX_ROOMS


def rooms() -> list[str]:
    return sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())


def test_contributing_describes_every_room() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)) == rooms()


def test_modules_are_named_after_things() -> None:
    banned = {"utils", "util", "helpers", "helper", "manager", "handler", "handlers", "common", "misc"}
    assert not banned & {path.stem for path in PACKAGE.rglob("*.py")}


def test_imports_have_no_circles(imports: Imports) -> None:
    assert circles(imports) == []


def test_import_chains_are_short(imports: Imports) -> None:
    chain = max_chain(imports)
    assert len(chain) <= MAX_CHAIN, "\n".join(chain)


def unused() -> Iterator[tuple[str, str]]:
    """Names that are unused in the package, with their modules.

    Fields of classes are left out, because messages and rows of tables are used as a whole.
    """
    done = subprocess.run(
        [sys.executable, "-m", "vulture", PACKAGE.name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3), done.stderr
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"(.*?):(\d+): (unused|unreachable) (\w+)(?: '(\w+)')?.*", line)
        assert found is not None, line
        path, number, _, kind, name = found.groups()
        if kind != "variable" or int(number) not in _field_lines(ROOT / path):
            yield Path(path).relative_to(PACKAGE.name).as_posix(), name


def _field_lines(path: Path) -> set[int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {
        statement.lineno
        for node in classes
        for statement in node.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
    }


@pytest.mark.slow
def test_unused_names_are_the_reviewed_ones() -> None:
    found = set(unused())
    reviewed = {(module, name) for module, names in USED_ELSEWHERE.items() for name in names}
    assert sorted(found - reviewed) == []
    assert sorted(reviewed - found) == [], "used again: remove from the list"
