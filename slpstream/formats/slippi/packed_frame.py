"""A frame as the bytes of its file, which are decoded or encoded when somebody wants that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from slpstream.formats.slippi.frame_entry import FrameEntry
from slpstream.model.events import Form, PackedEntry
from slpstream.model.fields import Table

FieldReader = Callable[..., tuple[Any, ...]]
"""Reads fields of a frame from its bytes. Called with these, or with a buffer and the position of the frame in it."""


class Fields(NamedTuple):
    """Some fields of an event: how to read them, and where the bytes from the first to the last begin and end."""

    read: FieldReader
    begin: int
    end: int


class Decoder(Protocol):
    """What a packed frame asks the decoder that has recognized it."""

    action_offsets: Sequence[tuple[int, int, int]]
    """Player index, offset of the action state and of its counter (-1 if the replay has none), of each player."""
    json_bytes: int
    """About as many bytes as a message has as JSON."""
    players: Set[int]
    """The player indices of the frame."""
    followers: Set[int]
    """The player indices of its followers."""

    @property
    def slots(self) -> Mapping[tuple[int, int, bool], int]:
        """Offsets of the events that come at most once, by command, player index and follower flag (else 0, false)."""

    def fields(self, table: Table, offset: int, names: Sequence[str]) -> Fields | None:
        """Those of some fields of the event at `offset` in a frame that the replay has; `None` if it has none of them.

        `names` are in the order of the file. Fields that came with later versions are the last ones.
        """

    def decode(self, frame: bytes, revision: int) -> FrameEntry:
        """Decode the bytes of a frame."""

    def template(self, form: Form, fields: tuple[str, ...] | None) -> Any:
        """The kernel's template of a message, see `FrameForms.template`."""


class PackedFrame(PackedEntry, gc=False):
    """The bytes of a whole frame: decoded when a field is read, and encoded when a message is."""

    data: bytes
    decoder: Decoder
    revision: int

    def entry(self) -> FrameEntry:
        """The frame, decoded."""
        return self.decoder.decode(self.data, self.revision)

    def form(self, form: Form, fields: tuple[str, ...] | None = None) -> bytes | None:
        """The payload of the message, made by the kernel; `None` without a template for it."""
        template = self.decoder.template(form, fields)
        return None if template is None else template.render(self.data, 0, self.revision)

    def size_bytes(self) -> int:
        """About as many bytes as the message has as JSON."""
        return self.decoder.json_bytes
