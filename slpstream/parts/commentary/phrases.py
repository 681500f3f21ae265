"""The sentences of the commentary in each language, with places in braces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Language = Literal["en", "ja", "es"]


class Phrases(NamedTuple):
    """The sentences in one language."""

    against: str
    """Joins the sides of a game."""
    on_stage: str
    """A game that begins. `names` are its players, and `stage` is the name of the stage."""
    begins: str
    """The same, if the stage has no name."""
    with_character: str
    taken: str
    """`name` loses a stock to `by`, at this `percent`."""
    taken_with: str
    """The same, with the `move` that hit last."""
    lost: str
    """`name` loses a stock without anybody's help."""
    stocks: str
    """The stocks of all players."""
    player_stocks: str
    last_stocks: str
    zero_to_death: str
    damage: str
    paused: str
    wins: str
    team_wins: str
    time: str
    quits: str
    tied: str
    undecided: str
    leads: str
    """The score of a set that goes on. `first` and `second` are its sides, with their scores."""
    wins_set: str
    situation: str
    favourite: str
    """The odds have turned round: `name` is now likelier to win, by this `percent`."""
    chance: str
    """The odds have changed, but not turned round."""
    and_: str
    """Between the members of a team."""
    separator: str
    """Between the players in a list."""


PHRASES: Mapping[Language, Phrases] = {
    "en": Phrases(
        against="{first} against {second}",
        on_stage="{names}, on {stage}.",
        begins="{names}.",
        with_character="{name} as {character}",
        taken="{by} takes a stock from {name} at {percent} percent.",
        taken_with="{by} takes a stock from {name} at {percent} percent with {move}.",
        lost="{name} loses a stock at {percent} percent.",
        stocks="Stocks: {players}.",
        player_stocks="{name} {count}",
        last_stocks="Everybody is on the last stock.",
        zero_to_death="A zero-to-death.",
        damage="{by} hits {name} {moves} times for {damage} percent.",
        paused="The game continues after a pause.",
        wins="{name} wins the game.",
        team_wins="{name} win the game.",
        time="Time is up.",
        quits="{name} quits the game.",
        tied="The game is tied.",
        undecided="The game is over without a winner.",
        leads="In the set: {first} {first_score}, {second} {second_score}.",
        wins_set="{name} wins the set, {score} to {other}.",
        situation="{name}: {situation}.",
        favourite="{name} is now the favourite, with a {percent} percent chance to win.",
        chance="{name} now has a {percent} percent chance to win.",
        and_=" and ",
        separator=", ",
    ),
    "ja": Phrases(
        against="{first}対{second}",
        on_stage="{names}。ステージは{stage}。",
        begins="{names}。",
        with_character="{name}（{character}）",
        taken="{by}が{percent}%の{name}を撃墜。",
        taken_with="{by}が{move}で{percent}%の{name}を撃墜。",
        lost="{name}が{percent}%でストックロスト。",
        stocks="残りストックは{players}。",
        player_stocks="{name}が{count}",
        last_stocks="全員が最後のストック。",
        zero_to_death="即死コンボ。",
        damage="{by}が{name}に{moves}発、{damage}%のダメージ。",
        paused="ポーズが解除されて試合再開。",
        wins="試合は{name}の勝ち。",
        team_wins="試合は{name}の勝ち。",
        time="タイムアップ。",
        quits="{name}が試合を途中でやめた。",
        tied="試合は引き分け。",
        undecided="試合は勝敗なしで終了。",
        leads="セットは{first}が{first_score}、{second}が{second_score}。",
        wins_set="セットは{score}対{other}で{name}の勝ち。",
        situation="{name}：{situation}。",
        favourite="{name}が優勢に。勝率は{percent}%。",
        chance="{name}の勝率は{percent}%に。",
        and_="と",
        separator="、",
    ),
    "es": Phrases(
        against="{first} contra {second}",
        on_stage="{names}, en {stage}.",
        begins="{names}.",
        with_character="{name} con {character}",
        taken="{by} le quita un stock a {name} con {percent} por ciento.",
        taken_with="{by} le quita un stock a {name} con {percent} por ciento, con {move}.",
        lost="{name} pierde un stock con {percent} por ciento.",
        stocks="Stocks: {players}.",
        player_stocks="{name} {count}",
        last_stocks="A todos les queda el último stock.",
        zero_to_death="De cero al KO.",
        damage="{by} golpea {moves} veces a {name}: {damage} por ciento.",
        paused="La partida sigue después de una pausa.",
        wins="{name} gana la partida.",
        team_wins="{name} ganan la partida.",
        time="Se acabó el tiempo.",
        quits="{name} abandona la partida.",
        tied="La partida termina en empate.",
        undecided="La partida termina sin ganador.",
        leads="En el set: {first} {first_score}, {second} {second_score}.",
        wins_set="{name} gana el set, {score} a {other}.",
        situation="{name}: {situation}.",
        favourite="{name} pasa a tener ventaja, con un {percent} por ciento de probabilidades de ganar.",
        chance="{name} tiene ahora un {percent} por ciento de probabilidades de ganar.",
        and_=" y ",
        separator=", ",
    ),
}
