"""The reader of Mario Kart 8 ghosts. It turns a whole file into Game Start, laps, sections and Game End.

There are no frames, because the coding of the sections isn't public. The event of a section only contains its size, the
sizes of its subsections, and whether its checksum is right. If the replay part is damaged, you only lose sections,
since everything else comes from the header.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

from slpstream.formats.mk8.file_name import FileName, parse_file_name
from slpstream.formats.mk8.header import (
    BODY_BYTES,
    MII_CRC_OFFSET,
    MII_NAME_OFFSET,
    MII_OFFSET,
    OUTER_BYTES,
    PLAYER_NAME_OFFSET,
    TOTAL_OFFSET,
    Header,
    OuterHeader,
    read_header,
    read_outer,
)
from slpstream.formats.mk8.sections import FRAMES_PER_SECTION, Section, Sections, read_info
from slpstream.formats.mk8.settings import settings_of
from slpstream.formats.text import BAD_TEXT, UNDECODABLE
from slpstream.formats.whole_file import Recording, WholeFileReader
from slpstream.model.errors import FieldError, FormatError
from slpstream.model.events import Diagnostic, Event, GameEnd, GameEvent, GameStart

_RATE = (60, 1)
"""Frames per second of the game. No event depends on it."""


class Mk8Recording(Recording):
    """One ghost, which was read from a complete file. A section is unpacked when you ask for its event."""

    def __init__(self, data: bytes, name: str, personal: bool) -> None:
        self.outer: OuterHeader | None = read_outer(data)
        self.body_offset = OUTER_BYTES if self.outer else 0
        self.header: Header = read_header(data, self.body_offset, personal=personal)
        self.file_name: FileName | None = parse_file_name(name)
        self.sections: Sections | None = None
        """The replay part, or `None` when it is missing, or its header or tables are damaged."""
        self._size_bytes = len(data)
        self._header_end = self.body_offset + BODY_BYTES
        diagnostics = self._header_diagnostics(len(data), name) + self._open_replay(data)
        info = self.sections.info if self.sections else None
        start = GameStart(
            self._header_end,
            "mk8",
            hashlib.sha256(data).hexdigest()[:32],
            settings_of(self.header, self.outer, self.file_name, info),
            _RATE,
        )
        self.head = [start, *diagnostics, *self._laps()]
        self.end = GameEnd(
            len(data),
            "file_end",
            duration_seconds=self.header.total.total_milliseconds / 1000 if self.header.total.valid else None,
            values=self._result(),
        )
        self._first_damaged_section: int | None = None
        """The first section that cannot be unpacked, or `None` until it is reached."""

    @property
    def frame_count(self) -> int:
        """There are no frames."""
        return 0

    def frame_events(self, first: int, stop: int) -> list[Event]:
        """There are no frames."""
        return []

    @property
    def tail(self) -> Sequence[Event]:  # type: ignore[override]
        """All sections, and Game End. If some of the sections were not unpacked yet, this is done now."""
        return [*self.section_events(0, self.section_count), self.end]

    @property
    def section_count(self) -> int:
        """How many sections there are according to the header."""
        return len(self.sections) if self.sections else 0

    def section_events(self, first: int, stop: int) -> list[Event]:
        """Return the events of the sections from `first` to `stop - 1`.

        If a section can't be unpacked, you get a diagnostic, and no more sections after that.
        """
        sections, events = self.sections, list[Event]()
        if sections is None:
            return events
        at = sections.file_offset(first - 1) if first else self._header_end
        for index in range(first, min(stop, self.section_count)):
            if self._first_damaged_section is not None and index > self._first_damaged_section:
                break
            try:
                section = sections.section(index)
            except FormatError as error:
                self._first_damaged_section = index
                events.append(_damaged(at, error, f", so sections {index} to {len(sections) - 1} are lost"))
                break
            at = sections.file_offset(index)
            events += _section_events(section, at)
        return events

    def _open_replay(self, data: bytes) -> list[Diagnostic]:
        part = data[self._header_end :]
        if not part:
            message = "the file ends behind the header: there is no replay part"
            return [Diagnostic(self._header_end, "info", "no_replay", self._header_end, message)]
        try:
            info = read_info(part, self._header_end)
        except FormatError as error:
            return [_damaged(self._header_end, error, "")]
        self.sections = Sections(part, info, self._header_end)
        return self._check_crc("the replay part's header", info.crc, info.computed_crc, self._header_end, 8)

    def _header_diagnostics(self, size_bytes: int, name: str) -> list[Diagnostic]:
        """Return the warnings about the headers and the file name."""
        outer, header, body = self.outer, self.header, self.body_offset
        found: list[Diagnostic] = []
        if outer is not None:
            found += self._check_size("the outer header", outer.file_size, "the file", size_bytes, 8)
            found += self._check_crc("the outer header", outer.crc, outer.computed_crc, 0x38, 8)
        found += self._check_size("the header", header.payload_size, "the body", header.body_size, body + 8)
        for text, offset in ((header.player_name, PLAYER_NAME_OFFSET), (header.mii_name, MII_OFFSET + MII_NAME_OFFSET)):
            if UNDECODABLE in text:
                found.append(self._warning(BAD_TEXT, body + offset, "a name has units that are no text in UTF-16"))
        found += self._check_crc("the Mii", header.mii_crc, header.computed_mii_crc, body + MII_CRC_OFFSET, 4)
        if name and self.file_name is None:
            found.append(self._warning("file_name", 0, "the file's name is not one that the game gives to ghosts"))
        if not header.total.valid or not header.laps_add_up:
            found.append(self._warning("lap_sum", body + TOTAL_OFFSET, "the laps do not add up to the total time"))
        return found

    def _check_crc(self, part: str, stored: int, computed: int, offset: int, digits: int) -> list[Diagnostic]:
        if stored == computed:
            return []
        message = f"the checksum of {part} is {stored:0{digits}x}; the bytes give {computed:0{digits}x}"
        return [self._warning("checksum", offset, message)]

    def _check_size(self, header: str, declared: int, part: str, real: int, offset: int) -> list[Diagnostic]:
        if declared == real:
            return []
        return [self._warning("size_mismatch", offset, f"{header} declares {declared} bytes; {part} has {real}")]

    def _warning(self, code: str, offset: int, message: str) -> Diagnostic:
        return Diagnostic(self._header_end, "warning", code, offset, message)

    def _laps(self) -> list[GameEvent]:
        return [
            GameEvent(
                self._header_end,
                "lap",
                None,
                {"index": index, "milliseconds": lap.total_milliseconds, "basis": "stored"},
            )
            for index, lap in enumerate(self.header.driven_laps)
        ]

    def _result(self) -> dict[str, Any]:
        total = self.header.total
        return {"totalMilliseconds": total.total_milliseconds, "basis": "stored"} if total.valid else {}


class Mk8Reader(WholeFileReader):
    """Reads one ghost.

    `name` is the name of the file, which contains some of the data. If you set `strict`, wrong checksums are an error,
    so all sections have to be unpacked immediately. If you set `personal`, the settings also contain the Mii, the id of
    the profile, and the region.
    """

    format: ClassVar[str] = "mk8"

    def __init__(self, *, strict: bool = False, name: str = "", personal: bool = False) -> None:
        super().__init__()
        self.strict = strict
        self.name = name
        self.personal = personal

    def read(self, data: bytes) -> Mk8Recording:
        """Read a complete file.

        Raises `WrongFormat` if it isn't a ghost, `Unsupported` for MKTV replays and Deluxe ghosts, and `FramingError`
        if the headers are cut off. If `strict` is set, it also raises `FieldError` for a wrong checksum.
        """
        recording = Mk8Recording(data, self.name, self.personal)
        if self.strict:
            for event in (*recording.head, *recording.tail):
                if isinstance(event, Diagnostic) and event.code == "checksum":
                    raise FieldError(event.message, offset=event.offset)
        return recording

    def more(self, max_frames: int) -> list[Event]:
        """Return the events of as many sections as contain `max_frames` frames, but at least one.

        After the last, you get Game End.
        """
        recording = self._recording
        if not isinstance(recording, Mk8Recording) or self._tail_taken:
            return []
        first, self._next = self._next, self._next + max(1, max_frames // FRAMES_PER_SECTION)
        events = recording.section_events(first, self._next)
        if self._next >= recording.section_count:
            self._tail_taken = True
            events.append(recording.end)
        return events


def _section_events(section: Section, at: int) -> list[Event]:
    values: dict[str, Any] = {"index": section.index, "sizeBytes": section.size_bytes, "crcOk": section.crc_ok}
    events: list[Event] = []
    if not section.crc_ok:
        events.append(Diagnostic(at, "warning", "checksum", at, f"the checksum of section {section.index} is wrong"))
    if section.sizes is None:
        message = f"the sizes in section {section.index} do not add up to its {section.size_bytes} bytes"
        events.append(Diagnostic(at, "warning", "section_sizes", at, message))
    else:
        values["sizes"] = section.sizes
    return [GameEvent(at, "section", None, values), *events]


def _damaged(at: int, error: FormatError, consequence: str) -> Diagnostic:
    message = f"the replay part is damaged: {error.what}{consequence}"
    return Diagnostic(at, "warning", "replay_damaged", error.offset, message)
