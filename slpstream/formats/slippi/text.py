"""Names in Shift JIS, as the game stores them, decoded to the characters that people type.

The game writes Latin letters, digits and signs in full width (`Ａ` for `A`, `＃` for `#`). Decoding stops at the first
NUL and maps full width to normal width; kana and kanji stay as they are. Bytes that are not Shift JIS become U+FFFD, so
decoding a name never fails.
"""

from __future__ import annotations

_IDEOGRAPHIC_SPACE = 0x3000
ENCODING = "cp932"
"""Shift JIS as consoles and computers write it, with circled digits, Roman numerals and additional kanji."""
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_FULL_WIDTH_DISTANCE = 0xFEE0

# Signs whose full-width form is outside the block above, as Shift JIS decoders map them.
_SIGNS = {
    0x2018: "'",
    0x2019: "'",
    0x201C: '"',
    0x201D: '"',
    0xFFE5: "¥",
    0x2212: "-",
    0x301C: "~",
}

_NORMAL_WIDTH = str.maketrans(
    {
        _IDEOGRAPHIC_SPACE: " ",
        **{code: chr(code - _FULL_WIDTH_DISTANCE) for code in _FULL_WIDTH},
        **_SIGNS,
    }
)


def decode_name(raw: bytes) -> str:
    """The text of a NUL-terminated Shift JIS field, in normal width."""
    return raw.split(b"\0", 1)[0].decode(ENCODING, errors="replace").translate(_NORMAL_WIDTH)


def decode_ascii(raw: bytes) -> str:
    """The text of a NUL-terminated ASCII field, such as an id. Other bytes become U+FFFD."""
    return raw.split(b"\0", 1)[0].decode("ascii", errors="replace")
