"""Mario Kart 8 (Wii U) ghosts, `.dat`: file name, outer header, body header, laps, and sections that stay closed.

Source: the page "Ghost Data (File Format)" of the Mario Kart 8 modding wiki, corrected by one real header and by the
code of two public tools. How the sections hold positions and inputs is not public, so there are no frames: nothing here
is guessed. Sans-IO.
"""

from slpstream.formats.mk8.sniff import sniff

__all__ = ["sniff"]
