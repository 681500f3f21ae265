"""The changed pages. The gate follows these and the README, and the release check follows all pages.

A page has changed if it differs from the commit named by `SLPSTREAM_PAGES_SINCE`, by default the commit at which the
branch left `origin/main`. On `main` itself, or without a remote, it is the parent of the current commit. Uncommitted
pages count as changed. If git does not know that commit, as in an archive of the sources or in a clone of one commit,
only the README is followed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from functools import cache

import pytest

from tests.project import ROOT

ALWAYS = "README.md"


def _git(*arguments: str) -> list[str]:
    """Run git and return its lines; empty if it fails or is not installed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def _base() -> str:
    named = os.environ.get("SLPSTREAM_PAGES_SINCE")
    if named:
        return named
    fork, head = _git("merge-base", "HEAD", "origin/main"), _git("rev-parse", "HEAD")
    return fork[0] if fork and fork != head else "HEAD~1"


@cache
def changed_pages() -> frozenset[str]:
    """The paths of the changed pages, and of the README."""
    changed = _git("diff", "--name-only", _base(), "--", "*.md")
    return frozenset((ALWAYS, *changed, *_git("ls-files", "--others", "--exclude-standard", "--", "*.md")))


def check_of(page: str) -> pytest.MarkDecorator:
    """The marker of a test that follows a page: `slow` if it has changed, so that the gate runs it, else `release`."""
    return pytest.mark.slow if page in changed_pages() else pytest.mark.release


def by_page(pages: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrize a test by `page`, with the marker of each page."""
    return pytest.mark.parametrize("page", [pytest.param(page, marks=check_of(page)) for page in pages])
