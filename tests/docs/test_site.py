"""The site builds without a warning, links lead to files of the checkout, and all pages are in the navigation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from slpstream.parts.reference.cli import PAGES
from tests.docs import reference_pages
from tests.docs.pages import DOCS, DOCUMENTS, GENERATED, OF_PARTS, WITH_README, links
from tests.project import IN_CI, ROOT, deleted_part

CONFIG = ROOT / "mkdocs.yml"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None and not IN_CI, reason="no mkdocs; run: uv run --group docs pytest")
def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert {path.stem for path in (site / "reference").glob("*.html")} >= set(reference_pages.FILES)
    for source, place in OF_PARTS.items():
        title = (ROOT / source).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        assert f">{title}<" in (site / place).with_suffix(".html").read_text(encoding="utf-8")
    colours = (site / "look" / "colours.css").read_text(encoding="utf-8")
    assert re.findall(r'"(slate|default)"\] \{\s*--page: (#\w+);', colours) == [
        ("slate", "#0e1117"),
        ("default", "#f3f5f9"),
    ]
    for address in re.findall(r'url\("([^"]+)"\)', (site / "look" / "fonts" / "fonts.css").read_text(encoding="utf-8")):
        assert (site / "look" / "fonts" / address).is_file(), address
    for page in site.rglob("*.html"):
        # A browser would load these automatically. The site works without a network.
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)"', page.read_text(encoding="utf-8"))
        assert not [address for address in loaded if address.startswith(("http:", "https:", "//"))], page


@pytest.mark.slow  # a page is not current if a part was deleted
@pytest.mark.parametrize("name", PAGES)
def test_reference_page_is_current(name: str) -> None:
    text = reference_pages.FILES[name].read_text(encoding="utf-8")
    assert text == reference_pages.page(name), "run python -m tests.docs.reference_pages"


def headings(page: Path) -> set[str]:
    """The headings of a page, as a forge names them in links."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize(
    "page", [*DOCUMENTS, *GENERATED, ROOT / "CHANGELOG.md"], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_links_lead_to_files_and_headings_of_the_checkout(page: Path) -> None:
    missing = []
    for link in links(page):
        target, _, heading = link.target.partition("#")
        if re.match(r"https?:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        if path.is_relative_to(ROOT) and deleted_part(path.relative_to(ROOT).as_posix()) is not None:
            continue
        if not path.exists() or (heading and path.suffix == ".md" and heading not in headings(path)):
            missing.append(link.target)
    assert not missing


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"(\S+\.md)$", CONFIG.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == len(set(named))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(named) == there
    folders = {path.partition("/")[0] for path in named}
    assert {path.partition("/")[0] for path in OF_PARTS.values()} <= folders  # the hook adds the texts of parts


def test_every_page_of_a_part_is_declared() -> None:
    found = {page.relative_to(ROOT).as_posix() for page in ROOT.glob("slpstream/parts/*/docs.md")}
    assert found == set(OF_PARTS)


@pytest.mark.parametrize("page", WITH_README, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_promises_no_published_package(page: Path) -> None:
    """slpstream is not on PyPI: pages install it from a checkout."""
    assert not re.search(r"(?:pip|uv add|pipx|uvx|tool) (?:install )?'?slpstream", page.read_text(encoding="utf-8"))


def test_readme_has_the_figures_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (DOCS / "reference" / "figures.md").read_text(encoding="utf-8")
    table = readme[readme.index("\n## Figures\n") : readme.index("[All figures]")]
    figures = re.findall(r"\d[\d.]*(?: %| MB)?", "".join(row.split("|")[2] for row in table.splitlines() if "|" in row))
    assert len(figures) >= 6
    assert not [figure for figure in figures if figure not in page]
