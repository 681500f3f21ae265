"""Metadata, encoded and decoded."""

from __future__ import annotations

import copy
from typing import Any

import ubjson
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.slippi import metadata
from slpstream.model.errors import FieldError

# py-ubjson writes numbers nearer to 0 as text.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: value == 0 or abs(value) > 1e-300)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def decoded(data: bytes) -> dict[str, Any]:
    found = metadata.MetadataDecoder(0).advance(data)
    assert found is not None
    assert found.length_bytes == len(data)
    return found.values


@given(st.dictionaries(st.text(max_size=300), VALUES, max_size=5))
def test_encoded_values_are_decoded(values: dict[str, Any]) -> None:
    data = metadata.encode(values)
    assert decoded(data) == values
    assert ubjson.loadb(data) == values


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_is_decoded(value: float) -> None:
    assert decoded(metadata.encode({"number": value})) == {"number": value}


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_values_of_another_encoder_are_decoded(values: dict[str, Any]) -> None:
    data = ubjson.dumpb(values, no_float32=True)
    assert decoded(data) == values


@given(st.dictionaries(st.text(), VALUES, max_size=3), st.data())
def test_rest_of_a_split_object_is_awaited(values: dict[str, Any], draw: st.DataObject) -> None:
    data = metadata.encode(values)
    decoder = metadata.MetadataDecoder(0)
    for end in sorted(draw.draw(st.lists(st.integers(0, len(data) - 1), max_size=5))):
        assert decoder.advance(data[:end]) is None
        decoder = copy.deepcopy(decoder)
    found = decoder.advance(data + b"more")
    assert found == (values, len(data), None)


@given(st.binary(max_size=80))
def test_any_bytes_are_an_object_or_a_field_error(data: bytes) -> None:
    try:
        found = metadata.MetadataDecoder(0).advance(b"{" + data)
    except FieldError:
        return
    assert found is None or isinstance(found.values, dict)
