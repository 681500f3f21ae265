"""The file with the secret from which the tokens of seats are derived."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from slpstream.model.prepared import prepared
from slpstream.system.logs import get_logger
from slpstream.tournament.seats.tokens import SECRET_BYTES, Keys

FILE_NAME = "seats.json"


@prepared
class _File(Keys, frozen=True):
    """The content of the file."""


class KeyFile:
    """Keeps the keys in a file that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self.trouble: str | None = None
        """Why the keys would not survive a restart."""
        self._log = get_logger()

    def load(self) -> Keys:
        """The kept keys, or new ones, which are kept. Blocks."""
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_File)
            if len(bytes.fromhex(kept.secret)) == SECRET_BYTES:
                return kept
            what = "the secret has another length"
        except FileNotFoundError:
            return self.renew()
        except OSError as error:
            what = str(error.strerror)
        except ValueError as error:  # not JSON, or not hexadecimal
            what = str(error)
        self._log.error("codes of seats cannot be read; all codes are replaced", file=str(self._path), what=what)
        return self.renew()

    def renew(self) -> Keys:
        """Make other keys and keep them. Blocks."""
        keys = Keys(secrets.token_hex(SECRET_BYTES))
        self.keep(keys)
        return keys

    def keep(self, keys: Keys) -> None:
        """Write the keys to the file. A failure is in `trouble`. Blocks."""
        new = self._path.with_name(f".{FILE_NAME}.new")
        try:
            new.unlink(missing_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123 -- a descriptor
                file.write(msgspec.json.encode(keys))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
            self.trouble = None
        except OSError as error:
            if self.trouble is None:
                self._log.error("codes of seats cannot be kept", file=str(self._path), what=str(error.strerror))
            self.trouble = f"{self._path}: {error.strerror}"
