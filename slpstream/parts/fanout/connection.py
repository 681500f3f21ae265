"""Connect to Redis under trio with coredis. Both ingests and gateways use this.

The client never retries a call, because if a connection was lost, the session first has to find out how far it had
come. `BROKER_ERRORS` are the errors that you get if a broker is down, restarts, refuses something or fails over. If
there's any other error, it is a bug.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import coredis
import trio
from coredis.exceptions import RedisError
from coredis.retry import NoRetryPolicy

from slpstream.config import read_secret
from slpstream.model.errors import ConfigError
from slpstream.parts.fanout.checks import check_broker_url
from slpstream.parts.fanout.streams import FIELD, parse_id

Client = coredis.Redis[bytes] | coredis.RedisCluster[bytes]

BROKER_ERRORS = (RedisError, OSError, trio.TooSlowError)
DEFAULT_PORT = 6379
_CALL_TIMEOUT_SECONDS = 15.0
"""Timeout of a call, in addition to the time for which the call itself asks to block."""

_CONNECT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 5.0
_MAX_CONNECTIONS = 512
_MAX_REASON_CHARS = 200

# coredis also raises the errors that it logs; they are logged where they are caught.
logging.getLogger("coredis").addHandler(logging.NullHandler())
logging.getLogger("coredis").propagate = False


class Address(NamedTuple):
    """The address of the broker, and the options for the connection."""

    host: str
    port: int
    username: str | None
    password: str | None
    database: int
    cluster: bool
    context: ssl.SSLContext | None

    def __str__(self) -> str:
        """Return the URL, but without the user and password."""
        scheme = ("rediss" if self.context else "redis") + ("+cluster" if self.cluster else "")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/{self.database or ''}".rstrip("/")


def address_of(url: str, password_file: str = "", ca_file: str = "") -> Address:
    """Parse `fanout.url`. Its scheme must be `redis`, `rediss`, `redis+cluster` or `rediss+cluster`.

    Raises `ConfigError` if there's a problem.
    """
    parts = check_broker_url(url)
    scheme, _, cluster = parts.scheme.partition("+")
    database = int(parts.path.strip("/") or 0)
    password = unquote(parts.password) if parts.password else None
    if password_file:
        password = read_secret(Path(password_file), "fanout.password_file")
    context = None
    if scheme == "rediss":
        try:
            context = ssl.create_default_context(cafile=str(Path(ca_file).expanduser()) if ca_file else None)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError("configuration", "fanout.ca_file", "cannot be used", found=error) from error
    username = unquote(parts.username) if parts.username else None
    return Address(
        str(parts.hostname), parts.port or DEFAULT_PORT, username, password, database, bool(cluster), context
    )


@contextlib.asynccontextmanager
async def connected(address: Address) -> AsyncIterator[Client]:
    """A context manager that connects to the broker until the end of the block.

    If the connection fails or is lost, this raises one of `BROKER_ERRORS`, or a group of them.
    """
    options: dict[str, Any] = {
        "username": address.username,
        "password": address.password,
        "ssl_context": address.context,
        "connect_timeout": _CONNECT_SECONDS,
        "stream_timeout": _CALL_TIMEOUT_SECONDS,
        "max_connections": _MAX_CONNECTIONS,
        "retry_policy": NoRetryPolicy(),
        "verify_version": False,
    }
    client: Client
    if address.cluster:
        client = coredis.RedisCluster(address.host, address.port, **options)
    else:
        client = coredis.Redis(address.host, address.port, address.database, **options)
    async with client:
        with trio.fail_after(_CONNECT_SECONDS):
            await client.ping()
        yield client


class StreamEntry(NamedTuple):
    """One entry of a stream, which consists of the ordinal of its turn, its packed position and its line."""

    ordinal: int
    position: int
    line: bytes

    @property
    def id(self) -> bytes:
        """The entry id."""
        return b"%d-%d" % (self.ordinal, self.position)


def entries_of(response: Sequence[Any] | None) -> list[StreamEntry]:
    """Return the entries that you get from XRANGE and similar commands.

    If an entry doesn't have a line, it gets an empty one.
    """
    return [StreamEntry(*parse_id(entry.identifier), entry.field_values.get(FIELD, b"")) for entry in response or ()]


def reason_of(error: BaseException) -> str:
    """Describe an error in one line. If it is a group, we use its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    cause = error.__cause__
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    text = f"{error}: {cause}" if cause is not None and str(cause) else str(error)
    # Errors of a pipeline begin with the whole command.
    text = text.rpartition(") of pipeline caused error: ")[2] if "caused error" in text else text
    return " ".join((text or type(error).__name__).split())[:_MAX_REASON_CHARS]


def _backoff() -> Iterator[float]:
    """Yield how many seconds to wait before each further attempt."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, _MAX_PAUSE_SECONDS)


async def keep_connected(
    address: Address, session: Callable[[Client], Awaitable[None]], lost: Callable[[str], None]
) -> None:
    """Run a session on one connection after another, until cancelled.

    Each time a connection ends, `lost` is called with the reason. The pauses in between get longer, but if a session
    has lasted for a while, they start again from the beginning.
    """
    pauses = _backoff()
    while True:
        began = trio.current_time()
        try:
            async with connected(address) as client:
                await session(client)
        except* BROKER_ERRORS as errors:
            lost(reason_of(errors))
        if trio.current_time() - began > _MAX_PAUSE_SECONDS:
            pauses = _backoff()
        await trio.sleep(next(pauses))
