"""The interface between a service and systemd: notifications, the watchdog, credentials and the state directory.

We don't use a library for this, because the existing ones aren't maintained, and the protocol is only a few lines (see
sd_notify(3), sd_watchdog_enabled(3), and "Credentials" and "StateDirectory=" in systemd.exec(5)). If there's no
systemd, for example on Windows, on macOS or in a terminal, then none of these calls does anything.
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
    """Send assignments such as `READY=1` or `STATUS=two stations` to systemd. This never blocks.

    Returns whether the datagram was sent. If not, then either systemd doesn't want any notifications, or sending has
    failed. You should put the most important assignment first, because if the text doesn't fit into a datagram, it is
    cut off at the end. Also, make sure that you send the watchdog's ping from the event loop: if it comes from a
    thread, it doesn't prove that the loop is still running.
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
    """Return how often to send `WATCHDOG=1`, which is twice as often as systemd requires.

    Returns `None` if there's no watchdog.
    """
    # Child processes inherit the variables, which then refer to their parent.
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        usec = int(environ.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return usec / 2_000_000 if 0 < usec < _USEC_INFINITY else None


def credential(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file of a credential, or `None` if the unit doesn't load it (`LoadCredential=name:path`)."""
    directory = environ.get("CREDENTIALS_DIRECTORY", "")
    # The name can come from the configuration. It must not lead out of the directory.
    if not directory or name in {"", ".", ".."} or "/" in name or "\\" in name or "\0" in name:
        return None
    path = Path(directory, name)
    return path if path.is_file() else None


def state_directory(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    r"""Return the folder that systemd has created for state that should persist, or `None` if it hasn't created one.

    If there are several folders (`StateDirectory=`), systemd separates them with colons, and we use the first one. On
    other systems, you can set the variable by hand. There, a colon can be part of the path, such as in `C:\slpstream`.
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
