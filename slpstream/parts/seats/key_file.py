"""The file that contains the secret from which we derive the tokens of seats."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

import msgspec

from slpstream.model.foreign_data import read_json
from slpstream.model.prepared import prepared
from slpstream.parts.seats.tokens import SECRET_BYTES, Keys
from slpstream.store.opening import rename_damaged
from slpstream.system.files import read_regular
from slpstream.system.logs import get_logger
from slpstream.system.private_files import create_private_file, private_file, private_folder

FOLDER_NAME = "secrets"
"""The only folder in the state folder with secrets. No recipe of the documentation copies it."""
FILE_NAME = "seats.json"


@prepared
class _File(Keys, frozen=True):
    """The content of the file."""


class KeyFile:
    """Keeps the keys in a file that no one except its owner can read."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder / FOLDER_NAME
        self._path = self._folder / FILE_NAME
        self._former_path = state_folder / FILE_NAME
        """The path of the file in earlier versions."""
        self.trouble: str | None = None
        """Why the keys would not survive a restart, or `None` if they would."""
        self._log = get_logger()

    def load(self) -> Keys:
        """Read the keys from the file. This blocks.

        If the file can't be read, it is renamed, and we make a new file with new keys.
        """
        with contextlib.suppress(OSError):  # `keep` reports it
            private_folder(self._folder)
            if self._former_path.is_file():  # an older version ran here last
                self._former_path.replace(self._path)
            self._former_path.with_name(f".{FILE_NAME}.new").unlink(missing_ok=True)
            private_file(self._path)
        try:
            kept = read_json(read_regular(self._path), _File, ValueError)
            if len(bytes.fromhex(kept.secret)) == SECRET_BYTES:
                return kept
            what = "the secret has another length"
        except FileNotFoundError:
            return self.renew()
        except OSError as error:
            what = str(error.strerror or error)
        except ValueError as error:  # not JSON, or not hexadecimal
            what = str(error)
        renamed: str | None = None
        with contextlib.suppress(OSError):
            renamed = str(rename_damaged(self._path))
        self._log.error(
            "codes of seats cannot be read; all codes are replaced", file=str(self._path), damaged=renamed, what=what
        )
        return self.renew()

    def renew(self) -> Keys:
        """Replace the keys by new ones. This blocks."""
        keys = Keys(secrets.token_hex(SECRET_BYTES))
        self.keep(keys)
        return keys

    def keep(self, keys: Keys) -> None:
        """Write the keys to the file. This blocks. If it fails, you find the reason in `trouble`."""
        new = self._path.with_name(f".{FILE_NAME}.new")
        try:
            private_folder(self._folder)
            new.unlink(missing_ok=True)
            with open(create_private_file(new), "wb") as file:  # noqa: PTH123 -- a descriptor
                file.write(msgspec.json.encode(keys))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
            self.trouble = None
        except OSError as error:
            if self.trouble is None:
                self._log.error("codes of seats cannot be kept", file=str(self._path), what=str(error.strerror))
            self.trouble = f"{self._path}: {error.strerror}"
