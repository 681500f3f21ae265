"""The Slippi format, declared for the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slpstream.formats.interface import Format, WholeGame
from slpstream.formats.slippi import container, names
from slpstream.formats.slippi.edited import edited
from slpstream.formats.slippi.preview import read_preview
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.summary import describe
from slpstream.model.setup import CodeList, RevealedSetup


def _whole_game(data: bytes) -> WholeGame:
    from slpstream.formats.slippi import whole_game  # noqa: PLC0415 -- numpy is an extra

    return whole_game.WholeGame(data)


def _codes(chunks: Iterable[bytes]) -> CodeList | None:
    from slpstream.formats.slippi import gecko  # noqa: PLC0415 -- loaded only on request

    return gecko.read_code_list(chunks)


def _setup(settings: Any, codes: CodeList | None, metadata: Mapping[str, Any] | None) -> RevealedSetup:
    from slpstream.formats.slippi import setup  # noqa: PLC0415

    return setup.describe(settings, codes, metadata)


FORMAT = Format(
    "slippi",
    (".slp",),
    lambda options: SlippiReader(),
    rewritable_bytes=container.HEADER_BYTES,
    sniff=container.sniff,
    whole=_whole_game,
    names=names.FOLDER,
    preview=read_preview,
    describe=describe,
    codes=_codes,
    setup=_setup,
    stats="slpstream.formats.slippi.stats.game:SlippiStats",
    is_finished=container.is_finished,
    edited=edited,
    is_fallback=True,
)
