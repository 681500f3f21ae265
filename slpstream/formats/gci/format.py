"""The F-Zero GX format, declared for the registry."""

from __future__ import annotations

from slpstream.formats.gci import names
from slpstream.formats.gci.container import sniff
from slpstream.formats.gci.reader import GciReader
from slpstream.formats.gci.summary import describe
from slpstream.formats.interface import Format

FORMAT = Format(
    "gci",
    (".gci",),
    lambda options: GciReader(**options._asdict()),
    written_whole=True,
    sniff=sniff,
    names=names.FOLDER,
    describe=describe,
)
