"""A reader of replay logs that was written from `docs/reference/replay_log.md` alone.

It shares no code with `slpstream.formats.slplog`, so it proves that the page is complete. It is simple and slow, and
does not check its input.
"""

from __future__ import annotations

import lzma
import math
import re
import struct
from collections.abc import Callable
from typing import Any

from tests.project import ROOT

PAGE = ROOT / "docs" / "reference" / "replay_log.md"
M = 0xFFFFFFFF
FRAMED = {0x37, 0x38, 0x3A, 0x3B, 0x3C, 0x3F, 0x40, 0x41}
LETTERS = {"u8": "B", "u16": "H", "u32": "I", "f32": "I"}
GRIDS = {80: (-127, 127, 0x80), 140: (0, 140, 0xFF)}


def plan() -> dict[int, list[tuple[int, str, str]]]:
    """Offset, type and method of each column on the page, by command."""
    rows = re.findall(r"^\| (0x[0-9A-F]{2}) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    columns = {}
    for command, text in rows:
        parts = [part.split(" ", 2) for part in text.split("; ")]
        columns[int(command, 16)] = [(int(offset, 16), kind, method) for offset, kind, method in parts]
    return columns


class Bytes:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        return unzigzag(self.varint())


def unzigzag(number: int) -> int:
    return number // 2 if number % 2 == 0 else -(number + 1) // 2


def expand(data: bytes, *, planes: bool) -> bytes:
    lc, pb = (0, 0) if planes else (3, 2)
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20, "lc": lc, "lp": 0, "pb": pb}]
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=filters)


def fold(p: int) -> int:
    return p ^ M if p >> 31 else p | 0x80000000


def unfold(n: int) -> int:
    return n ^ 0x80000000 if n >> 31 else n ^ M


def number(p: int) -> float:
    value: float = struct.unpack(">f", struct.pack(">I", p))[0]
    return value


def pattern(value: float, parent: int) -> int:
    try:
        found: int = struct.unpack(">I", struct.pack(">f", value))[0]
    except OverflowError:
        return parent
    return found if math.isfinite(number(found)) else parent


def finite(*patterns: int) -> bool:
    return all(math.isfinite(number(p)) for p in patterns)


