"""Mario Kart 8 (Wii U) ghosts, `.dat`. They consist of the file name, an outer header, a body header, lap times, and
opaque sections.

We know the format from the page "Ghost Data (File Format)" of the Mario Kart 8 modding wiki, and have corrected it by
one real header and by the code of two public tools. The sections contain positions and inputs, but since their coding
isn't public, and we don't want to guess it, there are no frames. Nothing in here does I/O.
"""
