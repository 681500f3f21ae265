"""The syntax of queries, their mistakes, and the extensions of the Launcher's syntax."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.game_facts import GameFacts, facts_of
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.find.queries.conditions import AllOf, Between
from slpstream.parts.find.queries.parse import Context, parse
from slpstream.parts.find.queries.predicate import matches


def game(**changes: object) -> GameFacts:
    """Ann's Fox beats Bob's Marth on Battlefield in three minutes, on 2024-03-05 at noon."""
    summary = GameSummary(
        place=Thing(kind="stage", id=31, name="Battlefield"),
        players=[
            PlayerSummary(index=0, name="Ann", code="ANN#1", character=Thing(id=2, name="Fox")),
            PlayerSummary(index=1, name="Bob", tag="BOBY", code="BOB#2", character=Thing(id=9, name="Marth")),
        ],
        winners=[0],
        ending="quit",
    )
    values: dict[str, object] = {"duration_seconds": 180.0, "began_ms": 1_709_640_000_000, "format": "slippi"}
    values |= {"stations": ["setup 1"], "file_name": "Game_20240305T120000.slp", **changes}
    return facts_of(summary, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", True),
        ("fox>marth", True),
        ("marth>fox", False),
        ("fox> >marth", True),
        ("fox> >falco", False),  # several match-ups must all hold
        ("marth>fox fox>marth", False),
        ("-fox>marth", False),
        ("-marth>fox", True),
        ("char:", True),  # a key without a value
        (": ,", False),  # a comma is a word
        ("-mango", True),
        ("-ann", False),
        ('-"ann bob"', True),
        ('""', True),
        ('-""', True),
        ("ann game", False),  # one text, in which the order counts
        ("duration:2m..3m", True),
        ("duration:3m1s..4m", False),
        ("-duration:2m..3m", False),
        ("duration:>=2m", True),
        (f"duration:>{'9' * 90}m", False),
        ("duration:<=2m", False),
        ("duration:>4m duration:>2m", True),  # the later one replaces the earlier
        ("duration:>2m duration:>4m", False),
        ("duration:>4m duration:<4m", False),  # a lower and an upper bound
        ("duration:>2m duration:<4m", True),
        ("duration:>4m duration:<5m duration:2m..3m", True),  # a range has both
        ("duration:>2m -duration:>4m", True),
        ("duration:<4m -duration:<4m", False),
        ("-duration:>2m -duration:<4m", False),  # not in this range
        ("-duration:>2m -duration:<2m30s", True),
        ("date:2024-01..2024-02", False),
        ("date:2024-01..2024-03", True),
        ("-date:2024-03", False),
        ("date:9999", False),
        ("date:<9999", True),
        ("date:<=9999-12-31", True),
        ("date:>9999-12", False),
        ("date:2024..9999", True),
        ("date:2023-12..2024-02", False),
        ("date:2023-12", False),
        ("date:<2024-03-05", False),
        ("date:<2024-03-06", True),
        ("date:>2024-04 date:<2024-05", False),
        ("date:>2024-02 date:<2024-06", True),
        ("date:>2024-04 date:2024", True),  # an exact date has both bounds
        ("date:2024 date:>2024-04", False),
        ("date:2024 -date:2024-03-05", False),
        ("date:2024 -date:2024-03-06", True),
        ("date:<2024-02 date:<=2024-06", False),  # two different bounds
        ("date:<2024-02 date:<2024-06", True),
        ("is:unranked is:singles", True),
        ("is:ranked is:singles", False),
        ("is:ranked -is:doubles", False),
        ("is:ranked is:unranked", True),  # the later one replaces the earlier
        ("is:doubles is:teams is:singles", True),
        ("-is:singles -is:doubles", True),
        ("is:ranked,singles is:unranked", True),
        ("is:ranked,doubles is:singles", False),
        ("end:quit", True),
        ("end:time,quit", True),
        ("-end:quit", False),
        ('station:"setup 1"', True),
        ("station:setup", False),
        ("format:SLIPPI", True),
        ("winner:ANN#1", True),
        ("winner:ann#1", False),  # codes are compared exactly
        ('loser:"bob"', True),
        ('loser:"bo"', False),
        ("loser:ann", False),
        ("@me", True),
        ("@ME", True),
        ("-@Me", False),
        ("loser:@me", False),
        ("winner:@ME", True),
        ("code:@ME", True),
        ('char:"Fox,Marth"', True),
        ('char:"Falco, Sheik"', False),
        ('stage:"Battlefield,Final Destination"', True),
        ('stage:"Green Greens (Adventure, Kirby)"', False),  # a comma in a name
        ("code:@me", True),
        ("char:fo", True),  # part of a name, or several names
        ("char:falco", False),
        ("char:marth,link", True),
        ("character:FOX", True),
        ("-char:fox", False),
        ("char:cf", False),  # the alias of another character
        ("name:BOB", True),
        ("tag:boby", True),
        ('tag:"an"', True),
        ("-tag:ann", False),
        ("tag:mango", False),
        ("code:ANN#1", True),
        ("code:NO#1,BOB#2", True),
        ("code:bob#2", False),
        ("-code:NO#1", True),
        ("winner:an", True),  # part of a name
        ("winner:bob", False),
        ("loser:boby", True),
        ("stage:bf,ps", True),
        ("stage:field", True),
        ("stage:fd stage:bf", True),
        ("-stage:fd", True),
        ("format:gci", False),
        ("stage:mute", False),
    ],
)
def test_meaning(query: str, found: bool) -> None:
    parsed = parse(query, Context(("ANN#1",), UTC))
    assert parsed.problems == ()
    assert matches(parsed.condition, game()) is found


@pytest.mark.parametrize("query", ["duration:>9m", "-duration:<9m", "date:1999", "-date:2024"])
def test_unknown_games_pass(query: str) -> None:
    assert matches(parse(query, Context((), UTC)).condition, game(duration_seconds=None, began_ms=None))


def test_contests_without_opponents_have_any_length() -> None:
    for stage in ("Home-Run Contest", "Target Test (Link)"):
        summary = GameSummary(place=Thing(kind="stage", name=stage))
        facts = facts_of(summary, format="slippi", stations=(), file_name="", duration_seconds=9.0, began_ms=None)
        assert matches(parse("duration:>9m").condition, facts), stage


def test_the_length_of_a_game_is_that_of_its_last_frame() -> None:
    # The last frame of a game of 180 seconds is 10676, and 10799 frames after the first one.
    assert matches(parse("duration:>2m59s59f").condition, game())
    assert not matches(parse("duration:>3m").condition, game())
    assert matches(parse("duration:<2m59s59f").condition, game())


@pytest.mark.parametrize(
    ("query", "kind", "marked"),
    [
        ("ann stge:fd", "INVALID_KEY", "stge"),
        ("char:fox,zz ann", "INVALID_VALUE", "zz"),
        ('stage:"nowhere land"', "INVALID_VALUE", '"nowhere land"'),
        ("duration:30", "INVALID_VALUE", "30"),
        ("duration:3s2m", "INVALID_VALUE", "3s2m"),
        ("duration:=3m", "INVALID_VALUE", "=3m"),
        (f"duration:<{'9' * 5000}m", "INVALID_VALUE", f"<{'9' * 5000}m"),
        ("date:10000", "INVALID_VALUE", "10000"),
        ("winner:b,@ME", "INVALID_VALUE", "@ME"),
        ("winner:" + ",".join(map(str, range(66))), "INVALID_VALUE", "64"),
        ('char:"Fox,Fo"', "INVALID_VALUE", '"Fox,Fo"'),
        ("date:2024-13", "INVALID_VALUE", "2024-13"),
        ("date:yesterday", "INVALID_VALUE", "yesterday"),
        ("is:fun", "INVALID_VALUE", "fun"),
        ("fox>zz", "INVALID_VALUE", "zz"),
        ("-@me", "INVALID_VALUE", "@me"),
        ('char:"fo"', "INVALID_VALUE", '"fo"'),  # quoted: the whole name
    ],
)
def test_mistakes_are_marked_at_their_place(query: str, kind: str, marked: str) -> None:
    [problem] = parse(query).problems
    assert problem.kind == kind
    assert query[problem.position : problem.position + problem.length] == marked


def test_repeated_filters_count_once() -> None:
    assert parse("a>" * 500).condition == parse("a>a >a").condition
    assert parse("stage:" + "a," * 500).condition == parse("stage:a").condition
    assert parse("tag:" + ",".join(["b", *map(str, range(63)), "b"])).problems == ()


@pytest.mark.parametrize(
    "zone",
    [
        pytest.param(None, marks=pytest.mark.not_on_windows("Windows knows no local time after the year 3000")),
        UTC,
        timezone(timedelta(hours=14)),
        timezone(timedelta(hours=-12)),
    ],
)
def test_last_representable_day_has_an_end(zone: tzinfo | None) -> None:
    condition = parse("date:9999-12-31", Context((), zone)).condition
    assert isinstance(condition, AllOf)
    [day] = condition.parts
    assert isinstance(day, Between)
    assert day.low is not None
    assert day.high == day.low + 86_400_000 - 1


def test_the_rest_of_a_query_with_mistakes_still_applies() -> None:
    parsed = parse("nokey:1 char:zz char:marth -char:fox")
    assert [problem.position for problem in parsed.problems] == [0, 13]
    assert not matches(parsed.condition, game())


@given(st.text(alphabet=st.sampled_from('ab:-">@me#,. 0129m<=é\n\x00'), max_size=40) | st.text(max_size=40))
def test_parser_never_fails(query: str) -> None:
    parsed = parse(query)
    for problem in parsed.problems:
        assert 0 <= problem.position <= problem.position + problem.length <= len(query)
    assert matches(parsed.condition, game()) in (True, False)


def test_machines_and_courses_of_other_games_are_found() -> None:
    summary = GameSummary(
        place=Thing(kind="course", id=1, name="Mute City: Twist Road"),
        players=[PlayerSummary(index=0, character=Thing(kind="machine", id=6, name="Blue Falcon"))],
    )
    facts = facts_of(summary, format="gci", stations=(), file_name="a.gci", duration_seconds=60.0, began_ms=None)
    for query in ("stage:mute", "stage:mute_city", 'char:"blue falcon"', "stage:twist_road", "format:gci", "char:blue"):
        assert matches(parse(query).condition, facts), query
    assert not matches(parse("char:falco stage:battlefield").condition, facts)


@pytest.mark.parametrize(
    ("query", "character", "stage"),
    [
        ("char:falcon stage:fod", "Captain Falcon", "Fountain of Dreams"),
        ("char:gnw stage:dreamland", "Mr. Game & Watch", "Dream Land N64"),
        ('char:"g&w" stage:"pokemon stadium"', "Mr. Game & Watch", "Pokémon Stadium"),
        ("char:ylink stage:yoshis", "Young Link", "Yoshi's Story"),
        ("char:puff stage:PS", "Jigglypuff", "Pokémon Stadium"),
        ("char:doc stage:target_test", "Dr. Mario", "Target Test (Link)"),
    ],
)
def test_aliases_and_names_without_accents(query: str, character: str, stage: str) -> None:
    player = PlayerSummary(index=0, character=Thing(kind="character", name=character))
    summary = GameSummary(place=Thing(kind="stage", name=stage), players=[player])
    facts = facts_of(summary, format="slippi", stations=(), file_name="", duration_seconds=None, began_ms=None)
    parsed = parse(query, Context((), UTC))
    assert parsed.problems == ()
    assert matches(parsed.condition, facts)
