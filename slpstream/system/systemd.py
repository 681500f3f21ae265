"""The interface between a service and systemd: notifications, watchdog, credentials, state directory.

The protocol is a few lines (sd_notify(3), sd_watchdog_enabled(3), systemd.exec(5) "Credentials" and "StateDirectory="),
and the libraries for it are unmaintained. Without systemd (on Windows, on macOS, in a terminal) every call is a no-op.
"""

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

# systemd reads one datagram into a buffer of this size (NOTIFY_BUFFER_MAX) and discards a longer one *whole*: the
# READY=1 in front of a long STATUS would be lost too.
_DATAGRAM_MAX = 4096

# sd_watchdog_enabled() rejects both ends of its unsigned 64-bit range: 0 and USEC_INFINITY.
_USEC_INFINITY = 2**64 - 1


def notify(*assignments: str) -> bool:
    """Send assignments such as `READY=1` or `STATUS=two stations` to systemd. Return whether the datagram was sent.

    False means that systemd requested no notifications, or that the datagram could not be sent. The call never blocks.
    Send the watchdog's ping from the event loop: a ping from a thread would prove nothing about the loop. Put the most
    important assignment first, because text that does not fit into a datagram is cut off at the end.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    # Anything but a path or an abstract name is another transport (vsock, for virtual machines).
    if not address.startswith(("/", "@")) or not hasattr(socket, "AF_UNIX"):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto(_datagram(assignments), address)
    except OSError:  # the socket is gone, its queue is full, or its path is too long
        return False
    return True


def watchdog_interval_seconds(environ: Mapping[str, str] = os.environ) -> float | None:
    """Return the period of `WATCHDOG=1`: half the interval that systemd allows; None without a watchdog."""
    # Child processes inherit the variables, which then refer to their parent.
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        usec = int(environ.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return usec / 2_000_000 if 0 < usec < _USEC_INFINITY else None


def credential(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file of a credential that the unit loads (`LoadCredential=name:path`); None if it does not load it."""
    directory = environ.get("CREDENTIALS_DIRECTORY", "")
    # The name can come from the configuration. It must not lead out of the directory.
    if not directory or name in {"", ".", ".."} or "/" in name or "\\" in name or "\0" in name:
        return None
    path = Path(directory, name)
    return path if path.is_file() else None


def state_directory(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """Return the folder that systemd created for persistent state (`StateDirectory=`); None if it created none.

    systemd separates several folders with colons; slpstream uses the first one. On other systems the variable can be
    set by hand, and a path can contain a colon: `C:\\slpstream`.
    """
    folder = environ.get("STATE_DIRECTORY", "")
    if platform.startswith("linux"):
        folder = folder.partition(":")[0]
    return Path(folder) if folder else None


def _datagram(assignments: tuple[str, ...]) -> bytes:
    # Each line is one assignment, and systemd drops a datagram with a NUL inside. A status can contain the name of a
    # file, which can contain anything but "/". It must not become a second assignment or invalid UTF-8 (surrogates, for
    # bytes that Python could not decode): systemd would ignore the line.
    lines = (assignment.translate({0: " ", ord("\n"): " "}) for assignment in assignments)
    datagram = "\n".join(lines).encode("utf-8", "replace")
    # Cut between characters, so that the text stays valid UTF-8.
    return datagram[:_DATAGRAM_MAX].decode("utf-8", "ignore").encode("utf-8")
