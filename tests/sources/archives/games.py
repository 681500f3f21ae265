"""Small replays to be packed into archives."""

from __future__ import annotations

from tests.formats.slippi.built import Built


def game(number: int = 0) -> bytes:
    """A small replay, another game for each number."""
    return Built((3, 18, number)).frames(-123, -110 + number).end().closed()


GAMES = {"a.slp": game(0), "deeper/b.slp": game(1), "deeper/ü c.slp": game(2)}
