"""All names in the pages exist: commands with their options, modules, files, keys, metrics and endpoints.

`test_commands.py` runs the blocks of commands. Commands in sentences and tables have placeholders, so they are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from slpstream import config
from slpstream.cli import check_config, cli
from slpstream.model.version import __version__
from slpstream.parts import registry
from slpstream.parts.api_docs import openapi
from slpstream.system import metrics
from slpstream.web.app import described_endpoints
from tests.docs.pages import DOCUMENTS, Block, blocks, code_in_text
from tests.project import ROOT, deleted_part

CODE = sorted({code for page in DOCUMENTS for code in code_in_text(page)})
KEYS = {f"{key.section}.{key.name}" for key in config.all_keys(registry.sections())}
SECTIONS = {key.section for key in config.all_keys(registry.sections())}
WEBSOCKET = "/v1/stream"
PLACEHOLDER = re.compile(r"NAME|VERSION|\.\.\.")
COMMAND = re.compile(rf"\bslpstream ({'|'.join(cli.list_commands(click.Context(cli)))})\b([^;&]*)")


def named_commands() -> Iterator[tuple[str, str]]:
    """Name and arguments of the commands of slpstream in sentences and tables."""
    for code in CODE:
        yield from COMMAND.findall(code)


def test_search_finds_enough_names() -> None:
    assert len(list(named_commands())) > 15
    assert len(CODE) > 500


@pytest.mark.parametrize(("name", "arguments"), sorted(set(named_commands())))
def test_options_of_commands_exist(name: str, arguments: str) -> None:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    options = {opt for each in command.params for opt in each.opts}
    assert {each for each in arguments.split() if each.startswith("-")} <= options | {"--help"}
    if name == "reference" and arguments:
        from slpstream.parts.reference.cli import PAGES as REFERENCE

        assert set(arguments.split()) <= set(REFERENCE)


@pytest.mark.parametrize(
    "code", [code for code in CODE if "-m tests." in code or re.search(r"\bpytest .*tests/", code)]
)
def test_modules_and_tests_exist(code: str) -> None:
    for module in re.findall(r"-m (tests[\w.]*)", code):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
    for path in re.findall(r"\btests/[\w/.]+", code):
        assert (ROOT / path).exists() or deleted_part(path) is not None


def test_files_exist() -> None:
    named = [code for code in CODE if re.match(r"(?:docs|slpstream|tests|deploy|\.ci)/[\w/.*-]+$", code)]
    assert len(named) > 30
    checked = [code for code in named if not PLACEHOLDER.search(code) and deleted_part(code) is None]
    assert not [code for code in checked if not list(ROOT.glob(code.rstrip("/")))]


@pytest.mark.parts("consoles")  # several pages name its keys
def test_keys_exist() -> None:
    named = {(code, *found.groups()) for code in CODE if (found := re.match(r"(\w+)\.(\w+)(?: =.*)?$", code))}
    keys = {f"{section}.{key}" for _, section, key in named if section in SECTIONS}
    assert len(keys) > 10
    assert keys <= KEYS


def test_metrics_exist() -> None:
    named = {name for code in CODE for name in re.findall(r"^slpstream_\w+(?=$|\{)", code)}
    assert len(named) > 10
    assert named <= {row.name for row in (*metrics.TABLE, *registry.metric_rows())}


def test_endpoints_exist() -> None:
    there = {WEBSOCKET, *openapi.document(described_endpoints(registry.endpoints({})), __version__)["paths"]}
    named = {path for code in CODE for path in re.findall(r"^(?:[A-Z]+ )?(/v1/[\w/{}]*)$", code)}
    assert len(named) > 5
    templates = {path.replace("/stations/main/", "/stations/{station}/") for path in named}
    assert templates <= there


@pytest.mark.parametrize(
    "block", [block for block in blocks("toml") if "[build-system]" not in block.text], ids=lambda block: block.page
)
def test_configurations_pass_check_config(block: Block, tmp_path: Path) -> None:
    """Each example is a whole configuration. The files and folders that it names are made first."""
    text = with_files(block.text, tmp_path / "machine")
    file = tmp_path / "slpstream.toml"
    file.write_text(text, encoding="utf-8")
    checked = CliRunner().invoke(check_config.command, [str(file)])
    assert checked.exit_code == 0, checked.exception


def with_files(text: str, root: Path) -> str:
    """The example with its paths below `root`, where its files have one line and its folders exist."""

    def moved(key: str, path: str) -> str:
        place = root / re.sub(r"^(?:~|[A-Z]:)", "", path).replace("\\", "/").strip("/")
        is_file = key.endswith("_file") or key in {"file", "model"}
        (place.parent if is_file else place).mkdir(parents=True, exist_ok=True)
        if is_file:
            models = ROOT.glob("slpstream/parts/*/model.json") if key == "model" else ()
            place.write_bytes(next((model.read_bytes() for model in models), b"https://example.org/a-secret\n"))
            place.chmod(0o600)
        return f"{key} = '{place}'"

    paths = r"""^(\w+) = (["'])((?:/|~|[A-Z]:).*?)\2"""
    return re.sub(paths, lambda found: moved(found[1], found[3]), text, flags=re.MULTILINE)
