"""The start of the one-file programs: the command line, in a window that stays open when there is something to read."""

from __future__ import annotations

import multiprocessing
import sys

from slpstream.cli import main


def _has_own_window() -> bool:
    """Whether Windows opened a window for this program alone, as it does after a double click.

    Such a window closes when the program ends. Its only processes are the program and the one that unpacks it.
    """
    if sys.platform != "win32":
        return False
    import ctypes  # noqa: PLC0415 -- only Windows has such windows

    processes = (ctypes.c_uint32 * 3)()
    return 0 < ctypes.windll.kernel32.GetConsoleProcessList(processes, len(processes)) < len(processes)


def _run() -> None:
    try:
        main()
    except SystemExit as end:
        if end.code not in (None, 0) and _has_own_window():
            input("Press Enter to close this window.")
        raise


if __name__ == "__main__":
    multiprocessing.freeze_support()  # a worker process starts here too
    _run()
