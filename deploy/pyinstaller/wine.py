"""Lets trio work under Wine, which knows only one of the requests for the base of a socket that trio makes.

Run before slpstream in the program for Windows, and at the start of the tests' Python. It changes nothing on Windows
itself.
"""

import ctypes
import importlib.abc
import importlib.util
import sys

_MODULE = "trio._core._io_windows"


class _BaseSocket(importlib.abc.MetaPathFinder):
    """Replaces trio's search for the base of a socket, once the module is imported."""

    def find_spec(self, name, path, target=None):
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_replace(module):
            execute(module)
            search = module._get_underlying_socket
            module._get_underlying_socket = lambda sock, *, which=None: search(sock)

        spec.loader.exec_module = execute_and_replace
        return spec


if hasattr(ctypes.windll.ntdll, "wine_get_version"):
    sys.meta_path.insert(0, _BaseSocket())
