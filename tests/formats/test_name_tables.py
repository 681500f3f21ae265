"""The tables of names: their form, when they are read, and that the code does not repeat their names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slpstream.formats.registry import name_folders
from tests.project import ROOT

SOURCES = ROOT / "slpstream"
FILES = sorted(path for folder in name_folders().values() for path in folder.glob("*.json"))
DATA_FILES = [*FILES, SOURCES / "tournament" / "bracket" / "startgg" / "ids.json"]
CONFIDENCES = {"documented", "observed", "guessed"}

ENGLISH_WORDS = {"Damage", "game", "items", "left", "none", "online", "right", "start", "unknown", "versus"}
"""Names that are also ordinary words, and occur as such in both Python and JavaScript."""
WORDS_OF_THE_PAGES = {"Default", "Escape", "TH"}
"""Literals in JavaScript that only look like names: the costume without a colour, a key, and a tag."""


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return content


def tables(content: dict[str, Any]) -> list[dict[str, Any]]:
    return list(content["tables"].values()) if "tables" in content else [content]


def is_text(value: Any) -> bool:
    """Whether a value is a non-empty text, or the lines of one."""
    lines = value if isinstance(value, list) else [value]
    return bool(lines) and all(isinstance(line, str) and line.strip() for line in lines)


def test_formats_have_tables() -> None:
    assert set(name_folders()) >= {"slippi", "gci", "stunts", "mk8"}
    assert len(FILES) > 15


@pytest.mark.parametrize("path", DATA_FILES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_file_has_a_description_a_source_and_a_confidence(path: Path) -> None:
    content = read(path)
    assert is_text(content["about"])
    assert is_text(content["source"])
    assert content["confidence"] in CONFIDENCES
    assert ("rows" in content) != ("tables" in content)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_tables_have_the_documented_form(path: Path) -> None:
    for table in tables(read(path)):
        assert is_text(table["about"])
        assert table.keys() <= {
            *("about", "source", "confidence", "observed", "columns", "rows"),
            *(("blocks", "fighters") if path.stem == "action_states" else ()),
        }
        columns = table.get("columns", {})
        for column in columns.values():
            assert is_text(column["about"])
            assert column.keys() <= {"about", "source", "confidence"}
            assert is_text(column.get("source", "none"))
            assert column.get("confidence", "documented") in CONFIDENCES
        rows = table.get("rows", {})
        assert {str(number) for number in table.get("observed", ())} <= rows.keys()
        for row in rows.values():
            assert row.keys() - {"name", "confidence"} <= columns.keys()
            assert row.get("confidence", "documented") in CONFIDENCES
            assert is_text(row.get("name", "none"))


@pytest.mark.slow
def test_wheel_has_all_tables(tmp_path: Path) -> None:
    build = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {str(path.relative_to(ROOT)) for path in DATA_FILES} <= set(archive.namelist())


def test_tables_are_read_on_first_use() -> None:
    program = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import slpstream.formats.slippi.reader
assert "slpstream.formats.slippi.names" not in sys.modules
import slpstream.formats.registry
from slpstream.formats.slippi import names
assert not [path for path in opened if path.endswith(".json")]
names.stage_name(31), names.stage_name(32)
assert len([path for path in opened if path.endswith(".json")]) == 1
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def names() -> set[str]:
    """All names in the tables: of rows, in other columns of names, and of blocks."""

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for item in value:
                yield from texts(item)

    found: set[str] = set()
    for path in FILES:
        for table in tables(read(path)):
            for row in table.get("rows", {}).values():
                for column in ("name", "short_name", "pilot", "costumes"):
                    found.update(texts(row.get(column)))
            for block in table.get("blocks", {}).values():
                found.update(block)
    return found


def python_literals() -> set[str]:
    """All strings in Python, without docstrings."""
    literals: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        strings = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docstrings]
        literals |= {node.value for node in strings if isinstance(node.value, str)}
    return literals


def page_text() -> str:
    files = (SOURCES / "web" / "static").rglob("*")
    paths = [path for path in files if path.is_file() and path.suffix not in (".png", ".woff2")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.slow
@pytest.mark.sweep
def test_no_name_is_in_both_python_and_javascript() -> None:
    pages = page_text()
    page_literals = {text[1:-1] for text in re.findall(r'"[^"\n]*"|\'[^\'\n]*\'|`[^`$]*`', pages)}
    in_both = names() & python_literals() & page_literals
    assert in_both <= ENGLISH_WORDS | WORDS_OF_THE_PAGES
    capitalised = {name for name in names() if not name.islower() and len(name) > 1}
    assert capitalised & page_literals <= WORDS_OF_THE_PAGES, "pages read names from the tables"

    # The same for comments and longer texts. A name of one word can be an ordinary word there ("Wait").
    longer = sorted((name for name in capitalised if " " in name), key=len, reverse=True)
    in_text = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longer))})(?!\w)")
    python = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    assert {*in_text.findall(pages)} & {*in_text.findall(python)} == set()
