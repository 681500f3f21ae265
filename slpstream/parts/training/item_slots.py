"""Items in slots: an item keeps its slot while it lives, so that a column follows one item."""

from __future__ import annotations

from collections.abc import Sequence

from slpstream.parts.training.columns import MAX_ITEMS


class ItemSlots:
    """Assigns items to slots, frame by frame. The slot that was freed last is used first (slippi-ai's rule)."""

    def __init__(self) -> None:
        self._free = list(range(MAX_ITEMS))[::-1]
        self._taken: dict[int, int] = {}

    def take(self, spawn_ids: Sequence[int]) -> list[int]:
        """The slot of each item of the next frame, in the order of its events; -1 for an item without a slot.

        An item without a free slot gets one in the first later frame with a free slot.
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
