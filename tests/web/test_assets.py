"""Files that change while they are served, by an editor, a network share or an upgrade, damage only one response."""

from __future__ import annotations

import errno
import mimetypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slpstream.parts import registry
from slpstream.system.files import open_regular
from slpstream.web.access import Access
from slpstream.web.assets import Assets
from tests.web.served import Served, served

pytestmark = pytest.mark.trio
BIG_BYTES = 8_000_000
PAGE = "https://overlays.example"


async def test_changed_custom_files_are_served(tmp_path: Path) -> None:
    async with served(overlay_folder=tmp_path / "custom") as server:
        assert (await server.ask("/custom/my.css")).status == 404, "the folder does not exist yet"
        (tmp_path / "custom" / "sub").mkdir(parents=True)
        path = tmp_path / "custom" / "sub" / "my.css"
        path.write_text("a{}")
        answer = await server.ask("/custom/sub/my.css")
        assert (answer.body, answer.headers["content-type"]) == (b"a{}", "text/css; charset=utf-8")
        assert answer.headers["cache-control"] == "no-cache"
        tag = answer.headers["etag"]
        for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            assert (await server.ask("/custom/sub/my.css", if_none_match=known)).status == 304
        path.write_text("b{} ")
        assert (await server.ask("/custom/sub/my.css", if_none_match=tag)).body == b"b{} "


@pytest.mark.parts("dashboard")
async def test_media_types_do_not_depend_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows, programs write other types for `.js` into the registry, which Python's `mimetypes` reads."""
    monkeypatch.setattr(mimetypes, "guess_type", lambda path, strict=True: ("text/plain", None))
    (tmp_path / "module.MJS").touch()
    (tmp_path / "picture.webp").touch()
    async with served(overlay_folder=tmp_path) as server:
        for path, expected in {
            "/": "text/html; charset=utf-8",
            "/static/slpstream.js": "text/javascript; charset=utf-8",
            "/static/page.css": "text/css; charset=utf-8",
            "/custom/module.MJS": "text/javascript; charset=utf-8",
            "/custom/picture.webp": "image/webp",
        }.items():
            assert (await server.ask(path)).headers["content-type"] == expected, path


@pytest.mark.not_on_windows("folders have no named pipes there")
async def test_unreadable_files_are_404(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.css").write_text("a{}")
    (tmp_path / "loop.css").symlink_to("loop.css")
    (tmp_path / "gone.css").symlink_to("nothing.css")
    (tmp_path / "folder.css").mkdir()
    os.mkfifo(tmp_path / "pipe.css")

    def withdrawn(path: Path) -> Any:
        if path.name.startswith("withdrawn"):
            raise PermissionError(errno.EACCES, "Permission denied")
        if path.name.startswith("stale"):
            raise OSError(errno.ESTALE, "Stale file handle")
        return open_regular(path)

    monkeypatch.setattr("slpstream.web.assets.open_regular", withdrawn)
    for name in ("withdrawn.css", "stale.css"):
        (tmp_path / name).write_text("a{}")
    async with served(overlay_folder=tmp_path) as server:
        for name in ("loop.css", "gone.css", "folder.css", "pipe.css", "withdrawn.css", "stale.css", "%00.css"):
            answer = await server.ask(f"/custom/{name}")
            assert (answer.status, answer.problem["detail"]) == (404, "Not Found"), name
        assert (await server.ask("/custom/good.css")).status == 200


@pytest.mark.parts("dashboard", "scenes")
async def test_page_removed_by_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.web.app.STATIC", tmp_path)
    monkeypatch.setattr("slpstream.parts.scenes.pages._FILES", Assets(tmp_path))
    async with served(pages=[page._replace(folder=tmp_path) for page in registry.pages()]) as server:
        for target in ("/", "/overlay/main", "/static/slpstream.js"):
            assert (await server.ask(target)).status == 404
        (tmp_path / "index.html").write_text("<p>new")
        assert (await server.ask("/")).body == b"<p>new"


def shorter(path: Path) -> None:
    os.truncate(path, BIG_BYTES // 2)


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(BIG_BYTES))


@pytest.mark.parametrize(("change", "whole"), [(shorter, False), (longer, True), (Path.unlink, True)])
async def test_file_that_changes_while_it_is_sent(
    tmp_path: Path, change: Callable[[Path], object], whole: bool
) -> None:
    path = tmp_path / "big.png"
    path.write_bytes(bytes(BIG_BYTES))
    async with served(overlay_folder=tmp_path, socket_buffer_bytes=4096) as server:
        async with await server.call() as caller:
            await caller.send(b"GET /custom/big.png HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await caller.begun()
            change(path)
            if whole:
                assert len((await caller.answer()).body) == BIG_BYTES
            else:
                with pytest.raises(AssertionError, match="the connection ended"):
                    await caller.answer()
        assert (await server.ask("/healthz")).status == 200


async def test_allowed_origins_can_import_the_client_module() -> None:
    async with served(access=Access(allowed_origins=(PAGE,))) as server:
        for origin in (PAGE, "file://", "https://elsewhere.example"):
            answer = await server.ask("/static/slpstream.js", origin=origin)  # `ask` allows no duplicate headers
            assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "*")


async def test_100_continue(server: Served) -> None:
    body = b'{"bestOf":5}'
    async with await server.call() as caller:
        await caller.send(
            b"PATCH /v1/stations/main/set HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body)
        )
        assert (await caller.answer()).status == 100
        await caller.send(body)
        answer = await caller.answer()
        assert (answer.status, answer.json["bestOf"]) == (200, 5)
