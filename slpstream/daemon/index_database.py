"""Opens the database of the index of games."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from slpstream.config import Config, StationConfig, state_folder
from slpstream.game.described import describe_stored
from slpstream.model.errors import ConfigError
from slpstream.store import FILE_NAME, Database, NewerVersion, open_database
from slpstream.system.logs import get_logger
from slpstream.system.private_files import private_folder


class OpenedDatabase(NamedTuple):
    """The database of the index, and the folder for everything else that must survive a restart."""

    database: Database
    state_folder: Path
    trouble: str | None
    """Why the index is only kept for this run, or `None` if it is kept in its own folder."""


def open_index_database(config: Config, stations: Sequence[StationConfig], temporary: ExitStack) -> OpenedDatabase:
    """Open the index of games, in a form that other users can't read. This blocks.

    If its own folder cannot be used, we open it in a folder that is deleted with `temporary`, because streaming works
    without the index. Raises `ConfigError` if we cannot write anywhere.
    """
    log = get_logger()
    folder = state_folder(config.store.folder)
    if any(Path(each.folder).expanduser().is_relative_to(folder) for each in stations if each.folder):
        log.warning("state folder stays open to other users: it has watched folders", folder=str(folder))
    else:
        with suppress(OSError):  # opening the database fails in the same way
            if private_folder(folder):
                log.warning("state folder was open to other users; it is closed now", folder=str(folder))

    def warn(damaged: Path, what: str) -> None:
        log.warning(
            "game index is damaged; starting a new one", file=str(folder / FILE_NAME), damaged=str(damaged), what=what
        )

    try:
        database = open_database(folder / FILE_NAME, on_damage=warn, describe=describe_stored)
        return OpenedDatabase(database, folder, None)
    except NewerVersion as error:
        what, state = error.expected, folder
    except (OSError, sqlite3.Error) as error:
        what, state = str(error), None
    log.warning("game index is kept for this run alone", folder=str(folder), what=what)
    database = _temporary_database(temporary)
    return OpenedDatabase(database, state or database.path.parent, f"{folder / FILE_NAME} {what}")


def _temporary_database(temporary: ExitStack) -> Database:
    """Open an index in a temporary folder, or in memory if all disks are read-only or full."""
    for place in (None, "/dev/shm"):  # noqa: S108 -- TemporaryDirectory chooses an unpredictable name in it
        try:
            folder = temporary.enter_context(tempfile.TemporaryDirectory(prefix="slpstream-", dir=place))
            return open_database(Path(folder) / FILE_NAME)
        except (OSError, sqlite3.Error) as error:
            what = error
    raise ConfigError("configuration", "store.folder", "nothing can be written to", found=what) from what
