"""All errors that slpstream raises on purpose, as a tree that shows who is at fault.

If you get a `ConfigError`, the operator should look at the configuration. A `FormatError` means that the bytes of a
replay are wrong, and a `SourceError` that a file did not behave like a log. A `SubscriberError` is caused by the other
end of a connection. A `SinkError` comes from a disk or receiver that an output writes to, and a `StoreError` from the
daemon's own disk. If you see any other exception, you have found a bug in slpstream.

Some situations might look like errors but are not: needing more data, an absent field, a command that is declared but
unknown, or an unknown enum value.
"""

from __future__ import annotations

from typing import Any


class SlpstreamError(Exception):
    """The base class of all errors that slpstream raises on purpose.

    You can pickle them to send them to another process.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[SlpstreamError], texts: tuple[Any, ...], values: dict[str, Any]) -> SlpstreamError:
    """Restore a pickled error without calling its constructor, because the parameters of the constructor differ from
    `args`.
    """
    error = kind.__new__(kind, *texts)
    error.__dict__.update(values)
    return error


class ConfigError(SlpstreamError):
    """Raised if the configuration can't be used. The process then exits with code 78.

    The message names the file, the key and the value that was expected. Since messages end up in logs, no text in it
    contains a secret, such as a URL with a password. Paths only occur in `found`.
    """

    def __init__(self, file: str, key: str, expected: str, *, found: object = "") -> None:
        """`found` is the value that was found instead, such as a path, or an error that might contain one.

        It is only shown in the log and on the terminal.
        """
        what = f"{expected}: {found}" if str(found) else expected
        super().__init__(f"{file}: {key}: {what}" if key else f"{file}: {what}")
        self.file = file
        self.key = key
        self.expected = expected
        self.found = str(found)

    @property
    def for_clients(self) -> str:
        """The message in a form that is safe to send in an HTTP response, because it contains no paths of the
        server.
        """
        return f"{self.key}: {self.expected}" if self.key else f"the file {self.expected}"


class StoreError(SlpstreamError):
    """Raised if the daemon is unable to write its persistent state."""


class FormatError(SlpstreamError):
    """Raised if the bytes of a replay are wrong.

    `offset` is counted from the start of the file. `command` is the command byte of the event where the problem was
    found, if there is one.
    """

    code = "format_error"
    shows_offset = True

    def __init__(self, what: str, *, offset: int, command: int | None = None) -> None:
        super().__init__(f"{what}, at offset {offset}" if self.shows_offset else what)
        self.what = what
        self.offset = offset
        self.command = command


class WrongFormat(FormatError):
    """Raised if the first bytes don't belong to any format that slpstream can read."""

    code = "wrong_format"


class FramingError(FormatError):
    """Raised if we can't tell any more where the next event begins, because of an undeclared command byte or an
    impossible size.
    """

    code = "framing"


class FieldError(FormatError):
    """Raised if a value can't be read, although it is known where its event begins and ends."""

    code = "field"


class Unsupported(FormatError):
    """Raised if slpstream recognises the file but doesn't read files of its kind: for example, a ghost, a garage or
    another game.
    """

    code = "unsupported"


class UnsupportedFile(Unsupported):
    """Raised if the file can be read but doesn't contain the data that you asked for.

    The message shows no offset, because none of the bytes are wrong.
    """

    shows_offset = False

    def __init__(self, what: str, *, offset: int = 0, command: int | None = None) -> None:
        super().__init__(what, offset=offset, command=command)


class SourceError(SlpstreamError):
    """The base class for errors of a file that did not behave like a log, which is only supposed to grow."""

    code = "source"

    def __init__(self, source: str, what: str) -> None:
        super().__init__(f"{source}: {what}")
        self.source = source
        self.what = what


class Truncated(SourceError):
    """Raised if the file has become shorter than the part of it that we have already read."""

    code = "truncated"


class Replaced(SourceError):
    """Raised if the name now refers to another file, or if bytes that we have already read were changed."""

    code = "replaced"


class Vanished(SourceError):
    """Raised if the file doesn't exist any more."""

    code = "vanished"


class Unreadable(SourceError):
    """Raised if the file can't be opened or read.

    This can have several causes: missing permissions, a link that leads out of the folder, a read error, or because it
    isn't a regular file.
    """

    code = "unreadable"


class NoSuchMoment(SlpstreamError):
    """Raised if you ask for a moment of a game that doesn't exist or can't be shown."""


class ActRefused(SlpstreamError):
    """Raised if the request of a person can't be carried out now. The message explains why."""


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
    """Raised if an output is unable to write or deliver its data, because the disk is full or the receiver doesn't
    answer.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def first_refusal(group: BaseExceptionGroup[SubscriberError]) -> SubscriberError:
    """Return the first error of the given group.

    There can be more than one, because each station can refuse a subscription.
    """
    first = group.exceptions[0]
    return first_refusal(first) if isinstance(first, BaseExceptionGroup) else first
