"""The displayed state of a station as a function of its messages: `scenes/state.js` in node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.javascript import needs_node, run

pytestmark = needs_node

SHOWN = """
  const { SceneState } = await import("./scenes/state.js");
  const { peopleOf } = await import("./scenes/people.js");
  const { scoreOf } = await import("./set_score.js");
  const state = new SceneState("main", 1000);
  given.forEach((message, i) => state.take({ station: "main", ...message }, i));
  return [5, 5000].map((now) => {
    const { phase, game, set } = state.shown(now);
    return [phase, ...peopleOf(game, set).map((person) => `${person.name} ${scoreOf(set, person)}`)];
  });
"""


def start(game: str = "a", *names: str) -> dict[str, Any]:
    players = [
        {"playerIndex": i, "port": i + 1, "displayName": name} for i, name in enumerate(names or ("Fox", "Marth"))
    ]
    return {"type": "game_start", "gameId": game, "format": "slippi", "settings": {"players": players}}


def end(game: str = "a") -> dict[str, Any]:
    return {"type": "game_end", "gameId": game, "reason": "game_end", "winners": []}


def set_of(state: str, names: tuple[str, ...], *games: str, score: tuple[int, int] = (1, 0)) -> dict[str, Any]:
    players = [{"playerIndex": i, "port": i + 1, "side": i, "score": score[i]} for i in (0, 1)]
    for player, name in zip(players, names, strict=False):
        player["name"] = name  # type: ignore[assignment]
    listed = [{"gameId": game, "verdict": "counted", "players": []} for game in games]
    return {"type": "set", "state": state, "players": players, "score": list(score), "games": listed}


RUNNING = set_of("running", ("Mika", "Juno"), "a")
OVER = set_of("over", ("Mika", "Juno"), "a", score=(2, 0))
ANNOUNCED = set_of("upcoming", ("Orla", "Quill"), score=(0, 0))
UNNAMED = set_of("upcoming", (), score=(0, 0))


@pytest.mark.parametrize(
    ("messages", "soon", "later"),
    [
        pytest.param([RUNNING], *[["between", "Mika 1", "Juno 0"]] * 2, id="loaded between games"),
        pytest.param([OVER], *[["between", "Mika 2", "Juno 0"]] * 2, id="loaded after the set"),
        pytest.param([ANNOUNCED], *[["between", "Orla 0", "Quill 0"]] * 2, id="loaded before the set"),
        pytest.param([UNNAMED], *[["waiting"]] * 2, id="no announced set"),
        pytest.param([start(), RUNNING], *[["playing", "Mika 1", "Juno 0"]] * 2, id="late set"),
        pytest.param(
            [RUNNING, start(), end()],
            ["result", "Mika 1", "Juno 0"],
            ["between", "Mika 1", "Juno 0"],
            id="after a game",
        ),
        pytest.param(
            [start(), end(), RUNNING, {"type": "reset"}], *[["between", "Mika 1", "Juno 0"]] * 2, id="log is gone"
        ),
        pytest.param(
            [start(), end(), UNNAMED], ["result", "Fox null", "Marth null"], ["waiting"], id="new set, nobody named"
        ),
        pytest.param([start(), end(), ANNOUNCED], *[["between", "Orla 0", "Quill 0"]] * 2, id="next set"),
        pytest.param(
            [OVER, start("b", "Falco", "Sheik")], *[["playing", "Falco null", "Sheik null"]] * 2, id="game of a new set"
        ),
        pytest.param([ANNOUNCED, start()], *[["playing", "Orla 0", "Quill 0"]] * 2, id="game that was announced"),
    ],
)
def test_players_and_phase(messages: list[Any], soon: list[str], later: list[str]) -> None:
    assert run(SHOWN, messages) == [soon, later]
