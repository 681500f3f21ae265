"""Record the matches that `slpstream demo` plays: `python -m tests.synthetic.record_demo`.

Writes `slpstream/parts/demo/matches/*.slplog`. The replays in them are equal on every machine, which a test checks;
the compressed bytes can differ between versions of liblzma.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slpstream.formats.slplog.writer import MAX_KEYFRAME_FRAMES, pack
from tests.project import ROOT
from tests.synthetic.match import synthetic_match
from tests.synthetic.roster import FALCO, FALCON, FOX, MARTH, POPO
from tests.synthetic.stages import (
    BATTLEFIELD,
    DREAM_LAND,
    FINAL_DESTINATION,
    FOUNTAIN_OF_DREAMS,
    POKEMON_STADIUM,
)

FOLDER = ROOT / "slpstream" / "parts" / "demo" / "matches"

MATCHES: Mapping[str, Mapping[str, Any]] = {
    "1_battlefield": {"seed": 1, "characters": (FOX, MARTH), "stage_id": BATTLEFIELD},
    "2_fountain_of_dreams": {"seed": 8, "characters": (FALCO, MARTH), "stage_id": FOUNTAIN_OF_DREAMS},
    "3_pokemon_stadium": {"seed": 4, "characters": (FOX, FALCON), "stage_id": POKEMON_STADIUM},
    "4_final_destination": {
        "seed": 12,
        "characters": (POPO, MARTH),
        "stage_id": FINAL_DESTINATION,
        "followers": True,
    },
    "5_dream_land": {"seed": 9, "characters": (FALCO, FALCON), "stage_id": DREAM_LAND},
}
"""Options of `synthetic_match` by name. Player 0 wins the first and the third match, player 1 the others."""


def record(name: str) -> bytes:
    """The replay of a bundled match."""
    return synthetic_match(**MATCHES[name])


def main(folder: Path = FOLDER) -> None:
    """Write all replay logs."""
    folder.mkdir(exist_ok=True)
    for name in MATCHES:
        # The demo reads only whole replays, so keyframes would only make the files larger.
        packed = pack(record(name), "slippi", f"{name}.slp", MAX_KEYFRAME_FRAMES)
        target = folder / f"{name}.slplog"
        target.write_bytes(packed)
        print(f"{target}: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
