"""The pages show exactly the pictures made by `tests.web.pictures`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browsers.chromium import chromium
from tests.docs.pages import WITH_README, links
from tests.project import IN_CI

if find_spec("PIL") is None and not IN_CI:
    pytest.skip("no Pillow; run: uv run --group docs pytest", allow_module_level=True)

from PIL import Image

from tests.web.pictures import ANIMATION, NAMES, PICTURES, path_of, take

MAX_TOTAL_BYTES = 3_000_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def test_pages_show_exactly_the_pictures() -> None:
    pictures = [link for page in WITH_README for link in links(page) if link.is_picture]
    shown = {(link.page.parent / link.target).resolve() for link in pictures}
    assert shown == {path_of(name) for name in NAMES}
    assert shown == set(PICTURES.iterdir())


def test_pictures_are_small() -> None:
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < MAX_TOTAL_BYTES


@pytest.mark.release
@pytest.mark.parametrize("name", NAMES)
def test_picture_can_be_taken_again(browser: Browser, name: str, tmp_path: Path) -> None:
    take(browser, name, tmp_path / name)
    with Image.open(tmp_path / name) as taken, Image.open(path_of(name)) as kept:
        assert taken.format == kept.format
        if name == ANIMATION:
            assert taken.size == kept.size
            assert getattr(taken, "n_frames", 1) == getattr(kept, "n_frames", 1) > 1
        else:
            assert abs(taken.width - kept.width) <= 1
