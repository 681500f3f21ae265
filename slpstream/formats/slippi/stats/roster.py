"""The players of a game and how they are related, which means their opponents, their teams and all others."""

from __future__ import annotations

from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.names import stage_edge
from slpstream.formats.slippi.stats.player import Lists, Player

PAIR = 2
"""Number of players in a game in which each is the other's only opponent."""


class Roster:
    """The players of one game. All tables that describe how they are related use player indices as keys."""

    def __init__(self, settings: Settings) -> None:
        indices = [player.player_index for player in settings.players]
        edge = stage_edge(settings.stage_id)
        self.lists = Lists([], [], [])
        self.players = [Player(index, self.lists, edge) for index in indices]
        self.edge = float("inf") if edge is None else edge
        """The x of the right ledge; infinite if it is unknown."""
        self.is_pair = len(indices) == PAIR
        self.teams = (
            {p.player_index: p.team_id for p in settings.players} if settings.is_teams and not self.is_pair else {}
        )
        self.has_counter = False
        """Whether the replay has `action_state_counter`."""
        self._link()

    def copy(self) -> Roster:
        """Return a copy that is independent from then on.

        This is cheap, because both share the entries that are closed.
        """
        twin = Roster.__new__(Roster)
        twin.lists = self.lists.copy()
        twin.players = [player.copy(twin.lists) for player in self.players]
        twin.edge, twin.is_pair, twin.teams, twin.has_counter = self.edge, self.is_pair, self.teams, self.has_counter
        twin._link()
        return twin

    def _link(self) -> None:
        # Not in `Player`: players that refer to each other are freed only by the garbage collector, and its runs stop a
        # daemon with many games.
        players, teams = self.players, self.teams
        self.by_index = {player.index: player for player in players}
        self.others = {player.index: [other for other in players if other is not player] for player in players}
        self.opponents = {
            index: [other for other in others if not teams or teams[other.index] != teams[index]]
            for index, others in self.others.items()
        }
