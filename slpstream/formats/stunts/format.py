"""The Stunts format, declared for the registry."""

from __future__ import annotations

from slpstream.formats.interface import Format
from slpstream.formats.stunts import names
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.formats.stunts.sniff import sniff
from slpstream.formats.stunts.summary import describe

FORMAT = Format(
    "stunts",
    (".rpl",),
    lambda options: StuntsReader(**options._asdict()),
    written_whole=True,
    sniff=sniff,
    names=names.FOLDER,
    describe=describe,
)
