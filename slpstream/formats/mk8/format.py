"""The Mario Kart 8 format, declared for the registry."""

from __future__ import annotations

from slpstream.formats.interface import Format
from slpstream.formats.mk8 import names
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sniff import sniff
from slpstream.formats.mk8.summary import describe

FORMAT = Format(
    "mk8",
    (".dat",),
    lambda options: Mk8Reader(**options._asdict()),
    written_whole=True,
    sniff=sniff,
    names=names.FOLDER,
    describe=describe,
)
