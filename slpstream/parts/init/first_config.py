"""The text of a first configuration file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from slpstream.config import DEFAULT_PORT, EACH_SUBFOLDER, stations_of_folders

_LOOPBACK = "127.0.0.1"
_ALL_ADDRESSES = "0.0.0.0"


class Answers(NamedTuple):
    """The answers to the questions."""

    folders: Sequence[Path]
    several: bool
    """Whether each subfolder of the folders is a setup."""
    in_network: bool
    token_file: Path | None
    controls_obs: bool


def first_config(answers: Answers, file: Path) -> str:
    """Return the text of the configuration. All paths in it are absolute."""
    return "\n".join(_lines(answers, file)) + "\n"


def _lines(answers: Answers, file: Path) -> Iterator[str]:
    yield f"# Configuration of slpstream: slpstream serve --config {json.dumps(file.name, ensure_ascii=False)}"
    yield "# All other keys and their defaults: slpstream reference config. To check changes: slpstream check-config."
    yield ""
    yield "[server]"
    if answers.in_network:
        yield "# Other machines may connect, and need the token in the first line of this file."
        yield f'host = "{_ALL_ADDRESSES}"'
    else:
        yield f'# Only this machine may connect. For other machines: host = "{_ALL_ADDRESSES}", with a token_file.'
        yield f'host = "{_LOOPBACK}"'
    yield f"port = {DEFAULT_PORT}"
    if answers.token_file is not None:
        yield f"token_file = {_text(answers.token_file)}"
    yield ""
    if answers.several:
        yield "# Each subfolder is a station with its name. New subfolders are found while slpstream runs."
    else:
        yield "# The station. It has its id in addresses, such as /overlay/ID."
    for station in stations_of_folders(answers.folders):
        yield "[[stations]]"
        yield f'id = "{EACH_SUBFOLDER if answers.several else station.id}"'
        yield f"folder = {_text(station.folder)}"
        yield ""
    yield "[sets]"
    yield "# Length of a set in games. Operators can change it for each set."
    yield "best_of = 3"
    if answers.controls_obs:
        yield ""
        yield "[obs]"
        yield "# In OBS: Tools > WebSocket Server Settings > Enable. The file has its password in the first line."
        yield 'url = "ws://127.0.0.1:4455"'
        yield f"# password_file = {_text(file.absolute().with_name('obs-password'))}"
        yield "# [[obs_rules]]"
        yield '# on = "game_start"'
        yield '# scene = "Game"'


def _text(path: Path | str) -> str:
    """Write a path in TOML. Windows paths stay readable in single quotes, which don't have any escapes."""
    text = str(path)
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
