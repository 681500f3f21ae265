"""Names in Shift JIS, which is how the game stores them. We decode them to the characters that people type, and encode
them again.

The game writes Latin letters, digits and signs in full width (`Ａ` for `A`, and `＃` for `#`). When we decode a
name, we stop at the first NUL and convert full width to normal width. Kana and kanji stay as they are. If there are
bytes that aren't Shift JIS, they become U+FFFD, so this never fails.
"""

from __future__ import annotations

import unicodedata

ENCODING = "cp932"
"""Shift JIS as consoles and computers write it, with circled digits, Roman numerals and additional kanji."""
_FULL_WIDTH_DISTANCE = 0xFEE0
_SIGNS = str.maketrans("\u2018\u2019\u201c\u201d\uffe5\u2212\u301c\u3000", "''\"\"¥-~ ")
"""Signs whose full-width form is outside the block of the others, as Shift JIS decoders map them."""
_NORMAL_WIDTH = {code + _FULL_WIDTH_DISTANCE: chr(code) for code in range(0x21, 0x7F)} | _SIGNS
_WRITTEN = {code: chr(code + _FULL_WIDTH_DISTANCE) for code in range(0x21, 0x7F) if not chr(code).isalnum()} | {
    ord("'"): "\u2019"
}
"""How the game writes signs of ASCII: in full width. Letters, digits and the space stay as they are."""
_UNKNOWN = "？"


def decode_name(raw: bytes) -> str:
    """Return the text in a Shift JIS field that ends with a NUL. It is converted to normal width."""
    return raw.split(b"\0", 1)[0].decode(ENCODING, errors="replace").translate(_NORMAL_WIDTH)


def decode_ascii(raw: bytes) -> str:
    """Return the text in an ASCII field that ends with a NUL, such as an id. All other bytes become U+FFFD."""
    return raw.split(b"\0", 1)[0].decode("ascii", errors="replace")


def encode_name(text: str, width_bytes: int) -> bytes:
    """Return a field of `width_bytes` that contains a text. It ends with a NUL and is padded.

    If Shift JIS lacks a letter, it loses its accents, and any other character becomes a question mark. If the text is
    too long, it is cut after a whole character.
    """
    max_characters = (width_bytes - 1) // 2
    composed = unicodedata.normalize("NFC", " ".join(text.split()))
    written = [_encode_character(character) for character in composed if not unicodedata.combining(character)]
    before = [b" ", *written]  # a lone accent is written as a space
    spaced = [each for each, last in zip(written, before, strict=False) if (each, last) != (b" ", b" ")]
    return b"".join(spaced[:max_characters]).ljust(width_bytes, b"\0")


def _encode_character(character: str) -> bytes:
    for candidate in (character.translate(_WRITTEN), unicodedata.normalize("NFKD", character)[:1], _UNKNOWN):
        try:
            encoded = candidate.encode(ENCODING)
        except UnicodeEncodeError:
            continue
        if len(encoded) <= 2 and encoded != b"\0" and candidate.isprintable():
            return encoded
    return b"?"
