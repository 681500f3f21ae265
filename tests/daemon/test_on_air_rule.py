"""The rule that chooses the station on air, as a function of what is played."""

from __future__ import annotations

from slpstream.daemon.on_air.rule import Candidate, chosen


def test_rule_prefers_deciding_games_then_last_stocks_then_the_longest_unseen() -> None:
    seen = {"a": 100.0, "b": 50.0}
    plain = [Candidate("a"), Candidate("b"), Candidate("c")]
    assert chosen(plain, None, seen) == "c"
    assert chosen(plain[:2], None, seen) == "b"
    last_stock, deciding = Candidate("d", last_stock=True), Candidate("e", deciding=True)
    assert chosen([*plain, last_stock], None, seen) == "d"
    assert chosen([*plain, last_stock, deciding], None, seen) == "e"
    assert chosen([deciding, Candidate("f", deciding=True, last_stock=True)], None, seen) == "f"


def test_rule_leaves_a_game_only_for_a_more_important_one() -> None:
    assert chosen([Candidate("a"), Candidate("b")], "a", {"a": 9.0}) == "a"
    assert chosen([Candidate("a"), Candidate("b", last_stock=True)], "a", {}) == "b"
    assert chosen([Candidate("a", deciding=True), Candidate("b", last_stock=True)], "a", {}) == "a"
    assert chosen([Candidate("b")], "a", {}) == "b"
    assert chosen([], "a", {}) == "a"
