"""The configuration of a rehearsal: the same outputs, with files in a temporary folder and without encryption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple, get_type_hints
from urllib.parse import urlsplit

import msgspec

from slpstream.config import EACH_SUBFOLDER, Config, Server, StationConfig
from slpstream.config.sections import StationSource
from slpstream.parts import registry
from slpstream.parts.rehearse.containment import Destination

_PORTS = {"http": 80, "ws": 80, "https": 443}


class Sandbox(NamedTuple):
    """The configuration of a rehearsal, with the sections of its outputs."""

    config: Config
    station: str
    """The station at which the replays are played."""
    outputs: Mapping[Path, str]
    """The sections that write into each folder."""
    urls: Sequence[tuple[Destination, str, str]]
    """The address and the path of each URL, with its section."""
    texts: Mapping[str, frozenset[str]]
    """The texts in each section, which tell us why something was sent."""

    def section_of(self, destination: Destination, path: str) -> str:
        """Return the section that sends to a path at an address."""
        fitting = [
            (len(prefix), section)
            for address, prefix, section in self.urls
            if address == destination and path.startswith(prefix)
        ]
        return max(fitting)[1] if fitting else "another output"


def sandbox(config: Config, station: str | None, folder: Path) -> Sandbox:
    """Return the configuration of a rehearsal in a folder.

    Stations that are already configured stay, but all of them are empty, and none of them has a console. `station` is
    the one at which the replays are played, by default the first one.
    """
    ids = [each.id for each in config.stations if each.id != EACH_SUBFOLDER]
    station = station or next(iter(ids), "rehearsal")
    outputs: dict[Path, str] = {}
    urls: list[tuple[Destination, str, str]] = []
    texts: dict[str, frozenset[str]] = {}
    parts: dict[str, list[msgspec.Struct]] = {}
    repeated = {each.struct for each in registry.sections() if each.many}
    for name, sections in config.parts.items():
        for i, section in enumerate(sections):
            if isinstance(section, StationSource):
                continue  # there are no other stations than those of the replays
            place = folder / "outputs" / f"{name}-{i}"
            place.mkdir(parents=True, exist_ok=True)
            label = f"[[{name}]] {i + 1}" if type(section) in repeated else f"[{name}]"
            changed, addresses, writes = _changed(section, place)
            parts.setdefault(name, []).append(msgspec.structs.replace(section, **changed))
            urls += [(address, path, label) for address, path in addresses]
            texts[label] = texts.get(label, frozenset()) | {*_texts(msgspec.to_builtins(section))}
            if writes:
                outputs[place] = label
    names = {each.id: each.name for each in config.stations}
    stations = [
        StationConfig(id=id, folder=str(folder / "stations" / id), name=names.get(id, ""))
        for id in dict.fromkeys((*ids, station))
    ]
    for each in stations:
        Path(each.folder).mkdir(parents=True)
    changed_config = msgspec.structs.replace(
        config,
        server=Server(port=0),
        store=msgspec.structs.replace(config.store, folder=str(folder / "state")),
        recordings=msgspec.structs.replace(config.recordings, folder=str(folder / "recordings")),
        stations=stations,
        parts=parts,
    )
    return Sandbox(changed_config, station, outputs, urls, texts)


def _changed(section: msgspec.Struct, place: Path) -> tuple[dict[str, str], list[tuple[Destination, str]], bool]:
    """Return the keys of a section that have to be changed, the addresses in it, and whether it writes files."""
    hints = get_type_hints(type(section), include_extras=True)
    changed: dict[str, str] = {}
    addresses: list[tuple[Destination, str]] = []
    writes = False
    for field in msgspec.structs.fields(section):
        value = getattr(section, field.name)
        extra: dict[str, Any] = {}
        for meta in getattr(hints[field.name], "__metadata__", ()):
            extra |= meta.extra or {}
        if not isinstance(value, str) or not value:
            continue
        if extra.get("writes"):
            original = Path(value).expanduser()
            target = place / (original.name or "output")
            if original.is_file():
                copyfile(original, target)
            changed[field.name], writes = str(target), True
        elif extra.get("secret"):
            file = Path(value).expanduser()
            secret = file.read_bytes() if file.is_file() else value.encode()
            addresses += _addresses(secret.decode("utf-8", "replace"))
            if secret.startswith(b"https://"):
                plain = _without_encryption(secret.decode("utf-8", "replace"))
                if file.is_file():
                    copy = place / field.name
                    copy.write_text(plain, encoding="utf-8")
                    plain = str(copy)
                changed[field.name] = plain
        else:
            addresses += _addresses(value)
    return changed, addresses, writes


def _addresses(text: str) -> Iterator[tuple[Destination, str]]:
    try:
        parts = urlsplit(text.strip().split("\n", 1)[0])
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return
    if parts.hostname and port:
        yield Destination(parts.hostname, port), parts.path


def _without_encryption(url: str) -> str:
    """Return a URL with the same host and port for http, because the stand-in has no certificate for the host."""
    host, slash, path = url.removeprefix("https://").partition("/")
    has_port = urlsplit(f"//{host}").port is not None
    return f"http://{host}{'' if has_port else ':443'}{slash}{path}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(key)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
