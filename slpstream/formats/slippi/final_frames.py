"""Find out which frames have become final, from the events of a reader."""

from __future__ import annotations

from collections.abc import Iterable

from slpstream.model.events import Event, Frame, FrameFinalized


class FinalFrames:
    """Keeps the frames of a game until they are final. You get each number once, and in order."""

    def __init__(self) -> None:
        self._waiting: dict[int, Frame] = {}
        self._through: int | None = None

    def copy(self) -> FinalFrames:
        """Return a copy that is independent from now on. Both share the frames, because these never change."""
        twin = FinalFrames()
        twin._waiting, twin._through = dict(self._waiting), self._through
        return twin

    def take(self, events: Iterable[Event]) -> list[Frame]:
        """Take the next events of the reader, and return those frames that become final by them."""
        waiting = self._waiting
        final: list[Frame] = []
        for event in events:
            if type(event) is Frame:
                if self._through is None or event.number > self._through:  # a final frame does not change
                    waiting[event.number] = event
            elif type(event) is FrameFinalized:
                self._through = through = event.through
                if len(waiting) == 1 and through in waiting:  # nearly always
                    final.append(waiting.pop(through))
                else:
                    final += [waiting.pop(number) for number in sorted(waiting) if number <= through]
        return final
