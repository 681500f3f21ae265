"""A connection to Redis under trio: from the URL of the configuration to a client, and what can go wrong with it.

Everything of coredis that both ends need is here. A call is never tried again by the client itself: who lost a
connection has to ask anew where it is. `BROKER_ERRORS` is all that a broker which is away, restarts, refuses or fails
over can cause; anything else is a bug of ours.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import coredis
import trio
from coredis.exceptions import RedisError
from coredis.retry import NoRetryPolicy

from slpstream.model.errors import ConfigError
from slpstream.outputs.redis.streams import FIELD, parse_id

Client = coredis.Redis[bytes] | coredis.RedisCluster[bytes]

BROKER_ERRORS = (RedisError, OSError, trio.TooSlowError)
DEFAULT_PORT = 6379
ANSWER_SECONDS = 15.0
"""An answer that takes longer does not come; a call that waits for news is given that time beside."""

_CONNECT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 5.0
_MAX_CONNECTIONS = 512
_MAX_REASON = 200

# What it has to say about a connection is in the errors that it raises, and we say those.
logging.getLogger("coredis").addHandler(logging.NullHandler())
logging.getLogger("coredis").propagate = False


class Address(NamedTuple):
    """Where the broker is, and how it is spoken to."""

    host: str
    port: int
    username: str | None
    password: str | None
    database: int
    cluster: bool
    context: ssl.SSLContext | None

    def __str__(self) -> str:
        """Without the password."""
        scheme = ("rediss" if self.context else "redis") + ("+cluster" if self.cluster else "")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/{self.database or ''}".rstrip("/")


def address_of(url: str, password_file: str = "", ca_file: str = "") -> Address:
    """The address in `fanout.url`: `redis`, `rediss`, `redis+cluster` or `rediss+cluster`. Raises `ConfigError`."""
    try:
        parts = urlsplit(url)
        port = parts.port
        database = int(parts.path.strip("/") or 0)
    except ValueError as error:
        raise ConfigError(
            "configuration", "fanout.url", f"expected scheme://user:password@host:port/db: {error}"
        ) from None
    scheme, _, cluster = parts.scheme.partition("+")
    if scheme not in ("redis", "rediss") or cluster not in ("", "cluster") or not parts.hostname:
        raise ConfigError("configuration", "fanout.url", f"expected redis://, rediss:// or redis+cluster://: {url!r}")
    if cluster and database:
        raise ConfigError("configuration", "fanout.url", "a cluster has no databases but 0")
    password = unquote(parts.password) if parts.password else None
    if password_file:
        password = _first_line(password_file)
    context = None
    if scheme == "rediss":
        try:
            context = ssl.create_default_context(cafile=ca_file or None)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError("configuration", "fanout.ca_file", f"cannot be used: {error}") from error
    username = unquote(parts.username) if parts.username else None
    return Address(parts.hostname, port or DEFAULT_PORT, username, password, database, bool(cluster), context)


def _first_line(password_file: str) -> str:
    try:
        password = Path(password_file).read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("configuration", "fanout.password_file", f"cannot be read: {error}") from error
    if not password:
        raise ConfigError("configuration", "fanout.password_file", "the first line is empty")
    return password


@contextlib.asynccontextmanager
async def connected(address: Address) -> AsyncIterator[Client]:
    """A client that has reached the broker. Raises one of `BROKER_ERRORS`, also in groups, when that cannot be done or
    ends."""
    options: dict[str, Any] = {
        "username": address.username,
        "password": address.password,
        "ssl_context": address.context,
        "connect_timeout": _CONNECT_SECONDS,
        "stream_timeout": ANSWER_SECONDS,
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


class Entry(NamedTuple):
    """One entry of a stream: the ordinal of its turn, its packed place, its line."""

    ordinal: int
    place: int
    line: bytes

    @property
    def id(self) -> bytes:
        """As the broker has it."""
        return b"%d-%d" % (self.ordinal, self.place)


def entries_of(answer: Sequence[Any] | None) -> list[Entry]:
    """What XRANGE and the like answer. An entry that is none of ours has an empty line."""
    return [Entry(*parse_id(entry.identifier), entry.field_values.get(FIELD, b"")) for entry in answer or ()]


def reason_of(error: BaseException) -> str:
    """One line for people; of several errors the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    cause = error.__cause__
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    said = f"{error}: {cause}" if cause is not None and str(cause) else str(error)
    # A pipeline puts the whole command before what the broker has said of it.
    said = said.rpartition(") of pipeline caused error: ")[2] if "caused error" in said else said
    return " ".join((said or type(error).__name__).split())[:_MAX_REASON]


def pauses() -> Iterator[float]:
    """How long to wait before each further attempt, in seconds."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, _MAX_PAUSE_SECONDS)


async def keep_connected(
    address: Address, session: Callable[[Client], Awaitable[None]], lost: Callable[[str], None]
) -> None:
    """Runs a session on one connection after the other, for ever. `lost` is told why one has ended; a session that
    lasted begins the pauses anew."""
    waits = pauses()
    while True:
        began = trio.current_time()
        try:
            async with connected(address) as client:
                await session(client)
        except* BROKER_ERRORS as errors:
            lost(reason_of(errors))
        if trio.current_time() - began > _MAX_PAUSE_SECONDS:
            waits = pauses()
        await trio.sleep(next(waits))
