"""Names of people, tokens, and the limit of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.parts.seats.claims import Person
from slpstream.parts.seats.people import (
    MAX_CLAIMED,
    MAX_RECENT,
    MAX_TYPED_NAME,
    RecentPerson,
    as_in_sets,
    clean_name,
    person_named,
    with_recent,
)
from slpstream.parts.seats.rate_limit import RateLimit
from slpstream.parts.seats.tokens import Keys, is_token, renewed, token_of


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("  Ann\t B\n", "Ann B"),
        ("Ann\u202eB\u200b\u0000", "AnnB"),
        ("A" * 50, "A" * MAX_TYPED_NAME),
        ("e\u0301" + "\u0301" * 20, "é\u0301\u0301"),
        ("\u200d \u2060", ""),
        ("\u0301", ""),
        ("\u2800\u3164\u115f\u1160\uffa0", ""),
        ("Ann\u3164B\u2800", "Ann B"),
        ("ラーメン", "ラーメン"),
        ("🧑\u200d🚀", "🧑\u200d🚀"),
        ("\ud800x\ue000", "x"),
    ],
)
def test_names_are_cleaned(typed: str, name: str) -> None:
    assert clean_name(typed) == name


@given(st.text())
def test_cleaning_is_idempotent(text: str) -> None:
    name = clean_name(text)
    assert clean_name(name) == name
    assert len(name) <= MAX_TYPED_NAME
    assert name.isprintable() or "\u200d" in name


def test_expected_people_are_found_before_recent_ones() -> None:
    expected = [ExpectedPlayer("Ann", "GG", "she/her", "17")]
    recent = [Person("ANN"), Person("Bob", "XX")]
    assert person_named(" ann", expected, recent) == Person("Ann", "GG", "she/her")
    assert person_named("bob", expected, recent) == Person("Bob", "XX")
    assert person_named("Cyd", expected, recent) is None


def test_known_people_have_the_form_of_sets() -> None:
    player = ExpectedPlayer(f" A  {'b' * 70}", "S" * 45, f"{'p' * 39}  q")
    person = Person(f"A {'b' * 58}", "S" * 40, "p" * 39)
    assert as_in_sets(player) == person == as_in_sets(person)
    assert person_named(person.name, [player], []) == person
    assert person_named(person.name, [], [Person(player.name)]) == Person(person.name)
    assert person_named(" ", [ExpectedPlayer("")], []) is None


def named(*names: str, claimed_at: str | None = None) -> list[RecentPerson]:
    return [RecentPerson(name, claimed_at=claimed_at) for name in names]


def test_recent_people_are_newest_first_and_bounded() -> None:
    recent = with_recent((), named("Ann", "Bob"))
    assert with_recent(recent, named("Ann", "Bob")) is with_recent(recent, []) is recent
    assert with_recent(recent, named("Bob")) == named("Bob", "Ann")
    assert with_recent(recent, [RecentPerson("bob", "XX")]) == [RecentPerson("bob", "XX"), RecentPerson("Ann")]
    assert len(with_recent(recent, named(*(str(number) for number in range(2 * MAX_RECENT))))) == MAX_RECENT


def test_people_invented_by_a_phone_neither_precede_nor_displace_others() -> None:
    recent = with_recent(with_recent((), named("Ann", "Bob")), named("Cyd", claimed_at="side"))
    for number in range(2 * MAX_RECENT):
        recent = with_recent(recent, named("Ann", "Cyd", f"Made up {number}", claimed_at="main"))
    assert [person.name for person in recent[:4]] == ["Ann", "Bob", "Cyd", f"Made up {2 * MAX_RECENT - 1}"]
    assert recent[2].claimed_at == "side", "still of the station where Cyd was named first"
    assert len(recent) == 3 + MAX_CLAIMED
    assert with_recent(recent, named("Cyd"))[0] == RecentPerson("Cyd"), "an operator knows Cyd too"


def test_tokens_differ_between_stations_installations_and_renewals() -> None:
    one, other = Keys("00" * 32), Keys("01" * 32)
    tokens = {token_of(one, "a"), token_of(one, "b"), token_of(other, "a"), token_of(renewed(one, "a"), "a")}
    assert len(tokens) == 4
    assert is_token(one, "a", token_of(one, "a"))
    assert not is_token(renewed(one, "a"), "a", token_of(one, "a"))
    assert is_token(renewed(one, "a"), "b", token_of(one, "b"))
    assert not is_token(one, "a", "")
    assert not is_token(one, "a", "é")


def test_rate_limit_refills() -> None:
    limit = RateLimit(per_minute=60, burst=3)
    assert [limit.allows("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert limit.allows("b", 0.0)
    assert limit.allows("a", 1.0)
    assert not limit.allows("a", 1.5)
    assert [limit.allows("a", 100.0) for _ in range(4)] == [True, True, True, False]


def test_rate_limit_forgets_the_oldest_keys() -> None:
    limit = RateLimit(per_minute=1, burst=1)
    for number in range(10_000):
        limit.allows(str(number), 0.0)
    assert not limit.allows("9999", 0.0)
    assert limit.allows("0", 0.0)
