"""The structure of slpstream: its packages, no circular imports, short import chains, no unused code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
import pytest

from tests.project import ROOT, deleted_part
from tests.unused_names import USED_ELSEWHERE

PACKAGE = ROOT / "slpstream"
MAX_PACKAGES = 13
MAX_CHAIN = 14

Imports = Mapping[str, frozenset[str]]


@pytest.fixture(scope="module")
def imports() -> Imports:
    """The modules that each module imports, including imports in functions."""
    graph = grimp.build_graph("slpstream", cache_dir=None, exclude_type_checking_imports=True)
    return {module: frozenset(graph.find_modules_directly_imported_by(module)) for module in sorted(graph.modules)}


def cycles(imports: Imports) -> list[list[str]]:
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
    """The length of the longest chain of imports. Each cycle is followed for one step only."""
    known: dict[str, list[str]] = {}

    def chain_of(module: str, above: frozenset[str]) -> list[str]:
        if module not in known:
            below = [chain_of(other, above | {module}) for other in sorted(imports[module] - above)]
            known[module] = [module, *max(below, key=len, default=[])]
        return known[module]

    return max((chain_of(module, frozenset({module})) for module in imports), key=len)


def test_cycles_and_chains_are_found() -> None:
    example = {"a": {"b"}, "b": {"c", "d"}, "c": {"d"}, "d": set[str](), "e": {"f"}, "f": {"e"}}
    frozen = {module: frozenset(others) for module, others in example.items()}
    assert cycles(frozen) == [["e", "f"]]
    assert max_chain(frozen) == ["a", "b", "c", "d"]


def test_top_level_has_only_packages_and_five_files() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {
        *("__init__.py", "__init__.pyi", "__main__.py", "api.py", "py.typed"),
    }
    assert len(packages()) <= MAX_PACKAGES


def packages() -> list[str]:
    return sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())


def test_contributing_describes_every_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)) == packages()


def test_modules_are_named_after_things() -> None:
    banned = {"utils", "util", "helpers", "helper", "manager", "handler", "handlers", "common", "misc"}
    assert not banned & {path.stem for path in PACKAGE.rglob("*.py")}


def test_imports_have_no_cycles(imports: Imports) -> None:
    assert cycles(imports) == []


def test_import_chains_are_short(imports: Imports) -> None:
    chain = max_chain(imports)
    assert len(chain) <= MAX_CHAIN, "\n".join(chain)


def unused() -> Iterator[tuple[str, str]]:
    """Names that are unused in the package, with their modules.

    Fields of classes are excluded, because messages and rows of tables are used as a whole. So are names that the
    declaration of a part refers to.
    """
    declarations = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("parts/*/part.py"))
    referred = set(re.findall(r'"slpstream\.([\w.]+:\w+)"', declarations))
    done = subprocess.run(
        [sys.executable, "-m", "vulture", PACKAGE.name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3), done.stderr
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"(.*?):(\d+): (unused|unreachable) (\w+)(?: '(\w+)')?.*", line)
        assert found is not None, line
        path, number, _, kind, name = found.groups()
        module = Path(path).relative_to(PACKAGE.name).as_posix()
        is_field = kind == "variable" and int(number) in _field_lines(ROOT / path)
        if name != "PART" and not is_field and f"{module.removesuffix('.py').replace('/', '.')}:{name}" not in referred:
            yield module, name


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
def test_unused_names_have_been_reviewed() -> None:
    found = set(unused())
    reviewed = {
        (module, name)
        for module, names in USED_ELSEWHERE.items()
        for name in names
        if deleted_part(f"slpstream/{module}") is None
    }
    assert sorted(found - reviewed) == []
    assert sorted(reviewed - found) == [], "used again: remove from the list"
