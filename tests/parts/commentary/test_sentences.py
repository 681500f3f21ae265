"""The sentences about games and sets, in each language."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
import trio

from slpstream.formats.registry import of_name
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import LogMessage
from slpstream.parts.commentary.commentary import MAX_WAITING, Listener
from slpstream.parts.commentary.commentator import Commentator, Sentence
from slpstream.parts.commentary.phrases import PHRASES, Language
from slpstream.parts.services import Span, Swing
from tests.replays import replay
from tests.synthetic.match import synthetic_match

MATCH = synthetic_match(seed=5)


def log_of(data: bytes, cuts: list[int]) -> list[list[LogMessage]]:
    """The messages of a file that arrives in pieces, as a listener gets them."""
    pipeline = Pipeline(of_name("game.slp").new_reader("game.slp"), ("finalized",))
    batches = [pipeline.feed(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return [
        [message for message in batch.messages("finalized") if message.topic in ("game", "event")]
        for batch in [*batches, pipeline.finish()]
    ]


def sentences(data: bytes, language: Language = "en", cuts: list[int] | None = None) -> list[str]:
    commentator = Commentator(PHRASES[language])
    return [sentence.text for batch in log_of(data, cuts or []) for sentence in commentator.take(batch)]


def events(messages: list[list[LogMessage]], kind: str) -> list[dict[str, Any]]:
    found = [msgspec.json.decode(b"{" + message.body) for batch in messages for message in batch]
    return [event for event in found if event.get("kind") == kind]


def set_of(state: str, *scores: int, winner: int | None = None) -> dict[str, Any]:
    names = ("Ann", "Bo")
    sides = [{"score": score, "players": [index]} for index, score in enumerate(scores)]
    players = [{"playerIndex": index, "name": name} for index, name in enumerate(names)]
    return {"setId": "s", "state": state, "sides": sides, "players": players, "games": [], "winner": winner}


def test_each_lost_stock_is_said() -> None:
    said = sentences(MATCH)
    lost = events(log_of(MATCH, []), "stock_lost")
    assert len(lost) > 3
    for event in lost:
        percent = f"at {round(event['stock']['endPercent'])} percent"
        assert any(percent in sentence and "stock" in sentence for sentence in said), percent
    assert said[0] == "Vixen as Fox against Altea as Marth, on Battlefield."
    assert said[-1].endswith("wins the game.")


def test_pieces_make_no_difference() -> None:
    rng = random.Random(3)
    cuts = sorted(rng.sample(range(len(MATCH)), 300))
    assert sentences(MATCH, cuts=cuts) == sentences(MATCH)


@pytest.mark.parametrize("language", PHRASES)
def test_each_language_says_the_same(language: Language) -> None:
    in_english, said = sentences(MATCH), sentences(MATCH, language)
    assert len(said) == len(in_english)
    assert not [sentence for sentence in said if "{" in sentence or "None" in sentence]
    if language != "en":
        assert {sentence for sentence in said if sentence in in_english} <= {s for s in said if s.startswith("Stocks")}


def test_last_stocks_and_long_conversions() -> None:
    said = sentences(synthetic_match(seed=1, stocks=2))
    assert "Everybody is on the last stock." in said
    assert any(" times for " in sentence for sentence in said)


def test_a_listener_who_joins_later_is_told_no_wrong_stocks() -> None:
    batches = log_of(MATCH, list(range(10_000, len(MATCH), 10_000)))
    start = next(message for batch in batches for message in batch if message.type == "game_start")
    whole = sentences(MATCH)
    for begin in range(5, len(batches), 25):
        commentator = Commentator(PHRASES["en"])
        commentator.join(start, None)
        said = [sentence.text for batch in batches[begin:] for sentence in commentator.take(batch)]
        assert set(said) <= set(whole)
        assert said[-1] == whole[-1]


def test_the_rest_of_an_earlier_game_is_left_out() -> None:
    first, second = ([m for batch in log_of(synthetic_match(seed=seed), []) for m in batch] for seed in (5, 6))
    commentator = Commentator(PHRASES["en"])
    commentator.take(first[:50])
    expected = [sentence.text for sentence in Commentator(PHRASES["en"]).take(second)]
    assert [sentence.text for sentence in commentator.take([second[0], *first[50:], *second[1:]])] == expected


def test_a_sentence_is_one_line_and_the_newest_are_kept() -> None:
    listener = Listener("en")
    listener.put([Sentence("pause", important=False), Sentence("a\n\nevent: b"), Sentence("damage", important=False)])
    listener.put([Sentence(str(number)) for number in range(MAX_WAITING - 2)])
    listener.end()
    assert trio.run(heard_by, listener) == ["a\\n\\nevent: b", "damage", *map(str, range(MAX_WAITING - 2))]
    listener.put([Sentence(str(number)) for number in range(MAX_WAITING + 3)])
    assert trio.run(heard_by, listener) == [str(number) for number in range(3, MAX_WAITING + 3)]


async def heard_by(listener: Listener) -> list[str]:
    heard = []
    while (text := await listener.next()) is not None:
        heard.append(text)
    return heard


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("doubles_3.18", "Altea and Port Town win the game."),
        ("free_for_all_3.18", "Port Town quits the game."),
        ("quit_3.18", "Altea wins the game."),
        ("time_mode_3.18", "Vixen wins the game."),
        ("teams_time_mode_3.18", "The game is tied."),
        ("stamina_3.18", "Altea wins the game."),
        ("quit_0.2", "The game is over without a winner."),
    ],
)
def test_games_of_other_kinds(name: str, last: str) -> None:
    said = sentences(replay(name))
    assert said[-1] == last
    assert not [sentence for sentence in said if "None" in sentence]


def test_sets() -> None:
    commentator = Commentator(PHRASES["en"])
    commentator.join(None, set_of("running", 1, 0))
    assert commentator.set_changed(set_of("running", 1, 0)) == []
    [tied] = commentator.set_changed(set_of("running", 1, 1))
    assert tied.text == "In the set: Ann 1, Bo 1."
    [over] = commentator.set_changed(set_of("over", 1, 2, winner=1))
    assert over.text == "Bo wins the set, 2 to 1."
    assert commentator.set_changed(set_of("over", 1, 2, winner=1)) == []


def test_situations_name_the_player() -> None:
    commentator = Commentator(PHRASES["en"])
    [said] = commentator.situation_seen({"name": "pillar", "player": 1})
    assert said.text == "P2: pillar."


@pytest.mark.parametrize("language", PHRASES)
def test_large_swings_of_the_odds_are_said(language: Language) -> None:
    commentator = Commentator(PHRASES[language])
    spans = []
    for batch in log_of(MATCH, list(range(10_000, len(MATCH), 10_000))):
        commentator.take(batch)
        spans += commentator.spans
    messages = log_of(MATCH, [])
    conversions = [event["conversion"] for event in events(messages, "conversion_ended")]
    killed = {(each["playerIndex"], each["endFrame"]) for each in conversions if each["didKill"]}
    lost = [(event["playerIndex"], event["frame"]) for event in events(messages, "stock_lost")]
    expected = [Span(1 - each["playerIndex"], each["startFrame"], each["endFrame"]) for each in conversions]
    expected += [Span(1 - player, frame, frame) for player, frame in lost if (player, frame) not in killed]
    assert sorted(spans) == sorted(expected)
    said = [
        commentator.odds_changed(0, swing)
        for swing in (Swing(0.4, 0.62), Swing(0.1, 0.35), Swing(0.7, 0.998), Swing(0.45, 0.6), Swing(0.7, 1.0), None)
    ]
    phrases = PHRASES[language]
    assert said == [
        [Sentence(phrases.favourite.format(name="Vixen", percent=62), important=False)],
        [Sentence(phrases.chance.format(name="Vixen", percent=35), important=False)],
        [Sentence(phrases.chance.format(name="Vixen", percent=99), important=False)],
        *[[]] * 3,
    ]
