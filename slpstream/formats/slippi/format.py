"""The Slippi format, declared for the registry."""

from __future__ import annotations

from slpstream.formats.interface import Format, WholeGame
from slpstream.formats.slippi import container, names
from slpstream.formats.slippi.edited import edited
from slpstream.formats.slippi.gecko import read_code_list
from slpstream.formats.slippi.preview import read_preview
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.summary import describe, describe_setup


def _whole_game(data: bytes) -> WholeGame:
    from slpstream.formats.slippi import whole_game  # noqa: PLC0415 -- numpy is an extra

    return whole_game.WholeGame(data)


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
    codes=read_code_list,
    setup=describe_setup,
    stats="slpstream.formats.slippi.stats.game:SlippiStats",
    is_finished=container.is_finished,
    edited=edited,
    is_fallback=True,
)
