"""When a frame is complete in replays before 3.0, which have no Frame Bookends.

The game sends the Pre-Frame Updates of all characters, then their Post-Frame Updates (observed in all 22 real replays
before 3.0). So a frame is complete when each of its characters has its Post-Frame Update, and none of the frame before
is missing. The first frame is compared with the players of Game Start. In the frame in which a character has gone, this
is not known until the next frame begins.

A frame is final once it is complete, so later events of it have no effect. The next frame waits for a character that
comes too late.

The batch path in Python and the decoders of whole frames use this class. The assembler of the live path and the
compiled kernel follow the same rules, and tests compare them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class Completion(Generic[C]):
    """Decides when the open sending is complete. `C` identifies a character: a player or a follower."""

    __slots__ = ("_awaited", "_updated", "characters", "complete")

    def __init__(self, characters: Iterable[C]) -> None:
        """`characters` are the expected characters of the first frame."""
        self.characters: set[C] = set(characters)
        """The characters of the open sending, or of the last one, those that came too late included."""
        self.complete = False
        """Whether the sending is complete."""
        self._awaited: set[C] = set()
        self._updated: set[C] = set()

    def begin(self) -> None:
        """Begin a sending, which should have the characters of the one before."""
        self._awaited, self.characters, self._updated = self.characters, set(), set()
        self.complete = False

    def pre_frame(self, character: C) -> None:
        """Take a Pre-Frame Update."""
        self.characters.add(character)

    def post_frame(self, character: C) -> None:
        """Take a Post-Frame Update, which can make the sending complete."""
        self.characters.add(character)
        self._updated.add(character)
        self.complete = self.complete or (
            len(self._updated) == len(self.characters) and self._awaited <= self.characters
        )
