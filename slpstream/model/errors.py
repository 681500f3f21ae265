"""The error tree, by who is at fault.

`ConfigError`: the operator's file. `FormatError`: the bytes of a replay. `SourceError`: the file did what a log must
not do. `SubscriberError`: the other end of a connection. `SinkError`: what we write or post to. `StoreError`: our own
disk. Anything else that is raised is our own bug and crashes loudly.

Not errors: need more data, an absent field, a declared but unknown command, an unknown enum value.
"""

from __future__ import annotations


class SlpstreamError(Exception):
    """Base of everything that slpstream raises on purpose."""


class ConfigError(SlpstreamError):
    """A configuration that cannot be used: names the file, the key and what was expected (exit code 78)."""

    def __init__(self, file: str, key: str, expected: str) -> None:
        super().__init__(f"{file}: {key}: {expected}" if key else f"{file}: {expected}")
        self.file = file
        self.key = key
        self.expected = expected


class StoreError(SlpstreamError):
    """Our own disk: what should be kept cannot be written."""


class FormatError(SlpstreamError):
    """The bytes are wrong. `offset` counts from the start of the file, `command` is the command byte where there is
    one."""

    code = "format_error"

    def __init__(self, what: str, *, offset: int, command: int | None = None) -> None:
        super().__init__(f"{what}, at offset {offset}")
        self.what = what
        self.offset = offset
        self.command = command


class WrongFormat(FormatError):
    """The first bytes are not those of any format that we read."""

    code = "wrong_format"


class FramingError(FormatError):
    """The event boundaries are lost: an undeclared command byte, or a size that cannot be."""

    code = "framing"


class FieldError(FormatError):
    """One value cannot be read; the boundaries of what surrounds it are known."""

    code = "field"


class Unsupported(FormatError):
    """The file is recognised for what it is, and that is something we do not read: a ghost, a garage, another game."""

    code = "unsupported"


class SourceError(SlpstreamError):
    """The file did what a log must not do."""

    code = "source"

    def __init__(self, source: str, what: str) -> None:
        super().__init__(f"{source}: {what}")
        self.source = source
        self.what = what


class Truncated(SourceError):
    """The file is shorter than what was already read from it."""

    code = "truncated"


class Replaced(SourceError):
    """Another file has come under the same name, or the bytes that were read have changed."""

    code = "replaced"


class Vanished(SourceError):
    """The file is gone."""

    code = "vanished"


class Unreadable(SourceError):
    """The file cannot be opened or read: permission, not a regular file, a link out of the folder, a read error."""

    code = "unreadable"


class SubscriberError(SlpstreamError):
    """The other end of a connection is at fault. `close_code` is the websocket close code."""

    close_code = 4400

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class ProtocolViolation(SubscriberError):
    """The request does not follow the protocol."""


class NotAuthorised(SubscriberError):
    """The token is missing or wrong."""

    close_code = 4401


class NoSuchGame(SubscriberError):
    """No such station or game."""

    close_code = 4404


class CursorGone(SubscriberError):
    """The cursor names a place that can no longer be read."""

    close_code = 4410


class TooSlow(SubscriberError):
    """What may not be dropped does not fit into the outbox."""

    close_code = 1013


class SinkError(SlpstreamError):
    """What we write or post to does not take it: a disk that is full, a receiver that does not answer."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def first_refusal(group: BaseExceptionGroup[SubscriberError]) -> SubscriberError:
    """Several stations can refuse at once; one reason is enough."""
    first = group.exceptions[0]
    return first_refusal(first) if isinstance(first, BaseExceptionGroup) else first
