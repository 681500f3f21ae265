"""The names of Stunts, compared with the published tables."""

from __future__ import annotations

from typing import Any

import msgspec

from slpstream.formats.stunts import names
from tests.formats.stunts.built import BITS
from tests.replays import SHARED, needs_shared


@needs_shared
def test_names_match_the_published_tables() -> None:
    table: dict[str, Any] = msgspec.json.decode((SHARED.parent / "formats" / "tables.json").read_bytes())
    theirs = table["stunts"]
    assert theirs["cars"] == names.cars()
    assert theirs["opponents"] == {"0": None, **{str(number): name for number, name in names.opponents().items()}}
    assert theirs["horizons"] == {str(number): name for number, name in names.horizons().items()}
    assert theirs["bits"][:6] == list(BITS)
    assert [1 << index for index in range(6)] == list(BITS.values())
