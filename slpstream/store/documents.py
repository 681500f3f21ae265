"""Decoders for the JSON documents that are stored in columns, and a way to check that a text is JSON."""

from __future__ import annotations

import msgspec

from slpstream.model.setup import CodeList
from slpstream.model.summary import GameSummary, Standing

decode_summary = msgspec.json.Decoder(GameSummary).decode
decode_codes = msgspec.json.Decoder(CodeList).decode
decode_standings = msgspec.json.Decoder(dict[int, Standing]).decode
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def check_json(*documents: str | None) -> None:
    """Raise `msgspec.DecodeError` if any of the texts isn't JSON. It's fine to pass `None`."""
    for document in documents:
        if document is not None:
            _decode_raw(document)
