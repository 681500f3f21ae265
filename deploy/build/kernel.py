"""Builds the compiled kernel when a wheel or an editable installation is made, where there is a compiler.

A hook of hatchling (`pyproject.toml`). Without a compiler the wheel has no kernel and fits every platform. The kernel
uses the stable ABI of Python 3.11, so that one wheel per platform fits all later versions.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = Path("slpstream/formats/kernel")
_SOURCES = (
    "kernel.cpp", "frames.cpp", "messages.cpp", "quiet.cpp", "walk.cpp", "table.cpp", "log.cpp", "growth.cpp",
    "sending.cpp",
)  # fmt: skip
_HEADERS = ("kernel.h", "frames.h")
_MODULE = "slpstream.formats.kernel._kernel"
_ABI = "cp311-abi3"


class KernelBuildHook(BuildHookInterface[Any]):
    """Compiles the kernel in its folder and adds it to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects the files."""
        if self.target_name != "wheel" or os.environ.get("SLPSTREAM_PURE") == "1":
            return
        try:
            built = _compiled(Path(self.root))
        except Exception as error:  # noqa: BLE001 -- setuptools raises what it likes, and the kernel is optional
            self.app.display_warning(f"the kernel is not built, slpstream works without it: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{_ABI}-{platform}"
        build_data["artifacts"].append(f"/{built.relative_to(self.root).as_posix()}")


def _compiled(root: Path) -> Path:
    """Compile the kernel and return the module's file."""
    from setuptools import Distribution, Extension  # noqa: PLC0415 -- a machine may build without it
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415

    is_msvc = sys.platform == "win32"
    extension = Extension(
        _MODULE,
        sources=[(_FOLDER / name).as_posix() for name in _SOURCES],
        depends=[(_FOLDER / name).as_posix() for name in _HEADERS],
        language="c++",
        extra_compile_args=["/std:c++17", "/O2"] if is_msvc else ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden"],
        py_limited_api=True,
    )
    before = Path.cwd()
    os.chdir(root)
    try:
        command = build_ext(Distribution({"name": "slpstream", "ext_modules": [extension]}))
        command.build_temp = str(root / "build" / "kernel")
        command.inplace = True
        command.ensure_finalized()
        command.run()
        return root / command.get_ext_fullpath(_MODULE)
    finally:
        os.chdir(before)
