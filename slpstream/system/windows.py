"""Functions of Windows that are missing in the standard library. You can only import this module on Windows."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import wintypes
from pathlib import Path
from typing import Final

assert sys.platform == "win32"  # noqa: S101 -- type checkers skip the rest of this file on other systems

import msvcrt  # noqa: E402 -- exists only on Windows

FILE_LIST_DIRECTORY: Final = 0x0001
GENERIC_READ: Final = 0x80000000
SHARE_ALL: Final = 0x1 | 0x2 | 0x4
"""FILE_SHARE_READ, FILE_SHARE_WRITE and FILE_SHARE_DELETE: other programs can write, rename and delete the file."""
FILE_FLAG_BACKUP_SEMANTICS: Final = 0x02000000
"""Required to open a folder."""
FILE_FLAG_OVERLAPPED: Final = 0x40000000
_OPEN_EXISTING: Final = 3
_DRIVE_REMOTE: Final = 4
_MAX_PATH_CHARACTERS: Final = 32768
_INVALID_HANDLE: Final = ctypes.c_void_p(-1).value
# GUID {FDD39AD0-238F-46AF-ADB4-6C85480369C7}, as bytes in memory.
_FOLDERID_DOCUMENTS: Final = bytes.fromhex("d09ad3fd8f23af46adb46c85480369c7")
_KF_FLAG_DONT_VERIFY: Final = 0x4000
_ERROR_IO_PENDING: Final = 997

_kernel32: Final = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.CreateFileW.restype = wintypes.HANDLE
_kernel32.CreateFileW.argtypes = (
    wintypes.LPCWSTR,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.LPVOID,
    wintypes.DWORD,
    wintypes.DWORD,
    wintypes.HANDLE,
)
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
_kernel32.GetFileSizeEx.argtypes = (wintypes.HANDLE, ctypes.POINTER(ctypes.c_int64))
_kernel32.GetVolumePathNameW.argtypes = (wintypes.LPCWSTR, wintypes.LPWSTR, wintypes.DWORD)
_kernel32.GetDriveTypeW.argtypes = (wintypes.LPCWSTR,)
_kernel32.ReadDirectoryChangesW.argtypes = (
    wintypes.HANDLE,
    wintypes.LPVOID,
    wintypes.DWORD,
    wintypes.BOOL,
    wintypes.DWORD,
    wintypes.LPVOID,
    wintypes.LPVOID,
    wintypes.LPVOID,
)


class Overlapped(ctypes.Structure):
    """The state of a pending operation (OVERLAPPED). You have to keep a reference to it until the operation ends."""

    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("event", wintypes.HANDLE),
    )


def create_file(path: str, access: int, flags: int = 0) -> int:
    """Open an existing file or folder and return its handle.

    Other programs can still use it. Raises `OSError` if that fails.
    """
    handle: int | None = _kernel32.CreateFileW(path, access, SHARE_ALL, None, _OPEN_EXISTING, flags, None)
    if handle is None or handle == _INVALID_HANDLE:
        raise _last_error(path)
    return handle


def close_handle(handle: int) -> None:
    """Close a handle. If there are pending operations, they end."""
    _kernel32.CloseHandle(handle)


def open_for_reading(path: str) -> int:
    """Open a file for reading and return its descriptor.

    In contrast to `os.open`, other programs can rename and delete the file while you have it open. Raises `OSError` if
    that fails.
    """
    handle = create_file(path, GENERIC_READ)
    try:
        return msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)
    except OSError:
        close_handle(handle)
        raise


def size_of(descriptor: int) -> int:
    """Return the size of an open file in bytes. This is much faster than `os.fstat`. Raises `OSError` if it fails."""
    size_bytes = ctypes.c_int64()
    if not _kernel32.GetFileSizeEx(msvcrt.get_osfhandle(descriptor), ctypes.byref(size_bytes)):
        raise _last_error()
    return size_bytes.value


def is_local(path: str) -> bool:
    """Whether a path is on a drive of this machine. This function blocks."""
    volume = ctypes.create_unicode_buffer(_MAX_PATH_CHARACTERS)
    if not _kernel32.GetVolumePathNameW(path, volume, len(volume)):
        return False
    kind: int = _kernel32.GetDriveTypeW(volume.value)
    return kind != _DRIVE_REMOTE


def begin_reading_changes(
    folder: int, buffer: ctypes.Array[ctypes.c_char], changes: int, overlapped: Overlapped
) -> None:
    """Ask for the next changes in the folder with this handle and everything below it. `changes` are the kinds that you
    want.

    When the operation of `overlapped` is done, you find them in `buffer`. Raises `OSError` if that isn't possible.
    """
    done = _kernel32.ReadDirectoryChangesW(
        folder, buffer, len(buffer), True, changes, None, ctypes.byref(overlapped), None
    )
    if not done and ctypes.get_last_error() != _ERROR_IO_PENDING:
        raise _last_error()


def documents_folder() -> Path | None:
    """Return the user's Documents folder, or `None` if it is unknown.

    It might have been redirected to OneDrive or another drive.
    """
    shell32, ole32 = ctypes.WinDLL("shell32"), ctypes.WinDLL("ole32")
    ole32.CoTaskMemFree.argtypes = (ctypes.c_void_p,)
    found = ctypes.c_wchar_p()
    folder = ctypes.create_string_buffer(_FOLDERID_DOCUMENTS, len(_FOLDERID_DOCUMENTS))
    failure = shell32.SHGetKnownFolderPath(folder, _KF_FLAG_DONT_VERIFY, None, ctypes.byref(found))
    path = found.value
    ole32.CoTaskMemFree(found)
    return Path(path) if not failure and path else None


def _last_error(path: str | None = None) -> OSError:
    code = ctypes.get_last_error()
    return OSError(0, ctypes.FormatError(code).strip(), path, code)