def s8(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


class Rows:
    """The events with one key, the index of each event's unit, and each row's parent."""

    def __init__(self, key: int, width: int) -> None:
        self.key, self.width = key, width
        self.command = key >> 16
        self.units: list[int] = []
        self.events: list[bytearray] = []
        self.parents: list[int | None] = []

    def get(self, row: int | None, offset: int, width: int = 4) -> int:
        return 0 if row is None else int.from_bytes(self.events[row][offset : offset + width], "big")

    def has(self, *offsets: int) -> bool:
        return all(offset + 4 <= self.width for offset in offsets)


class Frames:
    """One block of frames."""

    def __init__(self, payload: bytes) -> None:
        stream = Bytes(expand(payload, planes=True))
        assert stream.varint() == 1
        kinds = [Rows(stream.varint(), stream.varint()) for _ in range(stream.varint())]
        templates = [[kinds[stream.varint()] for _ in range(stream.varint())] for _ in range(stream.varint())]
        self.units = [templates[unit] for unit in [stream.varint() for _ in range(stream.varint())]]
        self.numbers: list[int] = []
        for _ in self.units:
            self.numbers.append(stream.signed() + (self.numbers[-1] + 1 if self.numbers else 0))
        present = stream.take(stream.varint())
        self.present = iter([byte >> (7 - bit) & 1 for byte in present for bit in range(8)])
        self.stream, self.kinds, self.plan = stream, {rows.key: rows for rows in kinds}, plan()
        self.order: list[tuple[Rows, int]] = []
        for unit, template in enumerate(self.units):
            for rows in template:
                event = bytearray(rows.width)
                event[0] = rows.command
                if self.framed(rows):
                    event[1:5] = struct.pack(">i", self.numbers[unit])
                    if rows.command in (0x37, 0x38) and rows.width >= 7:
                        event[5:7] = (rows.key & 0xFFFF).to_bytes(2, "big")
                self.order.append((rows, len(rows.events)))
                rows.units.append(unit)
                rows.events.append(event)
        self.seeds()
        for rows in sorted(kinds, key=lambda rows: (rows.command != 0x38, rows.key)):
            self.read(rows)

    def framed(self, rows: Rows) -> bool:
        return rows.command in FRAMED and rows.width >= 5

    def data(self) -> bytes:
        return b"".join(rows.events[row] for rows, row in self.order)

    def part(self, size: int) -> bytes:
        return self.stream.take(size) if next(self.present) else bytes(size)

    def column(self, count: int, width: int) -> list[int]:
        planes = [self.part(count) for _ in range(width)]
        return [int.from_bytes(bytes(plane[i] for plane in planes), "big") for i in range(count)]

    def seeds(self) -> None:
        offsets = {0x3A: 5, 0x37: 7}
        seeded = [(rows, row) for rows, row in self.order if rows.width >= offsets.get(rows.command, 1 << 20) + 4]
        draws = self.part(1)[0]
        value = 0
        for (rows, row), difference in zip(seeded, self.column(len(seeded), 4), strict=True):
            value = (value + difference) & M
            seed, left, a, c = 0, value, 214013, 2531011
            while left and draws:
                if left & 1:
                    seed = (seed * a + c) & M
                left, a, c = left >> 1, a * a & M, (a * c + c) & M
            offset = offsets[rows.command]
            rows.events[row][offset : offset + 4] = (seed if draws else value).to_bytes(4, "big")

    def read(self, rows: Rows) -> None:
        if not self.framed(rows):
            for event in rows.events:
                event[1:] = self.part(rows.width - 1)
            return
        covered = {0, 1, 2, 3, 4}
        if rows.command in (0x37, 0x38) and rows.width >= 7:
            covered |= {5, 6}
        seed_offset = {0x3A: 5, 0x37: 7}.get(rows.command)
        if seed_offset is not None and seed_offset + 4 <= rows.width:
            covered |= set(range(seed_offset, seed_offset + 4))
        self.find_parents(rows)
        for offset, kind, method in self.plan[rows.command]:
            size = struct.calcsize(LETTERS[kind])
            if offset + size <= rows.width:
                self.read_column(rows, offset, size, method)
                covered |= set(range(offset, offset + size))
                if (rows.command, offset) in ((0x3B, 0x22), (0x3F, 0x05)):
                    self.find_parents(rows, (offset, size))
        for offset in range(rows.width):
            if offset not in covered:
                self.read_column(rows, offset, 1, "same")

    def find_parents(self, rows: Rows, identity: tuple[int, int] | None = None) -> None:
        last: dict[int, int] = {}
        rows.parents = []
        for row in range(len(rows.events)):
            before = row - 1 if row else None
            if identity is not None:
                key = rows.get(row, *identity)
                rows.parents.append(last.get(key, before))
            elif rows.command in (0x37, 0x38) and rows.width >= 7:
                key = self.numbers[rows.units[row]]
                rows.parents.append(last.get(key - 1, before))
            else:
                key = row
                rows.parents.append(before)
            last[key] = row

    def read_column(self, rows: Rows, offset: int, size: int, method: str) -> None:
        name, _, rest = method.partition(" ")
        if name == "grid":
            self.read_grid(rows, offset, method)
            return
        for row, coded in enumerate(self.column(len(rows.events), size)):
            parent = rows.parents[row]
            before = rows.get(parent, offset, size)
            if name == "same":
                value = before ^ coded
            elif name == "delta":
                value = (before + coded + int(rest or 0)) % 256**size
            elif name == "frame":
                value = coded ^ (self.numbers[rows.units[row]] & M)
            elif name == "buttons":
                value = coded ^ self.buttons(rows, row)
            elif name == "post" and rest.startswith("bits"):
                value = coded ^ self.post(rows, row, int(rest.split()[1], 16), size)
            else:
                guess = self.guess(rows, row, offset, name, rest)
                value = unfold((fold(guess) + unzigzag(coded)) & M)
            rows.events[row][offset : offset + size] = value.to_bytes(size, "big")

    def guess(self, rows: Rows, row: int, offset: int, name: str, rest: str) -> int:
        parent = rows.parents[row]
        p = rows.get(parent, offset)
        g = 0 if parent is None else rows.get(rows.parents[parent], offset)
        if name == "position":
            own, attack = (int(text, 16) for text in rest.split(", "))
            if not rows.has(own, attack, 0x35):
                name = "straight"
            else:
                hitlag = rows.get(row, 0x49) if rows.has(0x49) else 0
                flying = rows.get(row, 0x2F, 1)
                speed = rows.get(row, 0x35 if own == 0x45 and flying else own)
                return p if 0 < hitlag < 1 << 31 else self.moved(p, speed, rows.get(row, attack))
        simple: dict[str, Callable[[], int]] = {
            "constant": lambda: p,
            "linear": lambda: self.linear(p, g),
            "straight": lambda: p if p == g or not finite(p, g) else pattern(2 * number(p) - number(g), p),
            "countdown": lambda: p if not finite(p) else pattern(number(p) - 1, p) if number(p) >= 1 else 0,
            "counter": lambda: self.counter(rows, row, p, g),
            "drift": lambda: self.moved(p, rows.get(row, int(rest, 16))),
            "ground": lambda: 0 if rows.get(row, 0x2F, 1) else rows.get(row, 0x35),
            "post": lambda: self.post(rows, row, int(rest, 16), 4),
        }
        return simple[name]()

    def linear(self, p: int, g: int) -> int:
        if p == g or not finite(p, g):
            return p
        after = 2 * number(p) - number(g)
        return pattern(after, p) if after * number(p) > 0 else 0

    def moved(self, p: int, *speeds: int) -> int:
        if not finite(*speeds):
            return p
        total = 0.0
        for speed in speeds:
            total += number(speed)
        return p if not total or not finite(p) else pattern(number(p) + total, p)

    def counter(self, rows: Rows, row: int, p: int, g: int) -> int:
        if rows.get(row, 0x08, 2) != rows.get(rows.parents[row], 0x08, 2):
            return 0
        if not finite(p, g):
            return p
        change = number(p) - number(g)
        return pattern(number(p) + (change if change >= 0 else 1), p)

    def post(self, rows: Rows, row: int, offset: int, size: int) -> int:
        posts, unit = self.kinds.get(0x38 << 16 | rows.key & 0xFFFF), rows.units[row]
        if posts is None or offset + size > posts.width:
            return 0
        previous = self.numbers[unit] - 1
        before = [i for i, u in enumerate(posts.units) if u < unit and self.numbers[u] == previous]
        here = [i for i, u in enumerate(posts.units) if u == unit]
        return posts.get(before[-1] if before else here[0] if here else None, offset, size)

    def read_grid(self, rows: Rows, offset: int, method: str) -> None:
        steps = int(method.split()[1])
        low, high, escape = GRIDS[steps]
        codes = [(code + self.step(rows, row, method)) & 0xFF for row, code in enumerate(self.part(len(rows.events)))]
        escaped = Bytes(self.part(4 * codes.count(escape)))
        for row, code in enumerate(codes):
            k = s8(code) if low < 0 else code
            octets = escaped.take(4) if code == escape else struct.pack(">f", k / steps if low <= k <= high else 0)
            rows.events[row][offset : offset + 4] = octets

    def step(self, rows: Rows, row: int, method: str) -> int:
        source = method.partition("(")[2].rstrip(")")
        if source == "trigger":
            if not rows.has(0x33, 0x37):
                return 0
            deeper = max(self.grid_step(rows, row, 0x33, 140), self.grid_step(rows, row, 0x37, 140))
            return 140 if rows.get(row, 0x31, 2) & 0x60 else deeper if deeper >= 43 else 0
        raw = {"stick x": (0x3B, 0x40, 0), "stick y": (0x3B, 0x40, 1), "C-stick x": (0x41, 0x42, 0)}
        raw["C-stick y"] = (0x41, 0x42, 1)
        if source not in raw:
            return 0
        raw_x, raw_y, axis = raw[source]
        if raw_y >= rows.width and (source != "stick x" or raw_x >= rows.width):
            return 0
        x, y = s8(rows.get(row, raw_x, 1)), s8(rows.get(row, raw_y, 1)) if raw_y < rows.width else 0
        if x * x + y * y > 6400:
            scale = 80 / math.sqrt(x * x + y * y)
            x, y = int(x * scale), int(y * scale)
        return (x, y)[axis] if abs((x, y)[axis]) >= 23 else 0

    def grid_step(self, rows: Rows, row: int, offset: int, steps: int) -> int:
        low, high, _ = GRIDS[steps]
        value = number(rows.get(row, offset))
        k = round(value * steps) if math.isfinite(value) and abs(value) < 4 else 0
        exact = low <= k <= high and struct.pack(">f", k / steps) == bytes(rows.events[row][offset : offset + 4])
        return k if exact else 0

    def buttons(self, rows: Rows, row: int) -> int:
        if not rows.width >= 0x33:
            return 0
        found = rows.get(row, 0x31, 2)
        for x_offset, y_offset, up in ((0x19, 0x1D, 0x10000), (0x21, 0x25, 0x100000)):
            x, y = self.grid_step(rows, row, x_offset, 80), self.grid_step(rows, row, y_offset, 80)
            if max(abs(x), abs(y)) >= 23:
                found |= (up if y > 0 else up * 2) if abs(y) > abs(x) else (up * 4 if x < 0 else up * 8)
        return found | (0x80000000 if self.grid_step(rows, row, 0x29, 140) >= 43 else 0)


def unpack(log: bytes) -> bytes:
    """The replay in a finished log."""
    assert log[:9] == b"\x93SLPLOG\n\x01"
    at = 11 + int.from_bytes(log[9:11], "big") + 4
    replay, head = bytearray(), b""
    while at < len(log):
        mark, kind, size, _, source_bytes, *_ = struct.unpack(">2sBIIIiiIH", log[at : at + 29])
        assert mark == b"\xb1\x4b"
        payload = log[at + 29 : at + 29 + size]
        at += 29 + size
        found: Any = {1: raw, 2: lambda data, _: Frames(data).data(), 3: stripes}.get(kind)
        if found is not None:
            replay += found(payload, source_bytes)
        elif kind == 5:
            head = payload
    return head + bytes(replay[len(head) :])


def raw(payload: bytes, _: int) -> bytes:
    return expand(payload, planes=False)


def stripes(payload: bytes, size: int) -> bytes:
    stream = Bytes(payload)
    width, start, stop = stream.varint(), stream.varint(), stream.varint()
    data = Bytes(expand(payload[stream.at :], planes=False))
    rows = [bytearray(width) for _ in range(size // width)]
    for row in rows:
        row[start:stop] = data.take(stop - start)
    for column in (*range(start), *range(stop, width)):
        for row in rows:
            row[column] = data.take(1)[0]
    return b"".join(rows)
