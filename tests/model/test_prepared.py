"""Struct types are prepared for threads while their modules are imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from tests.project import ROOT

SOURCES = sorted((ROOT / "slpstream").rglob("*.py"))
PARAMETERS = {"declared", "described", "kind", "row", "_checked", "_object", "GenericAlias"}
"""Types that are parameters: of `_described_by`, whose calls count; of requests, which only the event loop reads; and
of rows, which are prepared."""

PROGRAM = """
import sys, threading, types
import msgspec
from slpstream.model.prepared import prepared

sys.setswitchinterval(1e-6)
for number in range(400):
    module = types.ModuleType(f"made{number}")
    sys.modules[module.__name__] = module
    source = '''
import msgspec
class Inner(msgspec.Struct):
    words: list[str]
    more: dict[str, int] = {}
class Outer(msgspec.Struct):
    rows: list[Inner]
    last: Inner | None = None
'''
    exec(source, module.__dict__)
    outer = prepared(module.Outer)
    barrier = threading.Barrier(3)
    def decode():
        barrier.wait()
        msgspec.json.decode(b'{"rows": [{"words": ["a"]}, {"words": []}]}', type=outer)
    threads = [threading.Thread(target=decode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("alive")
"""
"""Without `prepared`, this ends with a segmentation fault within a few rounds (msgspec 0.22.0)."""


def test_threads_decode_a_prepared_type_at_the_same_time() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr[-2000:]


def decoded_types(tree: ast.Module) -> Iterator[str]:
    """The names of the types that the functions of a module decode or convert to."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for call in (node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        if name in ("msgspec.json.decode", "msgspec.msgpack.decode"):
            types = [keyword.value for keyword in call.keywords if keyword.arg == "type"]
        elif name in ("msgspec.convert", "_described_by", "read_json", "json_or_none", "converted"):
            types = call.args[1:2]
        else:
            continue
        yield from (node.id for found in types for node in ast.walk(found) if isinstance(node, ast.Name))


def struct_types(trees: Mapping[str, ast.Module]) -> Mapping[tuple[str, str], bool]:
    """Whether a struct type is prepared, by its module and name."""
    made = {
        module: {ast.unparse(node) for node in tree.body if isinstance(node, ast.Expr)}
        for module, tree in trees.items()
    }
    classes = {
        (module, node.name): node
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    names = {"msgspec.Struct"}
    while True:
        found = {
            key: "prepared" in [ast.unparse(each) for each in node.decorator_list]
            or f"msgspec.json.Decoder({node.name})" in made[key[0]]
            for key, node in classes.items()
            if names & {ast.unparse(base) for base in node.bases}
        }
        if {name for _, name in found} <= names:
            return found
        names |= {name for _, name in found}


@pytest.mark.slow
def test_all_decoded_types_are_prepared() -> None:
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    structs = struct_types(trees)
    decoded: set[tuple[str, str]] = set()
    unknown: set[str] = set()
    for module, tree in trees.items():
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for name in decoded_types(tree):
            if name in own and (module, name) not in structs:
                continue  # another kind of type
            found = {(module, name)} & set(structs) or {key for key in structs if key[1] == name}
            decoded |= found
            if not found:
                unknown.add(name)
    assert ("slpstream/model/summary.py", "GameSummary") in decoded, "the calls are found"
    assert {key for key in decoded if not structs[key]} == set()
    assert unknown <= {"dict", "list", "tuple", "str", "int", "bool", "object", "Any", "msgspec", *PARAMETERS}
