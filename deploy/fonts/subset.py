"""Subsets of the fonts in two npm packages, with a stylesheet whose ranges are exactly what the fonts have.

Usage: subset.py PACKAGES OUT. `deploy/fonts/build` runs it.

The fonts get names of our own, as the licence demands of modified versions of fonts with reserved names. Each character
is in one file only, so that a browser loads no more than a page needs, and the order of the rules does not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from fontTools.merge import Merger
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FEATURES = frozenset(
    {"calt", "ccmp", "kern", "liga", "locl", "mark", "mkmk", "pnum", "tnum", "palt", "vert", "halt", "hwid", "fwid"}
)
"""The layout features that are kept: what names need, and digits of equal width."""
COPYRIGHT_ID, FAMILY_ID, STYLE_ID, UNIQUE_ID, FULL_NAME_ID, VERSION_ID, POSTSCRIPT_ID = range(7)
TYPOGRAPHIC_FAMILY_ID, TYPOGRAPHIC_STYLE_ID = 16, 17
LICENCE_IDS = (13, 14)
MAIN_JAPANESE = "files/m-plus-1p-japanese-700-normal.woff2"
LINE_HEIGHT = ("ascent-override: 93.5%", "descent-override: 26.5%", "line-gap-override: 0%")
"""The metrics of the condensed face, for the Japanese one too: a line has the same height with and without it."""
JAPANESE_PUNCTUATION = frozenset(map(ord, "‐―‖‥※‼⁇⁈⁉"))
KANJI = range(0x4E00, 0xA000)


@dataclass(frozen=True)
class Part:
    """One font file. `characters` are those of the source that it keeps."""

    name: str
    source: Path
    family: str
    weights: str
    characters: frozenset[int]


def main() -> None:
    """Writes the fonts, `fonts.css` and the licences."""
    packages, out = (Path(argument) for argument in sys.argv[1:])
    for old in out.glob("*.woff2"):
        old.unlink()
    signs = merged_signs(packages / "japanese", packages)
    parts = [*condensed(packages / "condensed"), *japanese(packages / "japanese", signs)]
    rules = [rule(part, write(part, out)) for part in parts]
    (out / "fonts.css").write_text(HEAD + "\n".join(rules), encoding="utf-8")
    licence = (packages / "japanese/LICENSE").read_text(encoding="utf-8")
    text = licence[licence.index("This Font Software") :]
    for name, about in LICENCES.items():
        (out / name).write_text(f"{about}\n\n{text.rstrip()}\n", encoding="utf-8")


def condensed(package: Path) -> Iterator[Part]:
    """The files of the condensed face, the common ones first."""
    for weight in (500, 700):
        done: set[int] = set()
        for script in ("latin", "vietnamese", "latin-ext", "greek", "greek-ext", "cyrillic", "cyrillic-ext"):
            source = package / f"files/fira-sans-condensed-{script}-{weight}-normal.woff2"
            characters = frozenset(drawn(source) - done)
            done |= characters
            yield Part(f"condensed-{script}-{weight}", source, "slpstream Condensed", str(weight), characters)


def japanese(package: Path, signs: Path) -> Iterator[Part]:
    """The Japanese face in one weight: kana, the two levels of kanji of JIS X 0208, and the rest."""
    source = package / MAIN_JAPANESE
    characters = {character for character in drawn(source) if is_japanese(character)}
    kanji = {character for character in characters if character in KANJI}
    common = {character for character in kanji if is_level_1(character)}
    for name, chosen in {"kana": characters - kanji, "kanji-1": common, "kanji-2": kanji - common}.items():
        yield japanese_part(name, source, chosen)
    yield japanese_part("signs", signs, drawn(signs))


def japanese_part(name: str, source: Path, characters: Iterable[int]) -> Part:
    """A file of the Japanese face. The one weight stands for all, because browsers embolden a missing one."""
    return Part(f"japanese-{name}", source, "slpstream Japanese", "100 900", frozenset(characters))


def merged_signs(package: Path, work: Path) -> Path:
    """One font of all signs, half-width kana and further kanji, which the package has in a hundred files.

    They need no layout features, which cannot be merged.
    """
    done = drawn(package / MAIN_JAPANESE)
    parts = []
    for source in sorted(package.glob("files/m-plus-1p-[0-9]*-700-normal.woff2")):
        chosen = {character for character in drawn(source) - done if is_japanese(character)}
        if not chosen:
            continue
        done |= chosen
        font = TTFont(source, recalcTimestamp=False)
        options = Options(layout_features=[], drop_tables=["GSUB", "GPOS", "GDEF"], hinting=False)
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=chosen)
        subsetter.subset(font)
        font.flavor = None
        parts.append(work / f"signs-{len(parts)}.ttf")
        font.save(parts[-1])
    font = Merger().merge([str(part) for part in parts])
    with TTFont(package / MAIN_JAPANESE) as main_font:
        font["head"].created = font["head"].modified = main_font["head"].modified  # not the time of the merger
    font.recalcTimestamp = False
    font.save(work / "signs.ttf")
    return work / "signs.ttf"


def is_japanese(character: int) -> bool:
    """Whether the Japanese face draws the character. The condensed one has Latin letters, their marks and quotes."""
    return character >= 0x2100 or character in JAPANESE_PUNCTUATION


def is_level_1(character: int) -> bool:
    """Whether JIS X 0208 has the character in rows 16 to 47, the common kanji."""
    try:
        encoded = chr(character).encode("euc_jp")
    except UnicodeEncodeError:
        return False
    return len(encoded) == 2 and 0xB0 <= encoded[0] <= 0xCF


def drawn(source: Path) -> set[int]:
    """The characters of a font that show something or take space. Controls are left to the browser."""
    with TTFont(source) as font:
        return {character for character in font.getBestCmap() if character >= 0x20 and not 0x7F <= character < 0xA0}


def write(part: Part, out: Path) -> list[int]:
    """Writes one font file, and returns its characters in order."""
    font = TTFont(part.source, recalcTimestamp=False)
    options = Options(
        layout_features=sorted(FEATURES), flavor="woff2", hinting=False, notdef_outline=True, name_IDs=["*"]
    )
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=part.characters)
    subsetter.subset(font)
    rename(font, part)
    font.flavor = "woff2"
    font.save(out / f"{part.name}.woff2")
    return sorted(font.getBestCmap())


def rename(font: TTFont, part: Part) -> None:
    """Gives a font our name, and leaves its copyright, version and licence as they are."""
    style = "Bold" if "700" in part.weights or part.weights == "100 900" else "Medium"
    names = font["name"]
    kept = (COPYRIGHT_ID, VERSION_ID, *LICENCE_IDS)
    names.names = [record for record in names.names if record.nameID in kept]
    full = f"{part.family} {style}"
    values = {FAMILY_ID: part.family, STYLE_ID: style, UNIQUE_ID: f"{full} {part.name}", FULL_NAME_ID: full}
    for name_id, value in (values | {POSTSCRIPT_ID: full.replace(" ", "")}).items():
        names.setName(value, name_id, 3, 1, 0x409)


def rule(part: Part, characters: Iterable[int]) -> str:
    """The `@font-face` rule of a file."""
    ranges = []
    for _, run in groupby(enumerate(characters), lambda numbered: numbered[1] - numbered[0]):
        code_points = [character for _, character in run]
        first, last = code_points[0], code_points[-1]
        ranges.append(f"U+{first:X}" if first == last else f"U+{first:X}-{last:X}")
    lines = [
        f'font-family: "{part.family}"',
        f"font-weight: {part.weights}",
        "font-display: block",
        *LINE_HEIGHT,
        f'src: url("{part.name}.woff2") format("woff2")',
        f"unicode-range: {', '.join(ranges)}",
    ]
    return "@font-face {\n" + "".join(f"  {line};\n" for line in lines) + "}\n"


HEAD = """\
/*
 * The fonts of the pages: "slpstream Condensed" for names and numbers, "slpstream Japanese" for missing characters.
 * Made by deploy/fonts/build. Licences: OFL-condensed.txt and OFL-japanese.txt.
 *
 * While a font loads, its text is not shown in another face. A scene that measures text or comes on air waits for
 * `loadFonts` of fonts.js, and then nothing changes its shape.
 */

:root {
  --condensed: "slpstream Condensed", "slpstream Japanese", system-ui, sans-serif;
}

/* Digits of the same width, for percents, clocks and scores. */
.tabular {
  font-feature-settings: "tnum";
}

"""
LICENCES = {
    "OFL-condensed.txt": (
        'The files condensed-*.woff2, named "slpstream Condensed", are subsets of Fira Sans Condensed 4.203.\n\n'
        "Digitized data copyright 2012-2016, The Mozilla Foundation and Telefonica S.A."
    ),
    "OFL-japanese.txt": (
        'The files japanese-*.woff2, named "slpstream Japanese", are subsets of M PLUS 1p 1.062.\n\n'
        "Copyright 2016 The M+ Project Authors."
    ),
}

if __name__ == "__main__":
    main()
