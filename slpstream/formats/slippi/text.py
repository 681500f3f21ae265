"""Shift JIS names as the game stores them, to the width that people type.

The game writes Latin letters, digits and signs in full width (`Ａ` for `A`, `＃` for `#`). Names are cut at the first
NUL and brought to normal width; kana and kanji stay what they are. Bytes that are no Shift JIS become U+FFFD: a name
never fails.
"""

from __future__ import annotations

_IDEOGRAPHIC_SPACE = 0x3000
ENCODING = "cp932"
"""Shift JIS as consoles and computers write it: with circled digits, Roman numerals and more kanji."""
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_FULL_WIDTH_DISTANCE = 0xFEE0

# Signs whose full-width form lies outside the block above, as Shift JIS decoders map them.
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
    """A NUL-terminated Shift JIS field to text of normal width."""
    return raw.split(b"\0", 1)[0].decode(ENCODING, errors="replace").translate(_NORMAL_WIDTH)


def decode_ascii(raw: bytes) -> str:
    """A NUL-terminated ASCII field (ids); other bytes become U+FFFD."""
    return raw.split(b"\0", 1)[0].decode("ascii", errors="replace")
