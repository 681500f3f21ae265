"""Configurations and texts without the secrets in them.

The declaration of a key decides what we show. Numbers, switches and choices can't be secrets. A text is removed if its
key is declared as `Secret`, if the key isn't declared at all, or if an installed package declares it without
`Meta(extra={"secret": False})`. From all other texts, we remove the credentials and paths of URLs. Everything that was
removed, and the content of the files that keys declared as `Secret` name, is then removed from all other texts too.
"""

from __future__ import annotations

import difflib
import json
import re
from base64 import b64encode
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import quote, quote_plus, urlsplit

import msgspec

from slpstream import config as configuration
from slpstream.config import Section

REMOVED = "[removed]"
_MIN_PLAIN = 6
"""Shorter secrets are only removed where they are whole words, because they are found in other words as well."""
_MIN_PATH = 10
"""Shorter pieces of the path of a secret URL are words, such as `webhooks`."""
_MAX_SECRET_BYTES = 4096
_URL_IN_TEXT = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>`]+", re.IGNORECASE)
_CREDENTIALS = re.compile(r"\b(Bearer|Basic)\s+[^\s\"',]+", re.IGNORECASE)
_QUERY_TOKEN = re.compile(
    r"([?&;](?:[\w.-]*)(?:token|key|secret|password|signature)[\w.-]*=)[^&\s\"'<>]+", re.IGNORECASE
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_USER = re.compile(r".+@", re.DOTALL)


class _Key(NamedTuple):
    """The declaration of a key."""

    hint: Any
    """Its type, without annotations."""
    is_secret: bool


class Redaction:
    """Removes secrets, and remembers them to remove them from further texts."""

    def __init__(self, sections: Iterable[Section], home: Path | None = None) -> None:
        self._home = "" if home is None else str(home)
        self._secrets: set[str] = set()
        self._keys: dict[str, dict[str, _Key]] = {}
        for section in (*configuration.CORE, *sections):
            self._keys.setdefault(section.name, {}).update(_keys(section))

    def table(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration without its secrets."""
        return {self._name(name, self._keys): self._section(name, value) for name, value in table.items()}

    def text(self, text: str) -> str:
        """Return a text, such as a log, without secrets, and with `~` for the home folder."""
        for form in sorted(self._forms(), key=len, reverse=True):
            if len(form) >= _MIN_PLAIN:
                text = text.replace(form, REMOVED)
            else:
                text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", REMOVED, text)
        text = _URL_IN_TEXT.sub(_shown_url, text)
        text = _QUERY_TOKEN.sub(rf"\1{REMOVED}", _CREDENTIALS.sub(rf"\1 {REMOVED}", text))
        return self._without_home(text)

    def remember(self, secret: str) -> None:
        """Remove a secret from all texts from now on."""
        secret = secret.strip()
        if secret:
            self._secrets.add(secret)

    def _section(self, name: str, value: Any) -> Any:
        keys = self._keys.get(name)
        tables = value if isinstance(value, list) else [value]
        if keys is None or not all(isinstance(each, dict) for each in tables):
            return self._removed(value)
        shown = [
            {self._name(key, keys): self._value(keys.get(key), each) for key, each in table.items()} for table in tables
        ]
        return shown if isinstance(value, list) else shown[0]

    def _value(self, key: _Key | None, value: Any) -> Any:
        if key is None:
            return self._removed(value)
        if key.is_secret:
            return self._secret(value)
        return self._of_type(key.hint, value)

    def _of_type(self, hint: Any, value: Any) -> Any:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is not None and origin not in (list, dict, Literal):  # `Annotated` or a union
            fitting = [each for each in arguments[:1] if each is not NoneType]
            return self._of_type(fitting[0], value) if fitting else self._removed(value)
        if hint is str and isinstance(value, str):
            return self._harmless(value)
        if origin is Literal and value in arguments:
            return value
        if origin is list and isinstance(value, list):
            return [self._of_type(arguments[0], each) for each in value]
        if origin is dict and isinstance(value, dict):
            return {self._harmless(key): self._of_type(arguments[1], each) for key, each in value.items()}
        if (hint is bool and isinstance(value, bool)) or (hint in (int, float) and isinstance(value, int | float)):
            return value
        return self._removed(value)

    def _harmless(self, text: str) -> str:
        """Remove credentials and the paths of URLs from a text that shouldn't contain any secret."""
        scheme = match[0] if (match := _SCHEME.match(text)) is not None else ""
        user = match[0] if (match := _USER.match(text, len(scheme))) is not None else ""
        if ":" in user:
            self.remember(user.removesuffix("@"))
            self.remember(user.removesuffix("@").partition(":")[2])
        shown = _URL_IN_TEXT.sub(_shown_url, scheme + text[len(scheme + user) :])
        return self._without_home(f"{REMOVED}@{shown.removeprefix(scheme)}" if user else shown)

    def _secret(self, value: Any) -> str:
        if not isinstance(value, str):
            return self._removed(value)
        if not value:
            return ""
        try:
            file = Path(value).expanduser()
            if file.is_file():
                self.remember_file(file)
                return f"{REMOVED}, a file that exists"
        except (OSError, RuntimeError, ValueError):  # such as a name that is too long
            pass
        self._remember_secret(value)
        return REMOVED

    def remember_file(self, file: Path) -> None:
        """Remove the content of a file from all texts: its first line, and long further ones, such as old secrets."""
        with file.open("rb") as content:
            data = content.read(_MAX_SECRET_BYTES).removeprefix(BOM_UTF8)
        first, *others = data.decode("utf-8", "replace").split("\n")
        for line in (first, *(each for each in others if len(each.strip()) >= _MIN_PLAIN)):
            self._remember_secret(line.strip())

    def remember_credentials(self, url: str) -> None:
        """Remove the user and password of a URL from all texts."""
        user = url.partition("://")[2].rpartition("@")[0]
        self.remember(user)
        self.remember(user.partition(":")[2])

    def _remember_secret(self, text: str) -> None:
        """Remember a secret and, if it is a URL, the parts of it that are secrets by themselves."""
        self.remember(text)
        self.remember_credentials(text)
        path = text.partition("://")[2].partition("/")[2]
        for piece in (path, *re.split(r"[/?&=#]", path)):
            if len(piece) >= _MIN_PATH:
                self.remember(piece)

    def _removed(self, value: Any) -> str:
        """Remember everything in a value that isn't shown, except for texts that are too short to be found reliably."""
        if isinstance(value, dict):
            for key, each in value.items():
                self._name(key, {})
                self._removed(each)
        elif isinstance(value, list):
            for each in value:
                self._removed(each)
        elif len(str(value)) >= _MIN_PLAIN:
            self._remember_secret(str(value))
        return REMOVED

    def _name(self, name: str, known: Mapping[str, object]) -> str:
        """Return the name of a section or key. An unknown one is only shown if it looks like a typing mistake."""
        if name in known or difflib.get_close_matches(name, known, 1, 0.75):
            return name
        if len(name) >= _MIN_PLAIN and name not in self._known_names():
            self.remember(name)
        return REMOVED

    def _known_names(self) -> set[str]:
        return {*self._keys, *(key for keys in self._keys.values() for key in keys)}

    def _forms(self) -> set[str]:
        """Return the secrets in all forms in which they can be in a text."""
        forms: set[str] = set()
        for secret in self._secrets:
            encoded = b64encode(secret.encode("utf-8", "replace")).decode()
            escaped = json.dumps(secret)[1:-1]
            forms |= {
                secret, quote(secret), quote(secret, safe=""), quote_plus(secret), encoded, escaped,
                json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1],
            }  # fmt: skip
        return forms

    def _without_home(self, text: str) -> str:
        if len(self._home) <= 1:
            return text
        return text.replace(self._home, "~").replace(json.dumps(self._home)[1:-1], "~")


def _shown_url(match: re.Match[str]) -> str:
    """Return the scheme, host and port of a URL, and a note if there was anything else in it."""
    url = match[0].rstrip(".,;:)]}")
    after = match[0][len(url) :]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{url.partition('://')[0]}://{REMOVED}{after}"
    bracketed = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{bracketed}" + ("" if port is None else f":{port}")
    has_more = "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment
    return (f"{shown}/{REMOVED}" if has_more else shown + parts.path) + after


def as_toml(table: Mapping[str, Any]) -> str:
    """Write a configuration that was read by `tomllib`, without its comments."""
    lines: list[str] = []
    for name, value in table.items():
        tables = value if isinstance(value, list) and value and isinstance(value[0], dict) else [value]
        for each in tables:
            if not isinstance(each, dict):
                lines.append(f"{_toml_name(name)} = {_toml(each)}")
                continue
            heading = f"[[{_toml_name(name)}]]" if isinstance(value, list) else f"[{_toml_name(name)}]"
            lines += ["", heading, *(f"{_toml_name(key)} = {_toml(of_key)}" for key, of_key in each.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_name(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _toml_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _keys(section: Section) -> dict[str, _Key]:
    hints = get_type_hints(section.struct, include_extras=True)
    is_ours = section.struct.__module__.partition(".")[0] == "slpstream"
    keys: dict[str, _Key] = {}
    for field in msgspec.structs.fields(section.struct):
        hint = hints[field.name]
        declared = [
            meta.extra["secret"] for meta in getattr(hint, "__metadata__", ()) if "secret" in (meta.extra or {})
        ]
        plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        is_secret = bool(declared[-1]) if declared else not _is_harmless(plain, is_ours)
        keys[field.encode_name] = _Key(plain, is_secret)
    return keys


def _is_harmless(hint: Any, is_ours: bool) -> bool:
    """Whether a key can be shown if its declaration doesn't mention secrets: our own keys, and numbers."""
    return is_ours or hint in (int, float, bool) or get_origin(hint) is Literal
