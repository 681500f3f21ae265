"""A single connection to OBS, for a program that just asks a few things and then ends.

It blocks. In a daemon, use `link` instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from slpstream.model.errors import SinkError
from slpstream.parts.obs.session import SUBPROTOCOL, SUCCESS, Answer, Identified, ObsSession, Received

_ANSWER_SECONDS = 10.0
_REFUSED_PASSWORD = 4009


class ObsClient:
    """Sends requests to OBS, and waits for each answer. To get one, call `connected`."""

    def __init__(self, socket: ClientConnection, password: str | None) -> None:
        self._socket = socket
        self._session = ObsSession(password)

    def identify(self) -> None:
        """Complete the handshake. Raises `SinkError` if that fails."""
        while not isinstance(self._next(), Identified):
            pass

    def ask(self, kind: str, data: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Send a request and return the answer. Raises `SinkError` if that fails, or if OBS refuses the request."""
        id = self._session.request(kind, data)
        while True:
            received = self._next()
            if isinstance(received, Answer) and received.id == id:
                if received.code != SUCCESS:
                    raise SinkError(f"OBS refuses {kind}: {received.comment or received.code}")
                return received.data

    def _next(self) -> Received | None:
        for message in self._session.messages_to_send():
            self._socket.send(message.decode())
        return self._session.receive(self._socket.recv(_ANSWER_SECONDS, decode=False))


@contextlib.contextmanager
def connected(url: str, password: str | None) -> Iterator[ObsClient]:
    """A context manager that connects to OBS until the end of the block. Raises `SinkError` if that fails."""
    try:
        with connect(url, subprotocols=[Subprotocol(SUBPROTOCOL)], open_timeout=_ANSWER_SECONDS, proxy=None) as socket:
            client = ObsClient(socket, password)
            client.identify()
            yield client
    except TimeoutError:
        raise SinkError("OBS does not answer") from None
    except (OSError, WebSocketException) as error:
        refused = getattr(getattr(error, "rcvd", None), "code", None) == _REFUSED_PASSWORD
        raise SinkError("the password is wrong" if refused else f"OBS cannot be reached: {error}") from None
