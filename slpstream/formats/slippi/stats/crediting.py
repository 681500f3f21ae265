"""Decide which player should be credited with each hit, conversion, combo and kill in a game."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.stats.game_state import GameState, Player
from slpstream.formats.slippi.stats.highlights import highlight_of_conversion, highlight_of_stock
from slpstream.formats.slippi.stats.punishes import RESET_FRAMES, opening_type
from slpstream.formats.slippi.stats.schema import Conversion, FirstBlood, Move
from slpstream.formats.slippi.stats.states import CAPTURED, THROWING, THROWN, is_attack
from slpstream.model import highlight
from slpstream.model.highlight import Highlight

HURT_THEMSELVES = frozenset({23, 24, 26})
"""Internal character ids of Pichu, Mr. Game & Watch and Roy, who are damaged by some of their own attacks."""


def hit(game: GameState, player: Player, damage: float, flags: int) -> None:
    """Take a frame in which a player is damaged or grabbed."""
    index, number, conversions, combos = player.index, game.number, player.conversions, player.combos
    hitter = _hitter(game, player)
    opens = hitter in game.opponents[index] if hitter is not None else flags & CAPTURED
    percent = player.prev.percent
    by = UNSET if hitter is None else hitter.index
    starts, combo_starts = opens and conversions.open is None, opens and combos.open is None
    if starts:
        conversions.start(number, percent, by)
    if combo_starts:
        combos.start(number, percent, by)
    if damage and hitter is not None:
        _credit(game, player, hitter, damage)
    elif damage and player.post.last_hit_by != index:  # self-inflicted damage is not credited to the next hitter
        others = game.others[index]
        move_ids = {other.index: other.post.last_attack_landed for other in others if other.post is not None}
        conversions.defer(number, damage, move_ids)
        combos.defer(number, damage, move_ids)
    now = max(percent, player.post.percent)  # the percent is 0 again when the stock is lost in this frame
    if starts:
        game.emit("conversion_started", playerIndex=index, conversion=conversions.change(current_percent=now))
    if combo_starts or (damage and combos.open is not None):
        kind = "combo_started" if combo_starts else "combo_extended"
        game.emit(kind, playerIndex=index, combo=combos.change(current_percent=now))


def hit_without_stun(game: GameState, player: Player, damage: float) -> None:
    """Credit damage to a player that isn't in hitstun: the first hit of a throw, a laser or a phantom hit."""
    thrown = player.post.action_state_id in THROWN
    hitter = _thrower(game, player) if thrown else _unseen_hitter(game, player, damage)
    if hitter is None:
        return
    _credit(game, player, hitter, damage)
    if player.combos.open is not None:
        combo = player.combos.change(current_percent=player.post.percent)
        game.emit("combo_extended", playerIndex=player.index, combo=combo)


def _thrower(game: GameState, player: Player) -> Player | None:
    """Return the nearest player that is throwing, or in a pair the other one, whose throw might just have ended."""
    others = [other for other in game.others[player.index] if other.post is not None]
    if not game.is_pair:
        others = [other for other in others if other.post.action_state_id in THROWING]
    return min(others, key=lambda other: _squared_distance(player, other), default=None)


def _squared_distance(one: Player, other: Player) -> float:
    x, y = one.post.position_x - other.post.position_x, one.post.position_y - other.post.position_y
    return float(x * x + y * y)


def _unseen_hitter(game: GameState, player: Player, damage: float) -> Player | None:
    """Return the player who dealt damage that caused neither hitstun nor a throw, or `None` if no player did."""
    post = player.post
    if is_magnifying_glass(damage):
        return None
    newly_hit = _last_hitter(game, player) is not None and post.last_hit_by != player.prev.last_hit_by
    if not newly_hit and post.internal_character_id in HURT_THEMSELVES and is_attack(post.action_state_id):
        return None
    return _hitter(game, player)


def _hitter(game: GameState, player: Player) -> Player | None:
    """Return the player who would have hit, or `None` if we don't know who that is."""
    opponents = game.opponents[player.index]
    return _last_hitter(game, player) if game.uses_last_hit_by or opponents[0].post is None else opponents[0]


