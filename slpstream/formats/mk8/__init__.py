"""Mario Kart 8 (Wii U) ghosts, `.dat`: file name, outer header, body header, lap times, and opaque sections.

Source: the page "Ghost Data (File Format)" of the Mario Kart 8 modding wiki, corrected by one real header and by the
code of two public tools. The sections hold positions and inputs, but their coding is not public and is not guessed
here, so there are no frames. Sans-IO.
"""
