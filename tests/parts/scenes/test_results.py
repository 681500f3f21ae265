"""Games and stats that scenes fetch from the daemon: `scenes/results.js` in node, on a controlled clock."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.web.javascript import needs_node, run

pytestmark = needs_node

ASK = """
  let now = 0;
  globalThis.setTimeout = (then, milliseconds) => setImmediate(() => { now += milliseconds; then(); });
  const { Results } = await import("./scenes/results.js");
  const asked = [];
  const answer = (path) => {
    asked.push([now, path]);
    if (given.failing_until > now) {
      throw new TypeError("no connection");
    }
    return { status: given.status, body: { at: now, gameComplete: now >= given.complete_from } };
  };
  const results = new Results(async (path) => answer(path), () => {});
  const draw = () => results.stats("g");
  draw();
  while (now < given.until) {
    const before = now;
    // Until the next timer. Without further requests there is no timer.
    for (let turns = 0; now === before && turns < 20; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    now = Math.max(now, before + 100);
    if (now < given.draws_until) {
      draw();
    }
  }
  return { asked, last: draw() };
"""


def ask(**given: Any) -> dict[str, Any]:
    """Return all requests, each with its time, and the stats that are drawn in the end."""
    usual = {
        "failing_until": 0,
        "complete_from": 0,
        "until": 400_000,
        "draws_until": 400_000,
        "status": 200,
    }
    answer: dict[str, Any] = run(ASK, usual | given)
    return answer


def test_last_game_is_requested_until_it_is_listed() -> None:
    """A daemon that has just started may answer with 503, and then lists no games yet."""
    script = """
      let now = 0;
      globalThis.setTimeout = (then, milliseconds) => setImmediate(() => { now += milliseconds; then(); });
      const { Results } = await import("./scenes/results.js");
      const games = [{ gameId: "g", inProgress: false, reason: "game_end" }];
      const listed = () => ({ status: 200, body: { games: now < 120_000 ? [] : games } });
      const get = async () => (now < 100_000 ? { status: 503, body: {} } : listed());
      const results = new Results(get, () => {});
      while (results.newest("main") === "" && now < 400_000) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      return results.newest("main");
    """
    assert run(script, None) == "g"


def test_final_stats_are_requested_once() -> None:
    answer = ask()
    assert answer["asked"] == [[0, "v1/games/g/stats"]]
    assert answer["last"]["gameComplete"]


def test_running_game_is_polled_until_its_end() -> None:
    """A game lasts longer than a minute after its first stock."""
    answer = ask(complete_from=300_000)
    assert answer["last"]["gameComplete"]
    times = [at for at, _ in answer["asked"]]
    assert 300_000 <= times[-1] <= 303_000
    assert all(later - earlier >= 1500 for earlier, later in pairwise(times))


def test_polling_stops_when_results_are_not_drawn() -> None:
    answer = ask(complete_from=10**9, draws_until=1)
    assert 30 <= len(answer["asked"]) <= 50


def test_polling_resumes_when_the_daemon_returns() -> None:
    answer = ask(failing_until=200_000)
    assert answer["last"]["at"] >= 200_000


def test_polling_stops_after_a_minute_of_refusals() -> None:
    answer = ask(status=404)
    assert 30 <= len(answer["asked"]) <= 50
    assert answer["last"] is None
