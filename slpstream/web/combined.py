"""Files of pages that are sent together, so that a page needs few requests.

The pages are written as many small modules, stylesheets and tables, and each of these files is also served by itself.
These addresses have several of them:

- `/static/combined.js?module=wall/wall.js`: a module, with everything that it imports or may load later
- `/static/combined.css?file=page.css&module=wall/wall.js`: stylesheets, and those that the modules may load later

A module may load the modules, stylesheets and tables of which it has the address in a string. In a combined script,
each module is a function that returns its exports, and `combined_modules.js` runs it when it is first imported. The
source map leads developer tools to the separate files. If one of the modules has a statement that we can't rewrite, the
script imports the separate modules instead, and the browser's console says why.
"""

from __future__ import annotations

import functools
import io
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec
import trio
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from slpstream.web.assets import MEDIA_TYPES
from slpstream.web.file_response import OpenFileResponse

_LANGUAGES = ("en", "ja", "es")
_ADDRESS = re.compile(r"[\w-]+(?:/[\w-]+)*\.(?:css|js|json)", re.ASCII)
_IMPORT = re.compile(r'^import (?:\{([\w\s,]*)\} from )?"(\.[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:default |((?:async )?function|class|const) (\w+))", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{([\w\s,]*)\};$", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b(?!\().*", re.MULTILINE)
_RULE = 'Write import { a, b as c } from "./file.js"; and export const, function, class or { a, b as c };'
_DYNAMIC_IMPORT = re.compile(r"\bimport\(")
_MENTIONED = re.compile(r'"([\w./-]+\.(?:css|js|json))"(?!\)\.[A-Z])')
"""The lookahead leaves out the types of other modules in comments."""
_CSS_IMPORT = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)
_CSS_URL = re.compile(r"""url\((["']?)(?![a-z]+:|[#/])([^"')]+)\1\)""")


class _Combined(NamedTuple):
    content: str
    modified_seconds: float
    """When one of the files was last modified."""


class _Module(NamedTuple):
    """A module as a function of a combined script, or another file that modules may load, as it is."""

    body: str
    """It has as many lines as the file."""
    modified_seconds: float
    exported: Mapping[str, str] = {}
    """The names inside the module, by the names that others import."""
    imports: Mapping[str, Sequence[str]] = {}
    """The names that it imports at its start, by the address of the module that exports them."""
    mentions: Sequence[str] = ()
    """The addresses of what it may load later. Not all of them exist."""


