"""Writes `.slpz` files from the description of the format, as an independent half of a round trip."""

from __future__ import annotations

import struct
from collections import defaultdict
from importlib import import_module
from typing import Any

_HEADER_BYTES = 15


def zstd() -> Any:
    """The module that compresses by zstd."""
    try:
        return import_module("compression.zstd")
    except ModuleNotFoundError:
        return import_module("backports.zstd")


class Refused(Exception):
    """A replay that the original tool refuses."""


def pack(replay: bytes) -> bytes:
    """The `.slpz` of a replay. Raises `Refused` where the original tool does."""
    if not replay.startswith(b"{U\x03raw[$U#l"):
        raise Refused("first bytes")
    length = int.from_bytes(replay[11:15], "big")
    raw, metadata = replay[15 : 15 + length], replay[15 + length :]
    if not length or len(raw) < length or raw[0] != 0x35:
        raise Refused("raw length")
    payloads = raw[: 1 + raw[1]]
    sizes = {payloads[at]: int.from_bytes(payloads[at + 1 : at + 3], "big") for at in range(2, len(payloads), 3)}
    if raw[len(payloads)] != 0x36 or 0x36 not in sizes:
        raise Refused("no Game Start")
    at = len(payloads) + 1 + sizes[0x36]
    start = raw[len(payloads) : at]
    events = []
    while at < len(raw):
        if raw[at] not in sizes or at + 1 + sizes[raw[at]] > len(raw):
            raise Refused(f"event at {at}")
        events.append(raw[at : at + 1 + sizes[raw[at]]])
        at += len(events[-1])
    return assemble(payloads, start, metadata, block(events))


def block(events: list[bytes]) -> bytes:
    """The decompressed block of some events."""
    order = bytes(event[0] for event in events)
    columns: dict[int, list[bytes]] = defaultdict(list)
    for event in events:
        columns[event[0]].append(event[1:])
    parts = [struct.pack(">I", len(events)), order]
    for command in sorted(columns):
        parts += [bytes(column) for column in zip(*columns[command], strict=True)]
    return b"".join(parts)


def assemble(
    payloads: bytes, start: bytes, metadata: bytes, plain: bytes, *, version: int = 0, size: int | None = None
) -> bytes:
    """A file of these sections. `size` is the size of the block that the header claims."""
    offsets = [24, 24 + len(payloads)]
    offsets += [offsets[1] + len(start), offsets[1] + len(start) + len(metadata)]
    header = struct.pack(">6I", version, *offsets, len(plain) if size is None else size)
    return header + payloads + start + metadata + bytes(zstd().compress(plain))
