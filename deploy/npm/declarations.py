"""Writes the TypeScript declarations of the npm package.

Run `python deploy/npm/declarations.py` after a change of a message or of `slpstream.js`; a test compares. The messages
are those that Python's type checkers know: `slpstream/web/message_types.pyi`, and the stubs that
`deploy/wheel/stubs.py` makes. The client's own types are in its JSDoc. TypeScript's compiler reads them there
(`npm install --prefix tests/oracles`).
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from slpstream.model.messages import FramesMode
from slpstream.model.topics import TOPICS
from slpstream.stream.subscription import Delivery

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "slpstream/web/static/slpstream.js"
CLIENT_TYPES = ROOT / "deploy/npm/slpstream.d.ts"
MESSAGE_TYPES = ROOT / "deploy/npm/slpstream_types.d.ts"
_STUBS = (ROOT / "slpstream/web/payload_types.pyi", ROOT / "slpstream/web/message_types.pyi")
_MADE = "// Made by deploy/npm/declarations.py.\n"
_TSC = ROOT / "tests/oracles/node_modules/typescript/bin/tsc"
_OPTIONS = "--strict --allowJs --declaration --emitDeclarationOnly --skipLibCheck --target es2023 --module esnext"
_PLAIN = {"int": "number", "float": "number", "str": "string", "bool": "boolean", "Any": "any", "None": "null"}
_MORE = """
/** The daemon refuses something, and closes the connection with the code. */
export interface ErrorMessage {
  type: "error";
  code: number;
  message: string;
}

/** The argument of a client's listeners, by type. `reset` has the station whose log cannot be continued. */
export type Events = { [T in Message["type"]]: Extract<Message, { type: T }> } & {
  message: Message;
  connection: "connecting" | "open" | "waiting" | "closed";
  reset: string;
};
"""


def message_types() -> str:
    """The declarations of all messages."""
    known = [("Topic", TOPICS), ("FramesMode", get_args(FramesMode)), ("Delivery", get_args(Delivery))]
    lines = [f"export type {name} = {' | '.join(map(_quoted, values))};" for name, values in known]
    lines.append('export type StationState = StationMessage["state"];')
    for stub in _STUBS:
        for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
            lines += _declaration(statement, {"StatusMessage": ["ErrorMessage"]})
    return _MADE + "\n".join(lines) + "\n" + _MORE


def client_types(emitted: str) -> str:
    """The declarations that the compiler makes of the client, without comments that belong to no declaration."""

    def kept(comment: re.Match[str]) -> str:
        belongs = "@typedef" not in comment[0] and not emitted.startswith("/**", comment.end())
        return comment[0] if belongs else ""

    text = re.sub(r"/\*\*(?:(?!\*/).)*\*/\n", kept, emitted, flags=re.DOTALL)
    # The compiler's order depends on the other files that it reads.
    return _MADE + re.sub(r'"\w+"(?: \| "\w+")+', lambda found: " | ".join(sorted(found[0].split(" | "))), text)


def _declaration(statement: ast.stmt, more: Mapping[str, list[str]]) -> Iterator[str]:
    match statement:
        case ast.ClassDef(name=name, bases=bases, keywords=keywords, body=body):
            yield from ("", *_comment(ast.get_docstring(statement)))
            parents = [ast.unparse(base) for base in bases if ast.unparse(base) != "TypedDict"]
            yield f"export interface {name} {f'extends {parents[0]} ' if parents else ''}{{"
            yield from _members(body, optional=bool(keywords))
            yield "}"
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, ast.Dict(keys=keys, values=values)])):
            members = [
                f"  {ast.literal_eval(key)}: {_type(value)};" for key, value in zip(keys, values, strict=True) if key
            ]
            yield from ("", f"export interface {name} {{", *members, "}")
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            types = [*map(_type, _alternatives(value)), *more.get(name, ())]
            yield from ("", f"export type {name} =", *(f"  | {each}" for each in types[:-1]), f"  | {types[-1]};")


def _members(body: Iterable[ast.stmt], *, optional: bool) -> Iterator[str]:
    lines: list[str] = []
    for statement in body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                yield from lines
                inner = annotation.slice if _is(annotation, "NotRequired") else None
                mark = "?" if optional or inner else ""
                lines = [f"  {name}{mark}: {_type(inner or annotation)};"]
            case ast.Expr(value=ast.Constant(value=str(text))) if lines:
                lines = [*(f"  {line}" for line in _comment(text)), *lines]
    yield from lines


def _type(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=None):
            return "null"
        case ast.Name(id=name):
            return _PLAIN.get(name, name)
        case ast.BinOp():
            return " | ".join(map(_type, _alternatives(node)))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            return " | ".join(map(_quoted, ast.literal_eval(ast.Tuple(_items(values), ast.Load()))))
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return f"{_type(item)}[]" if "|" not in _type(item) else f"({_type(item)})[]"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
            return f"Record<{_type(key)}, {_type(value)}>"
    raise ValueError(f"no type of TypeScript for {ast.unparse(node)}")


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) == name


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _alternatives(node: ast.expr) -> list[ast.expr]:
    return [*_alternatives(node.left), node.right] if isinstance(node, ast.BinOp) else [node]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _comment(text: str | None) -> list[str]:
    return [f"/** {' '.join(text.split())} */"] if text else []


def main() -> None:
    """Write both files."""
    MESSAGE_TYPES.write_text(message_types(), encoding="utf-8")
    with TemporaryDirectory() as folder:
        command = [
            "node",
            str(_TSC),
            *_OPTIONS.split(),
            "--moduleResolution",
            "bundler",
            "--outDir",
            folder,
            str(CLIENT),
        ]
        subprocess.run(command, check=True)  # noqa: S603
        CLIENT_TYPES.write_text(
            client_types(Path(folder, "slpstream.d.ts").read_text(encoding="utf-8")), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
