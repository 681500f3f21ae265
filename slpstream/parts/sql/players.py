"""The table `players` has a row for each player in each game.

If a query asks for some of the overall stats, these are included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from msgspec import UNSET

from slpstream.formats.slippi.stats.schema import ActionCounts, Overall, Ratio, Stats
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.parts.sql.column import COUNT, FILE, FLAG, GAME_ID, REAL, SMALL, STAGE, TEXT, column
from slpstream.parts.sql.queried import Holds, Queried, Row
from slpstream.parts.sql.ties import is_tied

_DESCRIBED = (
    FILE,
    GAME_ID,
    STAGE,
    column("player_index", SMALL, "0 to 3 in Slippi replays."),
    column("port", SMALL, "Controller port, player index + 1; null in formats without ports."),
    column("character_id", COUNT, "Number of the character; null in formats that name characters by words."),
    column("character", TEXT, "Name of the character or machine; null for an unknown id."),
    column("costume", COUNT, "Number of the costume."),
    column("name", TEXT, "Display name online; null when the replay has none."),
    column("tag", TEXT, "Name tag in the game."),
    column("code", TEXT, "Connect code."),
    column("team", COUNT, "Number of the team; null unless teams were played."),
    column("is_human", FLAG, "False for a computer player."),
    column("result", TEXT, "won, lost or tied; null without a known result."),
    column("start_stocks", COUNT, "Stocks at the start."),
    column("stocks", COUNT, "Stocks left at the end."),
    column("percent", REAL, "Percent at the end.", "percent"),
    column("score", COUNT, "Score, in modes that are played for one."),
    column("opponent_character", TEXT, "Character of the other one of two players."),
    column("opponent_name", TEXT, "Display name or tag of the other one of two players."),
    column("opponent_code", TEXT, "Connect code of the other one of two players."),
)
_RATIOS = {
    "inputs_per_minute": "Inputs a minute.",
    "digital_inputs_per_minute": "Buttons and triggers a minute.",
    "openings_per_kill": "Openings for each kill; null without a kill.",
    "damage_per_opening": "Damage of each opening.",
    "neutral_win_ratio": "Share of the openings from neutral that were this player's.",
    "counter_hit_ratio": "Share of the counter-attacks that were this player's.",
    "beneficial_trade_ratio": "Share of the trades that this player did better in.",
}
_ACTIONS = {
    "wavedash_count": "Wavedashes.",
    "waveland_count": "Wavelands.",
    "air_dodge_count": "Air dodges.",
    "dash_dance_count": "Dash dances.",
    "spot_dodge_count": "Spot dodges.",
    "ledgegrab_count": "Ledge grabs.",
    "roll_count": "Rolls.",
    "taunt_count": "Taunts.",
}
_STATS = (
    column("kill_count", COUNT, "Kills."),
    column("death_count", COUNT, "Stocks lost."),
    column("total_damage", REAL, "Damage dealt.", "percent"),
    column("conversion_count", COUNT, "Openings: conversions that this player began."),
    column("successful_conversion_count", COUNT, "Conversions with more than one move."),
    column("input_count", COUNT, "Inputs from frame -39 on."),
    *(column(name, REAL, doc) for name, doc in _RATIOS.items()),
    column("l_cancel_success_count", COUNT, "Successful L-cancels."),
    column("l_cancel_fail_count", COUNT, "Missed L-cancels."),
    *(column(name, COUNT, doc) for name, doc in _ACTIONS.items()),
)
SCHEMA = pa.schema([*_DESCRIBED, *_STATS])
COMPUTED = frozenset(each.name for each in _STATS)
"""The columns for which the stats of the game are computed."""


def rows(queried: Queried, columns: frozenset[str], holds: Holds) -> list[Row]:
    """Return the rows of a game.

    We only compute its stats if there are columns of `COMPUTED`, and if a row might pass the filter.
    """
    game = queried.game
    found: list[Row] = list(_described(queried.file, game.start.game_id, game.summary(), game.end))
    if columns.isdisjoint(COMPUTED) or game.start.format != "slippi":
        return found
    found = [row for row in found if holds(row)]
    if not found:
        return []
    stats = queried.replay.stats()
    return [{**row, **_computed(stats, row["player_index"])} for row in found]


def _described(file: str, game_id: str, summary: GameSummary, end: Any) -> Iterator[dict[str, Any]]:
    standings = {} if end is None else end.standings
    tied = is_tied(summary, end)
    for player in summary.players:
        others = [other for other in summary.players if other.index != player.index]
        opponent = others[0] if len(others) == 1 else None
        standing = standings.get(player.index, {})
        yield {
            "file": file,
            "game_id": game_id,
            "stage": summary.place.name or None,
            "player_index": player.index,
            "port": player.port,
            "character_id": player.character.id if isinstance(player.character.id, int) else None,
            "character": player.character.name or None,
            "costume": player.color,
            "name": player.name or None,
            "tag": player.tag or None,
            "code": player.code or None,
            "team": player.team if summary.is_teams else None,
            "is_human": player.human,
            "result": "tied" if tied else _result(player, summary),
            "start_stocks": player.start_stocks,
            "stocks": standing.get("stocks"),
            "percent": standing.get("percent"),
            "score": player.score,
            "opponent_character": None if opponent is None else opponent.character.name or None,
            "opponent_name": None if opponent is None else opponent.shown_name or None,
            "opponent_code": None if opponent is None else opponent.code or None,
        }


def _result(player: PlayerSummary, summary: GameSummary) -> str | None:
    if not summary.winners:
        return None
    return "won" if player.index in summary.winners else "lost"


def _computed(stats: Stats, index: int) -> dict[str, Any]:
    overall = next((each for each in stats.overall if each.player_index == index), None)
    actions = next((each for each in stats.action_counts if each.player_index == index), None)
    if overall is None:
        return {}
    return {**_totals(overall, stats), **({} if actions is None else _actions(actions))}


def _totals(overall: Overall, stats: Stats) -> dict[str, Any]:
    lost = [one for one in stats.stocks if one.player_index == overall.player_index and one.end_frame is not UNSET]
    inputs, successful = overall.input_counts.total, overall.successful_conversions.count
    return {
        "kill_count": overall.kill_count,
        "death_count": len(lost),
        "total_damage": overall.total_damage,
        "conversion_count": overall.conversion_count,
        "successful_conversion_count": None if successful is UNSET else round(successful),
        "input_count": None if inputs is UNSET else inputs,
        **{name: _ratio(getattr(overall, name)) for name in _RATIOS},
    }


def _actions(actions: ActionCounts) -> dict[str, Any]:
    return {
        "l_cancel_success_count": actions.l_cancel_count.success,
        "l_cancel_fail_count": actions.l_cancel_count.fail,
        **{name: getattr(actions, name) for name in _ACTIONS},
    }


def _ratio(ratio: Ratio) -> float | None:
    return None if ratio.ratio is UNSET else ratio.ratio
