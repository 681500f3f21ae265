"""The texts of the pages: three languages with the same keys and placeholders, chosen by the reader."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from slpstream.parts.registry import static_folders
from slpstream.sets.changes import ChangedField
from slpstream.sets.verdicts import Verdict
from slpstream.web.app import STATIC
from tests.web import javascript
from tests.web.javascript import needs_node

pytestmark = needs_node

LANGUAGES = ("en", "ja", "es")
FOLDERS = ("", *(name for name, folder in static_folders().items() if (folder / "texts").is_dir()))
"""Core, and the parts that have texts."""
LOAD = """
const tables = {};
for (const folder of given.folders) {
  for (const language of given.languages) {
    (tables[language] ??= []).push(...Object.entries((await import(`./${folder}texts/${language}.js`)).default));
  }
}
return tables;
"""
PLACE = re.compile(r"\{(\w+)\}")
USED = re.compile(r"""\btext\(\s*"([\w.-]+)"|\bdata-text(?:-[a-z-]+)?="([\w.-]+)\"""")


def load(*names: str) -> Any:
    """The texts of core and these parts by language and key."""
    loaded = javascript.run(LOAD, {"folders": ["", *(f"{name}/" for name in names)], "languages": LANGUAGES})
    tables = {language: dict(entries) for language, entries in loaded.items()}
    assert all(len(table) == len(loaded[language]) for language, table in tables.items()), (
        "a part has a key of the core"
    )
    return tables


def _places(entry: str | dict[str, str]) -> set[str]:
    texts = [entry] if isinstance(entry, str) else list(entry.values())
    return {place for text in texts for place in PLACE.findall(text)}


@pytest.mark.parametrize("language", LANGUAGES[1:])
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_language_has_the_same_keys_and_placeholders(folder: str, language: str) -> None:
    tables = load(*([folder] if folder else []))
    assert list(tables[language]) == list(tables["en"])
    different = {
        key
        for key, entry in tables["en"].items()
        if _places(entry) - {"count"} != _places(tables[language][key]) - {"count"}
    }
    assert different == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_pages_name_only_keys_that_exist(folder: str) -> None:
    """The pages of a part use the texts of the core and their own."""
    files = static_folders().get(folder, STATIC)
    used = {
        first or second
        for path in [*files.rglob("*.js"), *files.rglob("*.html")]
        for first, second in USED.findall(path.read_text(encoding="utf-8"))
    }
    assert used - set(load(*([folder] if folder else []))["en"]) == set()


@pytest.mark.parts("dashboard")
def test_panel_has_words_for_every_change_and_verdict() -> None:
    fields = {f"panel.field_{field}" for field in get_args(ChangedField)}
    verdicts = {f"panel.verdict_{verdict}" for verdict in get_args(Verdict)}
    states = {f"panel.state_{state}" for state in ("upcoming", "running", "over")}
    assert (fields | verdicts | states) - set(load("dashboard")["en"]) == set()


def test_language_is_chosen_by_address_then_dashboard_then_browser() -> None:
    """Rows: the language of the address, of the dashboard, and those of the browser; and the chosen one."""
    cases: list[tuple[list[Any], str]] = [
        (["", None, []], "en"),
        (["", None, ["fr-FR", "ja-JP", "en"]], "ja"),
        (["", None, ["es-MX"]], "es"),
        (["", "ja", ["es"]], "ja"),
        (["?lang=es", "ja", ["en"]], "es"),
        (["?lang=tlh", None, ["ja"]], "ja"),
        (["?lang=EN-us", "ja", []], "en"),
    ]
    script = """
      const { chooseLanguage } = await import("./texts/texts.js");
      return given.map((all) => chooseLanguage(...all));
    """
    assert javascript.run(script, [given for given, _ in cases]) == [chosen for _, chosen in cases]
