"""Data of other programs is decoded in one place, which raises only the errors of its callers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.foreign_data import (
    MAX_DEPTH,
    converted,
    json_or_none,
    read_json,
    read_messagepack,
    read_text,
    whole_number,
)
from tests.project import ROOT, deleted_part

PACKAGE = ROOT / "slpstream"
READER = "model/foreign_data.py"
_LOG = "a log message that this process has encoded"
_STORED = "a column of slpstream's database, whose damage SQLite notices"
_SHIPPED = "a file of the package"
_OPERATOR = "a file of the operator, of which a part that is not UTF-8 is a `ConfigError`"
_EXPORT = "a file of an export; its paths can have lone surrogates, which msgspec refuses"
OWN: Mapping[str, str] = {
    "parts/bugreport/report.py": "a file of the operator, whose errors are caught, and messages of this process",
    "parts/verify/log_comparison.py": _LOG,
    "parts/handover/cli.py": _STORED,
    "config/loading.py": _OPERATOR,
    "config/secrets.py": _OPERATOR,
    "daemon/game_log.py": _LOG,
    "daemon/game_stakes.py": _LOG,
    "daemon/games.py": _STORED,
    "parts/fanout/gateway/games.py": "a record that the gateway has made of checked messages",
    "parts/fanout/gateway/lines.py": "a line that was checked when it arrived",
    "parts/playback_dolphin/moments.py": _LOG,
    "parts/audit/setup_audit.py": _STORED,
    "parts/commentary/commentator.py": _LOG,
    "parts/odds/log_odds.py": _LOG,
    "parts/odds/game_odds.py": "settings that were encoded in the same line",
    "parts/odds/played_games.py": "numbers that were checked",
    "parts/controllers/checked_games.py": _LOG,
    "parts/controllers/samples.py": _LOG,
    "parts/handover/contents.py": _STORED,
    "web/combined.py": _SHIPPED,
    "formats/name_tables.py": _SHIPPED,
    "formats/slippi/action_states.py": _SHIPPED,
    "formats/slippi/packed_frame.py": "a frame that was encoded the line before",
    "formats/slippi/metadata.py": "single UBJSON values of a fixed width, whose bytes have been counted before",
    "game/dolphin_queue.py": "a path, to see whether it is UTF-8",
    "parts/find/queries/vocabulary.py": _SHIPPED,
    "game/station_state.py": _LOG,
    "game/described.py": "a description that the game has encoded",
    "model/messages.py": _LOG,
    "model/prepared.py": "prepares types and decodes nothing",
    "model/setup.py": "prepares types and decodes nothing",
    "model/summary.py": "prepares types and decodes nothing",
    "parts/highlights/game_highlights.py": _STORED,
    "parts/highlights/pages.py": _STORED,
    "parts/obs/client.py": "a message that the session has encoded",
    "parts/obs/control.py": _LOG,
    "parts/situations/search/messages.py": _LOG,
    "parts/situations/situations.py": _STORED,
    "parts/situations/station_search.py": _LOG,
    "parts/sql/cli_output.py": "the notes of a schema in the package",
    "parts/sql/joins.py": "DuckDB's internal form of a query",
    "parts/training/cli_export.py": _EXPORT,
    "parts/training/cli_folder.py": _EXPORT,
    "parts/training/parts.py": _EXPORT,
    "parts/training/windows.py": "the index of an export; the module requires only numpy and pyarrow",
    "parts/webhooks/sink.py": _LOG,
    "sets/changes.py": "corrections encoded one line earlier",
    "store/documents.py": _STORED,
    "store/opening.py": "handles the errors of each row of a damaged database",
    "store/tables/corrections.py": "corrections that were encoded before",
    "store/tables/games.py": "stats that were encoded before",
    "store/tables/remembered.py": "values that were encoded before",
    "store/tables/search.py": _STORED,
    "stream/channel.py": _LOG,
    "stream/view.py": _LOG,
    "parts/bracket/startgg/variables.py": _SHIPPED,
    "web/asgi.py": "parts of a request that h11 has validated",
    "web/events.py": "a constant path",
    "web/problem_pages.py": "a response of this server",
    "web/websocket.py": "parts of a request that h11 has validated",
}
"""Modules that decode bytes by other means, with the reason why the bytes are not foreign or errors are handled."""
_DECODERS = {
    *("json.load", "json.loads", "msgspec.json.decode", "msgspec.json.Decoder", "msgspec.msgpack.decode"),
    *("msgspec.msgpack.Decoder", "msgspec.toml.decode", "msgspec.yaml.decode", "pickle.loads", "pickle.load"),
    *("ubjson.load", "ubjson.loadb", "ast.literal_eval", "marshal.loads"),
}
_ENCODERS = {"encode", "b64encode", "urlsafe_b64encode", "_encode", "draw_svg"}
"""Functions whose results are decoded the way they were encoded."""
_TOTAL = {"latin-1", "cp437", "utf-16-le"}


class Failed(Exception):
    """The error of a caller."""


def decodings(tree: ast.Module) -> Iterator[str]:
    """The calls of a module that decode bytes and can fail."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        if name in _DECODERS:
            yield name
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "read_text":
            yield "read_text"
        elif name in ("metadata.decode", "self.decode"):
            continue  # decoders of formats, which raise `FormatError`
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "decode" and _can_fail(call, call.func.value):
            yield ast.unparse(call)