def _last_hitter(game: GameState, player: Player) -> Player | None:
    """Return the player that `last_hit_by` refers to, or `None` if there's no such player."""
    hitter = game.by_index.get(player.post.last_hit_by)
    return None if hitter is player or hitter is None or hitter.post is None else hitter


def _credit(game: GameState, player: Player, hitter: Player, damage: float) -> None:
    """Credit damage to the move of the given hitter."""
    game.any_hit = True
    begins = player.last_hit is None or player.last_hit[0] != hitter.index
    move = Move(hitter.index, game.number, hitter.post.last_attack_landed, 1, damage)
    deferred = player.conversions.hit(move, begins=begins, counts_all=game.counts_all_damage)
    player.combos.hit(move, begins=begins, counts_all=game.counts_all_damage)
    hitter.hits.add(player.index, damage + deferred, new_move=begins)
    if player.conversions.open is None and player in game.opponents[hitter.index]:
        hitter.hits.outside_damage += damage
    player.last_hit = hitter.index, hitter.prev.action_state_id


def end(game: GameState, player: Player, *, dies: bool) -> None:
    """If the conversion or the combo on a player is over, end it."""
    before = player.prev.percent
    index, conversions, combos = player.index, player.conversions, player.combos
    values = {
        "end_frame": game.number,
        "current_percent": before if dies else player.post.percent,
        "end_percent": before,
        "did_kill": dies,
    }
    if conversions.open is not None and (dies or conversions.counter > RESET_FRAMES):
        game.ended.append(conversions.close(**values))
    elif dies:
        by = _last_hitter(game, player) if game.uses_last_hit_by else None
        if by is not None:
            by.hits.add_kill(index)
        elif game.crew and not game.any_hit:
            player.given_up += 1
        else:
            player.self_destructs += 1
        _note_last_stock(game, index)
    if combos.open is not None and (dies or combos.counter > RESET_FRAMES):
        game.emit("combo_ended", playerIndex=index, combo=combos.close(**values))


def close_conversions(game: GameState) -> None:
    """Decide the opening type of the conversions that have ended in this frame, and credit their kills."""
    for conversion in game.ended:
        kind = opening_type(conversion, game.conversions, over=game.compat)
        closed = game.by_index[conversion.player_index].conversions.change(opening_type=kind)
        game.emit("conversion_ended", playerIndex=closed.player_index, conversion=closed)
        if closed.did_kill:
            _credit_kill(game, closed)
        _note_highlight(game, highlight_of_conversion(closed, game.stocks, game.teams))
    game.ended.clear()


def _note_highlight(game: GameState, found: Highlight | None) -> None:
    if found is not None:
        game.emit(highlight.KIND, **msgspec.to_builtins(found))


def _note_last_stock(game: GameState, index: int) -> None:
    """If a player has just lost a stock outside of a conversion, and this is a highlight, note it."""
    if game.is_pair:
        opponent = game.others[index][0].index
        for stock in game.stocks:
            if stock.player_index == index and stock.end_frame == game.number:
                _note_highlight(game, highlight_of_stock(stock, opponent, game.stocks))


def _credit_kill(game: GameState, conversion: Conversion) -> None:
    """Credit the kill of a conversion to the player who hit last."""
    victim, by = game.by_index[conversion.player_index], conversion.last_hit_by
    if by is UNSET or by not in game.by_index:
        return
    killer = game.by_index[by]
    killer.hits.add_kill(victim.index)
    if victim in game.opponents[by]:
        killer.hits.add_kill_move(conversion)
        if game.first_blood is None:
            frame: Any = conversion.end_frame
            game.first_blood = FirstBlood(frame, victim.index, by)


def is_magnifying_glass(damage: float) -> bool:
    """Whether damage without hitstun comes from the magnifying glass: it is 1 %, within the precision of a replay."""
    return abs(damage - 1.0) < 1e-4
