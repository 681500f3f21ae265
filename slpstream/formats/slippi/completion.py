"""Decide when a frame is complete in replays before 3.0, because these have no Frame Bookends.

The game first sends the Pre-Frame Updates of all characters, and then their Post-Frame Updates (observed in all 22 real
replays before 3.0). So if each character of a frame has its Post-Frame Update, and no character of the frame before is
missing, then the frame is complete. For the first frame, we use the players of Game Start instead. If a character has
gone, we can't know this in that frame until the next one begins.

As soon as a frame is complete, it is also final, so if there are more events of it later, they have no effect. If a
character comes too late, the next frame waits for it.

This class is used by the batch path in Python. The assembler of the live path and the compiled kernel follow the same
rules on their own, and there are tests that compare them.
"""

from __future__ import annotations

from collections.abc import Iterable

Character = tuple[int, bool]
"""A player index, and whether it is the follower of this player."""


class Completion:
    """Decides when the open sending is complete."""

    __slots__ = ("_awaited", "_updated", "characters", "complete")

    def __init__(self, characters: Iterable[Character]) -> None:
        """`characters` are those that we expect in the first frame."""
        self.characters: set[Character] = set(characters)
        """The characters of the open sending, or of the last one, those that came too late included."""
        self.complete = False
        """Whether the sending is complete."""
        self._awaited: set[Character] = set()
        self._updated: set[Character] = set()

    def begin(self) -> None:
        """Begin a sending. It should have the same characters as the one before."""
        self._awaited, self.characters, self._updated = self.characters, set(), set()
        self.complete = False

    def pre_frame(self, character: Character) -> None:
        """Take a Pre-Frame Update."""
        self.characters.add(character)

    def post_frame(self, character: Character) -> None:
        """Take a Post-Frame Update. After this, the sending might be complete."""
        self.characters.add(character)
        self._updated.add(character)
        self.complete = self.complete or (
            len(self._updated) == len(self.characters) and self._awaited <= self.characters
        )