class CombinedFiles:
    """The static files of some folders, which can be sent together. All methods but `routes` block.

    They raise `OSError` if a file cannot be read, and `ValueError` if there can't be a file with the given address.
    """

    def __init__(self, static: Path, folders: Mapping[str, Path]) -> None:
        """`folders` are further ones, by their names below `/static/`."""
        self._static, self._folders = static, folders

    def routes(self, root: str) -> list[Route]:
        """Return the routes to the combined files, below the path of the static files."""

        def route(name: str, combine: Callable[[QueryParams], _Combined]) -> Route:
            kind = MEDIA_TYPES[Path(name).suffix]
            fields = {"content-type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind}

            async def respond(request: Request) -> Response:
                try:
                    content, modified_seconds = await trio.to_thread.run_sync(combine, request.query_params)
                except (OSError, ValueError):
                    raise HTTPException(404) from None
                data = content.encode()
                return OpenFileResponse(request, io.BytesIO(data), len(data), modified_seconds, fields)

            return Route(f"{root}/{name}", respond)

        return [
            route("combined.js", lambda query: self.script(query.get("module", ""))),
            route("combined.map.json", lambda query: self.source_map(query.get("module", ""))),
            route("combined.css", lambda query: self.stylesheet(query.getlist("file"), query.get("module", ""))),
        ]

    def script(self, entry: str) -> _Combined:
        """Return the script that runs the given module, together with all modules that it needs."""
        modified = self._read(entry).modified_seconds
        try:
            modules = self.modules(entry)
        except (OSError, ValueError) as error:
            reason = msgspec.json.encode(f"The modules of this page are loaded one by one. {error}").decode()
            return _Combined(f'console.warn({reason});\nimport "./{entry}";\n', modified)
        head, modified = self._read("combined_modules.js")
        pieces = [head, "await runModules({\n"]
        for address, module in modules.items():
            if address.endswith(".js"):
                returned = ", ".join(f"{name}: {inside}" for name, inside in module.exported.items())
                pieces.append(f'"{address}": async ($) => {{\n{module.body}\nreturn {{ {returned} }};\n}},\n')
        tables = ",".join(f'"{each}":{table.body}' for each, table in modules.items() if each.endswith(".json"))
        source_map = f"combined.map.json?module={quote(entry)}"
        pieces.append(f'}}, {{ {tables} }}, "{entry}");\n//# sourceMappingURL={source_map}\n')
        return _Combined("".join(pieces), max(modified, *(module.modified_seconds for module in modules.values())))

    def source_map(self, entry: str) -> _Combined:
        """Return the source map of a script. It maps whole lines, and has a section for each module."""
        modules, sections = self.modules(entry), []
        line = self._read("combined_modules.js").content.count("\n") + 1
        for address, module in modules.items():
            if address.endswith(".js"):
                mappings = ";AACA".join(["AAAA", *[""] * module.body.count("\n")])
                mapped = {"version": 3, "sources": [address], "names": [], "mappings": mappings}
                sections.append({"offset": {"line": line + 1, "column": 0}, "map": mapped})
                line += module.body.count("\n") + 4
        described = msgspec.json.encode({"version": 3, "sections": sections}).decode()
        return _Combined(described, max(module.modified_seconds for module in modules.values()))

    def stylesheet(self, files: Sequence[str], entry: str = "") -> _Combined:
        """Return some stylesheets in their order, and then those that a module may load, each after what it imports."""
        seen: dict[str, _Combined] = {}

        def add(address: str) -> None:
            if address not in seen:
                source, modified = self._read(address)
                folder = posixpath.dirname(address)
                for name in _CSS_IMPORT.findall(source):
                    add(_joined(folder, name))
                source = _CSS_URL.sub(lambda found: f'url("{_joined(folder, found[2])}")', _CSS_IMPORT.sub("", source))
                seen[address] = _Combined(source, modified)

        for address in files:
            add(address)
        try:
            loaded = self.modules(entry) if entry else {}
        except (OSError, ValueError):
            loaded = {}  # the separate modules load them
        for address in loaded:
            if address.endswith(".css"):
                add(address)
        return _Combined("\n".join(each.content for each in seen.values()), max(each[1] for each in seen.values()))

    def modules(self, entry: str) -> dict[str, _Module]:
        """Return the modules, stylesheets and tables that a module needs, by address.

        Raises `ValueError` for a statement that we can't rewrite. The message has the file, the line and the reason.
        """
        found: dict[str, _Module] = {}
        waiting = [(entry, True)]
        for address, is_imported in waiting:
            if address in found:
                continue
            try:
                read = self._read(address)
            except (OSError, ValueError):
                if is_imported:
                    raise
                continue
            found[address] = module = _module(address, *read) if address.endswith(".js") else _Module(*read)
            waiting += [*((each, True) for each in module.imports), *((each, False) for each in module.mentions)]
        for address, module in found.items():
            for target, names in module.imports.items():
                if missing := [name for name in names if name not in found[target].exported]:
                    raise ValueError(f"{target} has no single export of {', '.join(missing)}, but {address} imports it")
        try:
            TopologicalSorter({address: module.imports for address, module in found.items()}).prepare()
        except CycleError as error:
            raise ValueError(f"modules import each other in a circle: {', '.join(error.args[1])}") from None
        return found

    def _read(self, address: str) -> _Combined:
        if not _ADDRESS.fullmatch(address):
            raise ValueError(address)
        name = next((each for each in self._folders if address.startswith(f"{each}/")), None)
        path = self._static / address if name is None else self._folders[name] / address[len(name) + 1 :]
        return _Combined(path.read_text("utf-8"), path.stat().st_mtime)


@functools.lru_cache(maxsize=512)
def _module(address: str, source: str, modified_seconds: float) -> _Module:
    folder = posixpath.dirname(address)
    exported: dict[str, str] = {}
    imports: dict[str, list[str]] = {}

    def rewrite_import(found: re.Match[str]) -> str:
        names, target = found[1] or "", _joined(folder, found[2])
        imports.setdefault(target, []).extend(name for name, _ in _pairs(names))
        return f'const {{{names.replace(" as ", ": ")}}} = await $.run("{target}");'

    def rewrite_export(found: re.Match[str]) -> str:
        name = found[2] or "$default"
        exported[found[2] or "default"] = name
        return f"{found[1]} {name}" if found[1] else f"const {name} = "

    def rewrite_list(found: re.Match[str]) -> str:
        exported.update((alias, name) for name, alias in _pairs(found[1]))
        return "\n" * found[0].count("\n")

    body = _EXPORT_LIST.sub(rewrite_list, _EXPORT.sub(rewrite_export, _IMPORT.sub(rewrite_import, source)))
    if left := _LEFT.search(body):
        raise ValueError(f"{address}:{body.count(chr(10), 0, left.start()) + 1}: {left[0]}\n{_RULE}")
    body = _DYNAMIC_IMPORT.sub("$.import(", body.replace("import.meta", "$"))
    mentioned = _MENTIONED.findall(source)
    if "addTexts(" in source:
        mentioned += [f"{place}{language}.js" for place in ("texts/", "") for language in _LANGUAGES]
    mentions = [each for name in mentioned for each in (_joined(folder, name), name)]
    return _Module(body, modified_seconds, exported, imports, mentions)


def _pairs(listed: str) -> Iterator[tuple[str, str]]:
    """Yield the names in the braces of an import or export, each with its new name."""
    for each in filter(None, map(str.strip, listed.split(","))):
        name, _, alias = each.partition(" as ")
        yield name, alias or name


def _joined(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, address))
