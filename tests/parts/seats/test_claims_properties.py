"""Seats under any order of acts by phones, an operator and games: no port has two people."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from slpstream.parts.seats.claims import NoSeat, SeatTaken
from tests.parts.seats.station import Station

PHONES = st.sampled_from("abcd")
PORTS = st.integers(1, 4)


class Evening(RuleBasedStateMachine):
    """An evening at one station. Each phone belongs to one person, who has its letter as name."""

    def __init__(self) -> None:
        super().__init__()
        self.station = Station()
        self.operated = False
        """Whether the operator has given a name, which can be that of a person at another port."""
        self.freed: set[str] = set()
        """Names of seats that have become free after inactivity. They stay in a set that has begun."""
        self.played: dict[int, str] = {}
        """Names in the set at the end of its last game, by port, but not of those who have left it since then.

        They stay there, even if people change ports.
        """
        self.came: set[str] = set()
        """Names of people who have claimed or changed seats since the last game, even if somebody has taken it over."""

    @property
    def playing(self) -> bool:
        return self.station.now.playing

    @rule(phone=PHONES, port=PORTS, take_over=st.booleans(), stay=st.booleans())
    def claim(self, phone: str, port: int, take_over: bool, stay: bool) -> None:
        before = self.station.claimed
        scores, state = self.station.scores, self.station.payload["state"]
        taken: SeatTaken | None = None
        try:
            self.station.claim(phone, port, take_over=take_over, stay=stay)
        except SeatTaken as error:
            taken = error
        if taken is not None:
            assert not take_over
            assert before[taken.port] == taken.name != phone
            assert self.station.claimed == before
            return
        assert self.station.claimed[port] == phone
        if not self.playing:
            self.came.add(phone)
        after = self.station.claimed
        self.station.claim(phone, port)
        assert self.station.claimed == after, "the same answer for the same claim"
        if state == self.station.payload["state"] == "running" and not self.playing:
            assert scores.items() <= self.station.scores.items(), "claims between games change no score"

    @rule(phone=PHONES, port=PORTS)
    def swap(self, phone: str, port: int) -> None:
        before, scores = self.station.claimed, self.station.scores
        mine = next((each for each, name in before.items() if name == phone), None)
        if mine is None or self.station.now.is_over:
            with pytest.raises(NoSeat):
                self.station.swap(phone, port)
            return
        self.station.swap(phone, port)
        if not self.playing:
            self.came |= {phone, before.get(port, phone)}
        assert self.station.claimed.get(port) == phone
        assert self.station.claimed.get(mine) == (phone if mine == port else before.get(port))
        if self.station.payload["state"] == "running" and not self.playing:
            assert scores.items() <= self.station.scores.items()

    @rule(phone=PHONES)
    def leave(self, phone: str) -> None:
        had_seat = phone in self.station.claimed.values()
        self.station.leave(phone)
        if had_seat:
            self.played = {port: name for port, name in self.played.items() if name != phone}
        assert phone not in self.station.claimed.values()
        if had_seat and not self.station.now.is_over and not self.operated and phone not in self.freed:
            assert phone not in self.station.shown.values()

    @precondition(lambda self: not self.playing)
    @rule(ports=st.sampled_from([(1, 2), (1, 2), (1, 3), (3, 4), (1, 2, 3, 4)]))
    def begin(self, ports: tuple[int, ...]) -> None:
        before, over, set_id = self.station.claimed, self.station.now.is_over, self.station.now.set_id
        new = {index + 1: claim.person.name for index, claim in self.station.seats.claims.items() if claim.after_game}
        old = self.station.record[-1]
        self.station.begin(*ports)
        if set_id not in (None, self.station.now.set_id) and not over:
            assert new.items() <= self.station.claimed.items(), "they came for this set"
            if not self.operated and not self.freed:
                assert {port: name for port, name in new.items() if port in ports}.items() <= self.station.shown.items()
                played = self.played
                kept = {port: name for port, name in old.items() if name not in self.came or played.get(port) == name}
                assert self.station.record[-2] == kept, "and not for the one before"
        if over:
            assert self.station.claimed == {}
        elif set(before) <= set(ports) and set_id in (None, self.station.now.set_id):
            assert self.station.claimed == before
            if not self.operated and not self.freed:
                assert before.items() <= self.station.shown.items(), "names follow the ports"

    @precondition(lambda self: self.playing)
    @rule(place=st.integers(0, 3))
    def end(self, place: int) -> None:
        players = self.station.games[-1].players
        winner = players[place % len(players)].port
        name = self.station.shown.get(winner)
        before = self.station.scores
        self.station.end(winner)
        self.played, self.came = self.station.shown, set()
        if name is not None and not self.operated:
            assert self.station.scores[name] == before[name] + 1, "the point is that of the winner's name"

    @rule(port=PORTS, name=st.sampled_from([None, "Zoe"]))
    def operate(self, port: int, name: str | None) -> None:
        with suppress(Exception):
            self.station.correct(names={str(port - 1): name})
            self.operated = True

    @rule()
    def new_set(self) -> None:
        self.station.correct(newSet=True)

    @rule()
    def time_passes(self) -> None:
        before = self.station.claimed
        self.station.wait(31)
        assert self.playing or self.station.claimed == {}
        if not self.playing:
            self.freed |= set(before.values()) & set(self.station.shown.values())

    @invariant()
    def one_seat_for_each_phone(self) -> None:
        phones = [claim.phone for claim in self.station.seats.claims.values()]
        assert len(set(phones)) == len(phones)
        assert len(set(self.station.claimed.values())) == len(phones)

    @invariant()
    def shown_claims_are_in_the_set(self) -> None:
        now = self.station.now
        for index, claim in self.station.seats.claims.items():
            assert claim.shown == (now.seated.get(index) == claim.person.name)

    @invariant()
    def nobody_is_shown_twice(self) -> None:
        seated = list(self.station.now.seated.values())
        assert len(set(seated)) == len(seated)


TestEvening = Evening.TestCase
TestEvening.settings = settings(max_examples=60, stateful_step_count=30)