def _can_fail(call: ast.Call, decoded: ast.expr) -> bool:
    """Whether a call of `bytes.decode` can raise an error."""
    if isinstance(decoded, ast.Call) and ast.unparse(decoded.func).rpartition(".")[2] in _ENCODERS:
        return False
    first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else "utf-8"
    return first not in _TOTAL and len(call.args) < 2 and not any(each.arg == "errors" for each in call.keywords)


def test_foreign_bytes_are_decoded_in_one_place() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): list(decodings(ast.parse(path.read_text(encoding="utf-8"))))
        for path in PACKAGE.rglob("*.py")
    }
    decoding = {module: calls for module, calls in found.items() if calls}
    assert decoding.pop(READER), "the calls are found"
    assert {module: calls for module, calls in decoding.items() if module not in OWN} == {}
    listed = {module for module in OWN if deleted_part(f"slpstream/{module}") is None}
    assert listed - decoding.keys() == set(), "no longer decodes anything: remove from the list"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)  # fmt: skip


class Row(msgspec.Struct):
    name: str = ""
    more: Any = None


@given(st.data())
def test_damaged_json_raises_only_the_error_of_the_caller(data: st.DataObject) -> None:
    encoded = bytearray(msgspec.json.encode({"name": "x", "more": data.draw(VALUES)}))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(encoded)))
        encoded[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    for kind in (Row, dict[str, Any], list[int], object):
        with suppress(Failed):
            msgspec.json.encode(read_json(bytes(encoded), kind, Failed))


@given(st.binary(max_size=64))
def test_arbitrary_bytes_raise_only_the_error_of_the_caller(data: bytes) -> None:
    for read in (read_messagepack, read_text, lambda data, failure: read_json(data, object, failure)):
        with suppress(Failed):
            read(data, Failed)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"more":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
        (b'{"x":' + b"[" * (MAX_DEPTH) + b"]" * (MAX_DEPTH) + b"}", "nested too deeply"),
        ('{"name":"José"}'.encode("latin-1"), "not UTF-8"),
        (b'{"name":5}', "Expected `str`, got `int` - at `$.name`"),
        (b'{"name":"\\ud800 "}', "malformed|truncated"),
        (b'{"more":' + b"1" * 5000 + b"}", "out of range"),
        (b'{"more":1e999}', "out of range"),
        (b'{"more":NaN}', "malformed"),
        (b"", "truncated"),
        (b"{} {}", "trailing characters"),
        (b'{"name":"' + b"x" * 1000 + b'"}', "more than 1000 bytes"),
    ],
)
def test_reasons_are_clear(data: bytes, reason: str) -> None:
    with pytest.raises(Failed, match=reason.replace("$", r"\$")):
        read_json(data, Row, Failed, max_bytes=20_000 if len(data) > 2000 else 1000)
    assert json_or_none(data, Row) is None or "bytes" in reason


def test_brackets_in_texts_and_wide_values_are_not_nested() -> None:
    wide = [{"text": '[{"\\' * 50, "rows": [[number]]} for number in range(100)]
    assert read_json(msgspec.json.encode(wide), object, Failed) == wide
    deep: Any = 0
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert read_json(msgspec.json.encode(deep), object, Failed) == deep


def test_values_are_converted_or_refused() -> None:
    assert converted({"name": "x"}, Row, Failed) == Row("x")
    values: list[Any] = [5, [], {"name": []}, {"name": None}, None]
    for value in values:
        with pytest.raises(Failed):
            converted(value, Row, Failed)


def test_whole_numbers_are_bounded() -> None:
    texts = ["7", "0012", "1" * 18, "1" * 19, "1" * 5000, "-1", "²", "٣", "", "1.0", " 1"]
    assert [whole_number(text) for text in texts] == [7, 12, int("1" * 18), *[None] * 8]
