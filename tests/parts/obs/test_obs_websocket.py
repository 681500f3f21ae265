"""OBS driven by rules, against the stand-in of `obs_double.py`, which checks every request."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from slpstream.parts.obs.desk import Desk, WishKey
from slpstream.parts.obs.rules import Actions, Rule
from slpstream.parts.obs.session import Answer, ObsEvent
from slpstream.system.internal_errors import InternalErrors
from tests.parts.obs.obs_scene import RESPECT_SECONDS, RULES, Production

pytestmark = pytest.mark.trio


async def test_set_of_three_games_has_every_scene_once(clock: MockClock) -> None:
    production = Production()
    async with production.running():
        for number, score in enumerate(((0, 0), (1, 0), (1, 1)), 1):
            await production.play(number, score=score)
            assert production.obs.texts == {"Players": "Ann vs Bob", "Score": f"{score[0]} – {score[1]}"}
            await trio.sleep(60)
            await production.end()
            await trio.sleep(20)
        production.show_set("main", (2, 1), over=True)
        await trio.sleep(5)
        production.show_set("main", (2, 1), over=True)
        await trio.sleep(5)
    assert production.obs.shown == ["Game", "Break", "Game", "Break", "Game", "Break", "Result"]
    assert production.outcomes["failed"] == production.outcomes["missed"] == 0


async def test_conversions_save_the_replay_buffer(clock: MockClock) -> None:
    production = Production()
    async with production.running():
        await production.play(1)
        await production.conversion(79, kill=True)
        await production.conversion(90, kill=False)
        assert production.obs.saved_replays == 0
        await production.conversion(80, kill=True)
        await production.conversion(120, kill=True)
        assert production.obs.saved_replays == 2


async def test_sources_recording_and_chapters(clock: MockClock) -> None:
    start = Actions(
        in_scene="Game", show=("Logo",), hide=("Camera",), recording="start", chapter="{player1} on {stage}"
    )
    rules = [
        Rule(on="game_start", station="*", actions=start),
        Rule(on="game_end", station="*", actions=Actions(in_scene="Game", hide=("Logo",), recording="stop")),
    ]
    production = Production(rules=rules)
    obs = production.obs
    async with production.running() as control:
        await production.play(1)
        assert control.not_ready() == ["OBS: chapter: this OBS does not have CreateRecordChapter; a newer one may"]
        await production.end()
        obs.lacks.clear()
        obs.kick(1001)
        await trio.sleep(10)
        await production.play(2)
        assert [item[1] for item in obs.items.values()] == [False, True]
        assert (obs.recording, obs.chapters) == (True, ["Ann on Battlefield"])
        await production.end()
        assert [item[1] for item in obs.items.values()] == [False, False]
        assert not obs.recording
        obs.recording = True  # the producer acted first
        await production.play(3)
        assert control.not_ready() == [], "OBS did as requested"


async def test_returning_obs_gets_the_current_state(clock: MockClock) -> None:
    production = Production()
    async with production.running() as control:
        production.obs.kill()
        await trio.sleep(1)
        assert control.not_ready()[0].startswith("OBS: ")
        await production.play(1)
        await production.conversion(100, kill=True)
        await trio.sleep(60)
        production.obs.start()
        await trio.sleep(10)
        assert control.not_ready() == []
        assert production.obs.shown == ["Game"]
        assert production.obs.texts["Players"] == "Ann vs Bob"
        assert production.obs.saved_replays == 0, "the moment has passed"
        assert production.outcomes["missed"] == 1
        assert production.reconnects == 1


async def test_obs_sink_recovers_from_a_bug(clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    production, failures, answered = Production(), [KeyError("a bug")], Desk.answered
    production.errors = InternalErrors(strict=False)

    def fail_once(desk: Desk, answer: Answer) -> None:
        if failures:
            raise failures.pop()
        answered(desk, answer)

    monkeypatch.setattr(Desk, "answered", fail_once)
    async with production.running() as control:
        await production.play(1)
        await trio.sleep(60)
        await production.end()
        await trio.sleep(20)
        assert production.obs.shown == ["Game", "Break"]
        assert control.not_ready() == []
        assert control.is_connected


async def test_lost_connection_to_the_same_obs_changes_nothing(clock: MockClock) -> None:
    production = Production()
    async with production.running():
        await production.play(1)
        await trio.sleep(100)
        before = len(production.obs.requests)
        production.obs.kick(1001)
        await trio.sleep(10)
        assert production.obs.connections == 2
        asked = {kind for kind, _ in production.obs.requests[before:]}
        assert asked == {"GetVersion", "GetSceneList", "GetVideoSettings", "GetStats"}


async def test_producers_scene_is_respected_for_a_while(clock: MockClock) -> None:
    production = Production()
    production.obs.scenes.append("Interview")
    async with production.running():
        await production.play(1)
        await trio.sleep(10)
        production.obs.choose("Interview")
        await trio.sleep(5)
        await production.end()
        await trio.sleep(RESPECT_SECONDS - 6)
        assert production.obs.program == "Interview"
        await trio.sleep(2)
        assert production.obs.program == "Break", "the rule was right, only too early"
        production.obs.choose("Interview")
        await trio.sleep(300)
        assert production.obs.program == "Interview", "no rule applied since"
        await production.play(2)
        assert production.obs.shown == ["Game", "Interview", "Break", "Interview", "Game"]


async def test_producers_scene_during_downtime(clock: MockClock) -> None:
    production = Production()
    async with trio.open_nursery() as nursery:
        await nursery.start(production.obs.run)
        production.obs.start()
        await trio.sleep(50)
        async with production.daemon():
            await production.play(1)
        production.obs.choose("Result")
        await trio.sleep(10)
        production.restart_stations()
        await production.play(1)
        async with production.daemon():
            await trio.sleep(100)
        nursery.cancel_scope.cancel()
    assert production.obs.shown == ["Game", "Result"]


async def test_copied_replay_and_old_set_trigger_no_rules(clock: MockClock) -> None:
    production = Production()
    fake = production.fakes["main"]
    async with production.running():
        fake.channel.publish_set({"setId": "of yesterday", "gameId": "old", "state": "over", "sides": []})
        copied = fake.begin(production.game(7), secondary=True)
        fake.write_all(copied)
        await trio.sleep(10)
        assert production.obs.shown == []


async def test_new_station_on_air_brings_its_scene_and_texts(clock: MockClock) -> None:
    texts = Actions(scene="Game", text={"Players": "{station}"})
    rules = [
        Rule(on="game_start", station="on-air", actions=texts),
        Rule(on="game_end", station="on-air", actions=Actions(scene="Break", text={"Players": "{station} is over"})),
        Rule(on="event", station="on-air", event="stock_lost", actions=Actions(save_replay=True)),
    ]
    production = Production("left", "right", rules=rules)
    async with production.running():
        await production.play(1, "left")
        await production.play(2, "right")
        assert production.obs.shown == []
        for name in ("left", "right", "left"):
            production.hub.put_on_air(name, "operator", 1.0)
            await wait_all_tasks_blocked()
            await trio.sleep(1)
            assert production.obs.texts["Players"] == name
        await production.event("right", kind="stock_lost", frame=1)
        assert production.obs.saved_replays == 0
        await production.event("left", kind="stock_lost", frame=1)
        assert production.obs.saved_replays == 1
        await production.end("right")
        assert production.obs.shown == ["Game"]
        production.hub.put_on_air("right", "rule", 1.0)
        await wait_all_tasks_blocked()
        await trio.sleep(1)
        assert production.obs.texts["Players"] == "right is over"
    assert production.obs.shown == ["Game", "Break"]


async def test_idle_station(clock: MockClock) -> None:
    rules = [
        Rule(on="game_start", station="*", actions=Actions(scene="Game")),
        Rule(on="station_idle", station="*", after_seconds=60, actions=Actions(scene="Break")),
        Rule(on="station_idle", station="*", after_seconds=300, actions=Actions(scene="Result")),
    ]
    production = Production("main", "demo", rules=rules)
    async with production.running():
        await production.play(1)
        await trio.sleep(400)
        assert production.obs.shown == ["Game"]
        await production.end()
        await trio.sleep(59)
        assert production.obs.program == "Game"
        await trio.sleep(2)
        assert production.obs.program == "Break"
        await trio.sleep(1000)
        assert production.obs.shown == ["Game", "Break", "Result"]


@pytest.mark.parametrize(
    ("password", "problem"),
    [("wrong", "the password is wrong"), (None, "OBS asks for a password: set obs.password_file")],
)
async def test_password_can_be_corrected_in_its_file(password: str | None, problem: str, clock: MockClock) -> None:
    production = Production(password="right")
    production.password = password
    async with production.running() as control:
        await trio.sleep(60)
        assert control.not_ready() == [f"OBS: {problem}"]
        await production.play(1)
        production.password = "right"
        await trio.sleep(60)
        assert control.not_ready() == []
        assert production.obs.shown == ["Game"]


async def test_kicked_client_stays_away_until_a_reload(clock: MockClock) -> None:
    production = Production()
    async with production.running() as control:
        await trio.sleep(5)
        production.obs.kick(4011)
        await trio.sleep(3600)
        assert production.obs.connections == 1
        assert "reload the configuration" in control.not_ready()[0]
        control.resume()
        await trio.sleep(5)
        assert production.obs.connections == 2
        assert control.is_connected


async def test_scene_that_does_not_exist_is_reported_until_it_does(clock: MockClock) -> None:
    production = Production()
    production.obs.scenes.remove("Game")
    async with production.running() as control:
        await production.play(1)
        await trio.sleep(20)
        assert control.not_ready() == ["OBS: scene 'Game': No source was found by the name of `Game`. (600)"]
        assert production.obs.texts["Players"] == "Ann vs Bob", "the rest of the rule is carried out"
        production.obs.scenes.append("Game")
        production.obs.emit("SceneListChanged", scenes=[])
        await trio.sleep(1)
        assert control.not_ready() == []
        assert production.obs.shown == ["Game"]
        assert production.outcomes["failed"] == 1


async def test_requests_are_retried_while_obs_is_not_ready(clock: MockClock) -> None:
    production = Production()
    production.obs.not_ready = True
    async with production.running() as control:
        await trio.sleep(10)
        assert "not ready" in control.not_ready()[0]
        production.obs.not_ready = False
        await trio.sleep(10)
        production.obs.not_ready = True
        await production.play(1)
        await production.conversion(99, kill=True)
        await trio.sleep(2)
        assert production.obs.shown == []
        production.obs.not_ready = False
        await trio.sleep(2)
        assert production.obs.shown == ["Game"]
        assert production.obs.saved_replays == 1
        assert control.not_ready() == []
        assert production.outcomes["failed"] == 0


async def test_disabled_replay_buffer(clock: MockClock) -> None:
    production = Production()
    production.obs.replay_buffer_runs = False
    async with production.running() as control:
        await production.play(1)
        await production.conversion(99, kill=True)
        assert control.not_ready() == ["OBS: replay buffer: Output is not running. (501)"]
        production.obs.replay_buffer_runs = True
        production.obs.emit("ReplayBufferStateChanged", outputActive=True, outputState="OBS_WEBSOCKET_OUTPUT_STARTED")
        await trio.sleep(1)
        assert control.not_ready() == []


async def test_unreadable_state_is_ignored(clock: MockClock) -> None:
    production = Production()
    production.kept = {"desk": 7}
    async with production.running():
        await production.play(1)
        assert production.obs.shown == ["Game"]


async def test_state_of_removed_rules_is_forgotten(clock: MockClock) -> None:
    production = Production()
    async with production.running():
        production.obs.kill()
        await production.play(1)
    production.rules = [Rule(on="game_end", station="main", actions=Actions(scene="Break"))]
    production.restart_stations()
    await production.play(1)
    async with production.running():
        await trio.sleep(5)
        assert production.obs.texts == {"Players": "", "Score": ""}


async def test_texts_follow_the_set(clock: MockClock) -> None:
    production = Production()
    async with production.running():
        await production.play(1)
        production.show_set("main", (1, 0))
        await trio.sleep(1)
        assert production.obs.texts["Score"] == "1 – 0"
    production.restart_stations()
    await production.play(1, score=(1, 0))
    async with production.running():
        production.show_set("main", (0, 1))
        await trio.sleep(1)
        assert production.obs.texts["Score"] == "0 – 1", "also after a restart"


async def test_text_of_an_event_stays_when_the_set_changes(clock: MockClock) -> None:
    said = Rule(
        on="event", station="main", event="conversion_ended", actions=Actions(text={"Score": "{damage} %"})
    )  # fmt: skip
    production = Production(rules=[*RULES, said])
    async with production.running():
        await production.play(1)
        await production.conversion(42, kill=False)
        production.show_set("main", (1, 0))
        await trio.sleep(1)
        assert production.obs.texts["Score"] == "42 %"


async def test_paused_station_is_not_idle(clock: MockClock) -> None:
    rules = [*RULES, Rule(on="station_idle", station="main", after_seconds=60, actions=Actions(scene="Result"))]
    production = Production(rules=rules)
    async with production.running():
        await production.play(1)
        channel = production.fakes["main"].channel
        channel.publish_state({"state": "stalled", "reason": "paused"})
        await trio.sleep(59)
        assert production.obs.shown == ["Game"]
        channel.publish_state({"state": "idle", "reason": "paused for long"})
        await trio.sleep(100)
        assert production.obs.shown == ["Game", "Result"]
        channel.publish_state({"state": "playing", "reason": "game in progress"})
        await trio.sleep(5)
        assert production.obs.shown == ["Game", "Result", "Game"], "the game goes on"
        await production.end()
        assert production.obs.shown[3:] == ["Break"]


async def test_extended_set_ends_twice(clock: MockClock) -> None:
    production = Production()
    async with production.running():
        for number in (1, 2):
            await production.play(number)
            await production.end()
        production.show_set("main", (2, 0), over=True)
        await trio.sleep(5)
        production.show_set("main", (2, 0))  # best of five
        await production.play(3, score=(2, 0))
        await production.end()
        production.show_set("main", (3, 0), over=True)
        await trio.sleep(5)
    assert production.obs.shown[3:] == ["Break", "Result", "Game", "Break", "Result"]


async def test_clock_set_back_does_not_extend_the_delay_of_a_scene() -> None:
    now = 10_000.0
    desk = Desk(respect_seconds=30, clock=lambda: now, on_problem=lambda *_: None, on_outcome=lambda _: None)
    answers = [
        Answer("", "GetVersion", 100, "", {"availableRequests": []}),
        Answer("", "GetSceneList", 100, "", {"currentProgramSceneName": "Break"}),
    ]
    assert desk.connected(answers) is None
    desk.happened(ObsEvent("CurrentProgramSceneChanged", {"sceneName": "Interview"}))
    now -= 3600
    desk.wish(WishKey("scene"), "Game")
    assert desk.due() == []
    now += 31
    assert [request.value for request in desk.due()] == ["Game"]


async def test_situations_of_the_current_game(clock: MockClock) -> None:
    rules = [
        Rule(on="situation", station="main", situation="kill", actions=Actions(save_replay=True)),
        Rule(on="situation", station="*", actions=Actions(scene="Game")),
    ]
    production = Production("main", "side", rules=rules)
    async with production.running() as control:
        await production.play(1)
        game = production.fakes["main"].channel.current
        assert game is not None
        for station, game_id, name in (
            ("main", "another game", "kill"),
            ("side", game.game_id, "kill"),
            ("unknown", game.game_id, "kill"),
        ):
            control.situation_found(station, game_id, name)
            await trio.sleep(1)
        assert (production.obs.saved_replays, production.obs.shown) == (0, [])
        control.situation_found("main", game.game_id, "combo")
        await trio.sleep(1)
        assert (production.obs.saved_replays, production.obs.shown) == (0, ["Game"])
        control.situation_found("main", game.game_id, "kill")
        await trio.sleep(1)
        assert production.obs.saved_replays == 1
