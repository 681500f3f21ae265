"""The error tree, by who is at fault.

`ConfigError`: the operator's configuration. `FormatError`: the bytes of a replay. `SourceError`: a file that did not
behave like a log. `SubscriberError`: the other end of a connection. `SinkError`: a disk or receiver that an output
writes to. `StoreError`: the daemon's own disk. Any other exception is a bug in slpstream.

These are not errors: needing more data, an absent field, a declared but unknown command, an unknown enum value.
"""

from __future__ import annotations

from typing import Any


class SlpstreamError(Exception):
    """Base class of all errors that slpstream raises on purpose. They can be pickled for another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[SlpstreamError], texts: tuple[Any, ...], values: dict[str, Any]) -> SlpstreamError:
    """Restore a pickled error without its constructor, whose parameters differ from `args`."""
    error = kind.__new__(kind, *texts)
    error.__dict__.update(values)
    return error


class ConfigError(SlpstreamError):
    """A configuration that cannot be used (exit code 78). Names the file, the key and the expected value.

    No text in it contains a secret, such as a URL with a password. Only `found` contains paths.
    """

    def __init__(self, file: str, key: str, expected: str, *, found: object = "") -> None:
        """`found` is the value found instead, for the log and the terminal: a path, or an error that can name one."""
        what = f"{expected}: {found}" if str(found) else expected
        super().__init__(f"{file}: {key}: {what}" if key else f"{file}: {what}")
        self.file = file
        self.key = key
        self.expected = expected
        self.found = str(found)

    @property
    def for_clients(self) -> str:
        """The message for HTTP responses, without paths of the server."""
        return f"{self.key}: {self.expected}" if self.key else f"the file {self.expected}"


class StoreError(SlpstreamError):
    """Persistent state could not be written."""


class FormatError(SlpstreamError):
    """The bytes of a replay are wrong.

    `offset` counts from the start of the file; `command` is the command byte of the event concerned, if any.
    """

    code = "format_error"
    shows_offset = True

    def __init__(self, what: str, *, offset: int, command: int | None = None) -> None:
        super().__init__(f"{what}, at offset {offset}" if self.shows_offset else what)
        self.what = what
        self.offset = offset
        self.command = command


class WrongFormat(FormatError):
    """The first bytes belong to no format that slpstream reads."""

    code = "wrong_format"


class FramingError(FormatError):
    """The event boundaries are lost: an undeclared command byte, or an impossible size."""

    code = "framing"


class FieldError(FormatError):
    """A value cannot be read, while the boundaries of its event are known."""

    code = "field"


class Unsupported(FormatError):
    """The file is recognised, but slpstream does not read files of its kind: a ghost, a garage, another game."""

    code = "unsupported"


class UnsupportedFile(Unsupported):
    """The file can be read but lacks the requested data. The message has no offset, because no byte is wrong."""

    shows_offset = False

    def __init__(self, what: str, *, offset: int = 0, command: int | None = None) -> None:
        super().__init__(what, offset=offset, command=command)


class SourceError(SlpstreamError):
    """The file did not behave like a log, which only grows."""

    code = "source"

    def __init__(self, source: str, what: str) -> None:
        super().__init__(f"{source}: {what}")
        self.source = source
        self.what = what


class Truncated(SourceError):
    """The file is shorter than the part of it that was already read."""

    code = "truncated"


class Replaced(SourceError):
    """The name now refers to another file, or bytes that were already read have changed."""

    code = "replaced"


class Vanished(SourceError):
    """The file is gone."""

    code = "vanished"


class Unreadable(SourceError):
    """The file cannot be opened or read: permission, not a regular file, a link out of the folder, a read error."""

    code = "unreadable"


class NoSuchMoment(SlpstreamError):
    """The wanted moment of a game does not exist, or cannot be shown."""


class ActRefused(SlpstreamError):
    """A person's request cannot be carried out now. The message gives the reason."""


class SubscriberError(SlpstreamError):
    """The other end of a connection is at fault. The websocket is closed with `close_code`."""

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
    """No station or game has that name."""

    close_code = 4404


class CursorGone(SubscriberError):
    """The cursor names a position that can no longer be read."""

    close_code = 4410


class TooSlow(SubscriberError):
    """The outbox has no room for a message that must not be dropped."""

    close_code = 1013


class SubscriptionFailed(SubscriberError):
    """A bug in slpstream ended the subscription. The other end is not at fault and can resume."""

    close_code = 1011

    def __init__(self, error_id: str) -> None:
        super().__init__(f"internal error {error_id}")


class SinkError(SlpstreamError):
    """An output cannot write or deliver: the disk is full, or the receiver does not answer."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def first_refusal(group: BaseExceptionGroup[SubscriberError]) -> SubscriberError:
    """Return the first of several errors, because several stations can refuse a subscription."""
    first = group.exceptions[0]
    return first_refusal(first) if isinstance(first, BaseExceptionGroup) else first
