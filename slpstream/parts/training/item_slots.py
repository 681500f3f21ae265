"""Put items into slots. As long as an item exists, it keeps its slot, so that you can follow it in a single column."""

from __future__ import annotations

from collections.abc import Sequence

from slpstream.parts.training.columns import MAX_ITEMS


class ItemSlots:
    """Assigns items to slots, frame by frame. As in slippi-ai, the slot that has become free last is used first."""

    def __init__(self) -> None:
        self._free = list(range(MAX_ITEMS))[::-1]
        self._taken: dict[int, int] = {}

    def take(self, spawn_ids: Sequence[int]) -> list[int]:
        """Return the slot of each item in the next frame, in the order of its events. If an item doesn't have a slot,
        this is -1.

        If there is no free slot for an item, it has to wait for the first later frame in which there is one.
        """
        present = set(spawn_ids)
        for gone in [spawn_id for spawn_id in self._taken if spawn_id not in present]:
            self._free.append(self._taken.pop(gone))
        slots = []
        for spawn_id in spawn_ids:
            slot = self._taken.get(spawn_id)
            if slot is None:
                slot = -1
                if self._free:
                    slot = self._taken[spawn_id] = self._free.pop()
            slots.append(slot)
        return slots
