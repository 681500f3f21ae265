"""Files of pages that are sent together: the same modules, stylesheets and tables, in few requests."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import msgspec
import pytest

from slpstream.formats.registry import name_folders
from slpstream.parts import registry
from slpstream.web.app import STATIC
from slpstream.web.combined import CombinedFiles
from tests.web.javascript import needs_node
from tests.web.served import Served

FOLDERS = {**{f"names/{name}": folder for name, folder in name_folders().items()}, **registry.static_folders()}
FILES = CombinedFiles(STATIC, FOLDERS)
PATHS = [page.path for page in registry.pages() if "{" not in page.path]
ADDRESS = re.compile(r'(?:href|src)="([^"]*static/[^"]*)"')
MODULES = {
    "main.js": """
import { a, twice as double } from "./lib/a.js";
import "./effect.js";
import {
  c,
} from "./lib/c.js";
console.log(a, double(c), globalThis.effect, new URL("x", import.meta.url).pathname.split("/").at(-1));
const { late } = await import("./late.js");
console.log(late, typeof (await import("node:fs")).readFileSync);
console.log(await import("./missing.js").then(() => "found", () => "missing"));
""",
    "effect.js": 'globalThis.effect = "effect";\n',
    "late.js": """
export default 1;
import { counted, Counter } from "./lib/a.js";
export const late = `late ${await counted()} ${new Counter().count}`;
""",
    "lib/a.js": """
let count = 0;
const one = 1;
export { one as a };
export function twice(x) { return 2 * x; }
export async function counted() { return ++count; }
export class Counter {
  count = count;
}
""",
    "lib/c.js": 'import { a } from "./a.js";\nconst c = a;\nexport {\n  c,\n};\n',
}
"""Everything that modules may do."""


def written(folder: Path, files: dict[str, str]) -> CombinedFiles:
    for name, content in {**files, "combined_modules.js": (STATIC / "combined_modules.js").read_text("utf-8")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return CombinedFiles(folder, {})


@needs_node
def test_combined_script_does_the_same_as_its_modules(tmp_path: Path) -> None:
    files = written(tmp_path, MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "apart").mkdir()
    (tmp_path / "apart" / "combined.mjs").write_text(files.script("main.js").content)
    printed = [
        subprocess.run(["node", tmp_path / name], capture_output=True, text=True, timeout=60, check=True).stdout
        for name in ("main.js", "apart/combined.mjs")
    ]
    assert printed[0] == printed[1] != ""


def test_source_map_leads_to_each_line(tmp_path: Path) -> None:
    files = written(tmp_path, MODULES)
    lines = files.script("main.js").content.split("\n")
    sections = msgspec.json.decode(files.source_map("main.js").content)["sections"]
    for section in sections:
        [name] = section["map"]["sources"]
        originals = MODULES[name].split("\n")
        assert section["map"]["mappings"] == ";".join(["AAAA", *["AACA"] * (len(originals) - 1)])
        for line, original in enumerate(originals, section["offset"]["line"]):
            assert lines[line] == original or re.search(r"import|export|from|console|^  c,|^};?$", original), original
    assert {section["map"]["sources"][0] for section in sections} == set(MODULES)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("\nexport let a = 1;\n", r"other\.js:2: export let a = 1;\nWrite import"),
        ('import * as all from "./main.js";\n', r"other\.js:1: import \* as all"),
        ('import "./main.js"\n', r'other\.js:1: import "\./main\.js"\nWrite'),
        ('export { b } from "./late.js";\n', r"other\.js:1: export { b } from"),
        ("export const b = 1, a = 2;\n", r"other\.js has no single export of a, but main\.js imports it"),
        ('import "./main.js";\nexport const a = 1;\n', r"in a circle: .*other\.js"),
    ],
)
def test_page_whose_modules_cannot_be_combined_gets_them_separately(tmp_path: Path, module: str, message: str) -> None:
    main = 'import { a } from "./other.js";\nconst styles = "late.css";\n'
    files = written(tmp_path, {"main.js": main, "other.js": module, "page.css": "a {}", "late.css": "b {}"})
    with pytest.raises(ValueError, match=message):
        files.modules("main.js")
    warning, script = files.script("main.js").content.rsplit("\n", 2)[:2]
    assert "other.js" in warning
    assert script == 'import "./main.js";'
    assert files.stylesheet(["page.css"], "main.js").content == "a {}"


@pytest.mark.parametrize("prefix", ["", *registry.static_folders()])
def test_every_module_and_stylesheet_can_be_combined(prefix: str) -> None:
    """If it cannot, the message has the file and the line."""
    folder = FOLDERS[prefix] if prefix else STATIC
    for path in folder.rglob("*.*s"):
        address = "/".join(filter(None, [prefix, path.relative_to(folder).as_posix()]))
        if path.suffix == ".js":
            assert FILES.modules(address)
        elif path.suffix == ".css":
            assert "@import" not in FILES.stylesheet([address]).content, f'{address}: write @import "file.css";'


@pytest.mark.parts("dashboard", "wall")
def test_page_has_what_its_modules_load_later() -> None:
    needed = FILES.modules("dashboard/dashboard.js")
    for address in (
        "wall/wall.js", "wall/wall.css", "wall/texts/ja.js", "texts/es.js", "names/slippi/moves.json",
        "icons/glyphs.json",
    ):  # fmt: skip
        assert address in needed


@pytest.mark.trio
@pytest.mark.parametrize("path", PATHS)
async def test_page_needs_one_stylesheet_and_one_script(server: Served, path: str) -> None:
    page = (await server.ask(path)).body.decode()
    addresses = [unescape(address) for address in ADDRESS.findall(page) if not address.endswith(".png")]
    assert re.findall(r"combined\.\w+", " ".join(addresses)) == ["combined.css", "combined.js"]
    for address in (*addresses, addresses[1].replace("combined.js", "combined.map.json")):
        target = urljoin(path, address)
        answer = await server.ask(target)
        assert answer.status == 200
        assert (await server.ask(target, if_none_match=answer.headers["etag"])).status == 304
        head = await server.ask(target, "HEAD")
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(answer.body)))


def test_stylesheets_follow_those_that_they_import(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        {
            "a.css": '@import "look/b.css";\na { background: url("a.png") }',
            "look/b.css": '@import "../c.css";\nb { background: url(b.png) url("data:,") }',
            "c.css": "c {}",
        },
    )
    style = files.stylesheet(["c.css", "a.css", "a.css"]).content
    rules = ("c {}", 'b { background: url("look/b.png") url("data:,") }', 'a { background: url("a.png") }')
    assert style.split() == " ".join(rules).split()


@pytest.mark.trio
@pytest.mark.parametrize(
    "target",
    [
        "js", "js?module=", "js?module=nothing.js", "js?module=../app.py", "map.json?module=nothing.js", "css",
        "css?file=page.css&file=../static/page.css", "css?file=/etc/passwd", "css?file=nothing.css",
    ],
)  # fmt: skip
async def test_what_cannot_be_combined_does_not_exist(server: Served, target: str) -> None:
    assert (await server.ask(f"/static/combined.{target}")).status == 404
