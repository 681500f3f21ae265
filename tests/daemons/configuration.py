"""Configuration files for daemons, passed as arguments to `tests.daemons.process.running`."""

from __future__ import annotations

from pathlib import Path


def configuration(folder: Path, text: str) -> tuple[str, str]:
    """Write this configuration file into a folder, and return the arguments of a daemon that uses it."""
    path = folder / "slpstream.toml"
    path.write_text(text, encoding="utf-8")
    return "--config", str(path)


def requiring_tokens(folder: Path, more: str = "") -> tuple[str, str]:
    """The arguments of a daemon that requires tokens: `sesame` to read and `open` to operate.

    `more` is added to its configuration.
    """
    for name, token in (("token", "sesame"), ("operate", "open")):
        (folder / name).write_text(f"{token}\n")
    return configuration(
        folder,
        f"[server]\nrequire_token = true\ntoken_file = '{folder / 'token'}'\n"
        f"operate_token_file = '{folder / 'operate'}'\n{more}",
    )
