"""`slpstream odds`: the odds of a game, and the figures of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report, report_error
from slpstream.cli.replay_files import (
    FoundReplay,
    ReplayFile,
    at_hand,
    fail_without_replays,
    find_files,
    has_archives,
)
from slpstream.cli.replay_work import examined_files
from slpstream.model.errors import FormatError, SourceError
from slpstream.system.member_paths import path_text
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.odds.log_odds import LogOdds
    from slpstream.parts.odds.model import OddsModel
    from slpstream.parts.odds.played_games import PlayedGame
    from slpstream.parts.odds.scoring import Score

_MIN_GAMES = 10
_SHOW = "show"


class _OddsCommands(click.Group):
    """The group of commands. Any other word is a replay to show."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, which is `show` by default."""
        return super().resolve_command(ctx, args if args[0] in self.commands else [_SHOW, *args])


@click.command(
    cls=_OddsCommands,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    subcommand_metavar="REPLAY | score TABLE | fit DIR...",
)
def command() -> None:
    """Show how likely each player was to win a game, score the model, or fit another one.

    `slpstream odds REPLAY` shows the odds of a game of two players whenever a stock was lost, and its turning points.
    `slpstream odds score TABLE` judges a model by games of known result, and `slpstream odds fit DIR` fits one to the
    replays of a folder. Each of them has its own --help.
    """


_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_model_option = click.option(
    "--model",
    "model_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of a model.  [default: the one in the package]",
)


def _set_score(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    won, _, lost = value.partition("-")
    if not (won.isdecimal() and lost.isdecimal() and won.isascii() and lost.isascii()):
        raise click.BadParameter("expected two numbers, such as 1-0")
    return int(won[:3]), int(lost[:3])


@click.command(_SHOW)
@click.argument("replay", type=click.Path(path_type=Path))
@click.option("--seconds", is_flag=True, help="Show a line for each second, too.")
@click.option(
    "--score", "set_score", callback=_set_score, metavar="W-L", help="Score of the set before: show its odds."
)
@click.option(
    "--best-of", type=click.IntRange(1, 99), default=3, show_default=True, help="For --score: games of the set."
)
@_model_option
@_json_option
def show(
    replay: Path,
    seconds: bool,
    set_score: tuple[int, int] | None,
    best_of: int,
    model_file: Path | None,
    as_json: bool,
) -> None:
    """Show how likely each player was to win a game, whenever a stock was lost, and the turning points."""
    from slpstream.api import messages, open_replay
    from slpstream.parts.odds.log_odds import TOPICS, LogOdds

    if set_score is not None and max(set_score) > best_of // 2:
        raise click.BadParameter(f"the set is over at that score: best of {best_of}", param_hint="--score")
    odds = LogOdds(_model(model_file))
    try:
        opened = open_replay(replay)
        for message in messages(replay, frames="finalized", topics=TOPICS):
            odds.take(message)
        if odds.without_odds or not odds.points:
            fail(f"{path_text(replay)}: no odds: {odds.without_odds or 'it ends too early'}", EXIT_NO)
        lines = [_json(opened.game_id, odds)] if as_json else _shown(opened, odds, seconds, set_score, best_of)
    except (FormatError, SourceError) as error:
        sys.exit(report_error(replay, error))
    for line in lines:
        print(line)


def _json(game_id: str, odds: LogOdds) -> str:
    import msgspec

    found = {
        "gameId": game_id,
        "players": odds.players,
        "points": [
            {"frame": point.frame, "odds": point.odds, "stocks": [point.state.stocks, point.state.opponent_stocks]}
            for point in odds.points
        ],
        "turningPoints": odds.turning_points(),
    }
    return msgspec.json.encode(found).decode()


def _shown(replay: Any, odds: LogOdds, seconds: bool, set_score: tuple[int, int] | None, best_of: int) -> Iterator[str]:
    from slpstream.cli.game_text import player_text, summary_of
    from slpstream.formats.slippi.game_time import timer_start_at_end
    from slpstream.parts.odds.game_odds import FRAMES_PER_SECOND
    from slpstream.parts.odds.model import win_set

    end = replay.game_end
    starts_at = timer_start_at_end(end.last_frame, end.duration_seconds)
    players = {player.index: player for player in summary_of(replay.format, replay.settings, None).players}
    names = {index: printable(player_text(players[index], won=False)) for index in odds.players}
    first, second = odds.players

    def time(frame: int) -> str:
        minutes, second = divmod(max(0, frame - starts_at) // FRAMES_PER_SECOND, 60)
        return f"{minutes}:{second:02}"

    yield f"{names[first]} against {names[second]}"
    yield f"{'time':>6}  stocks  {'percent':>10}  odds of P{first + 1}{'' if set_score is None else '  of the set'}"
    last = len(odds.points) - 1
    for number, point in enumerate(odds.points):
        whole = seconds and point.frame % FRAMES_PER_SECOND == 0
        if not (point.lost_by or whole or number in (0, last)):
            continue
        state = point.state
        percents = f"{state.percent:.0f} - {state.opponent_percent:.0f}"
        line = (
            f"{time(point.frame):>6}  {state.stocks} - {state.opponent_stocks:<2}  {percents:>10}  {point.odds:>10.0%}"
        )
        if set_score is not None:
            line += f"  {_percent(win_set(point.odds, *set_score, best_of)):>10}"
        yield line
    turns = odds.turning_points()
    if turns:
        yield "Turning points:"
    for turn in turns:
        what = "a lost stock" if turn.of == "stock" else f"{turn.moves} hits, {turn.damage:.0f} %"
        what += " and the stock" if turn.did_kill and turn.of == "conversion" else ""
        gained = f"{_percent(turn.before)} to {_percent(turn.after)}"
        yield f"{time(turn.start_frame):>6}  P{turn.player_index + 1} from {gained} by {what}"


def _percent(chance: float) -> str:
    """Return a chance in percent. It is 0 or 100 % only if the game is decided."""
    return f"{chance:.0%}" if chance in (0, 1) else f"{min(max(chance, 0.01), 0.99):.0%}"


@click.command("score")
@click.argument("table", type=click.Path(path_type=Path, dir_okay=False))
@_model_option
@click.option("--fit", "fitted", is_flag=True, help="Fit models to the table, and print their cross-validated figures.")
@_json_option
def score_table(table: Path, model_file: Path | None, fitted: bool, as_json: bool) -> None:
    """Judge a model by the games of TABLE: log loss, its interval, and calibration. Each game has the same weight.

    TABLE is a CSV file with a row for each second of each game, and the columns game, frame, stocks_0, percent_0,
    stocks_1, percent_1 and winner (0 or 1).
    """
    from slpstream.parts.odds.played_games import TableError, read_table
    from slpstream.parts.odds.scoring import odds_of, score

    if fitted and model_file is not None:
        raise click.UsageError("--fit makes its own models, without --model")
    model = _model(model_file)
    try:
        games = read_table(table)
    except TableError as error:
        fail(f"{path_text(table)}: {error}", EXIT_NO)
    except OSError as error:
        fail(f"{path_text(table)}: {error.strerror or error}", EXIT_INPUT_OUTPUT)
    if fitted:
        _check_fit(len(games))
        from slpstream.parts.odds.fitting import cross_validated

        _print_score("fitted, cross-validated", score(games, cross_validated(games)), as_json)
    else:
        name = "packaged model" if model_file is None else path_text(model_file)
        _print_score(name, score(games, odds_of(model, games)), as_json)


@click.command("fit")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the fitted model to this file.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per core if there are enough files]"
)
@_json_option
def fit_replays(paths: tuple[Path, ...], out: Path | None, jobs: int | None, as_json: bool) -> None:
    """Fit a model to the decided games of two people in replays, also in archives, and print its figures.

    They are cross-validated: each game is judged by a model that has not seen it. Copies of a game count once.
    """
    _check_numpy()
    files = list(find_files(paths, _endings()))
    if not files:
        fail_without_replays(paths)
    games, skipped, code = _games(files, jobs)
    _check_fit(len(games))
    from slpstream.parts.odds.fitting import cross_validated, fit
    from slpstream.parts.odds.model import packaged_model
    from slpstream.parts.odds.scoring import odds_of, score

    fitted = fit(games)
    _print_score("fitted, cross-validated", score(games, cross_validated(games)), as_json)
    if not as_json:
        print()
        _print_score("packaged model", score(games, odds_of(packaged_model(), games)), as_json)
        print(f"\n{skipped} other replays")
    if out is not None:
        import msgspec

        from slpstream.cli.atomic_file import write_atomically

        write_atomically(out, [msgspec.json.format(msgspec.json.encode(fitted)), b"\n"], overwrite=True)
    sys.exit(code)


class _Read(NamedTuple):
    """The result for a replay."""

    game_id: str = ""
    game: PlayedGame | None = None
    """`None` if models aren't judged by it."""
    error: str | None = None
    code: int = 0


def _games(files: list[ReplayFile], jobs: int | None) -> tuple[list[PlayedGame], int, int]:
    """Return the games in some files, the number of other replays, and the exit code.

    If there are very many games, fewer seconds of each are kept.
    """
    from slpstream.cli.progress import progress_bar
    from slpstream.parts.odds.fitting import MAX_ROWS
    from slpstream.parts.odds.played_games import WIDTH

    games: list[PlayedGame] = []
    seen: set[str] = set()
    skipped = code = rows = halvings = 0
    total = None if has_archives(files) else len(files)
    with progress_bar("odds", total, shown=total != 1, transient=True) as update:
        for done, read in enumerate(examined_files(examine, files, _endings(), jobs), 1):
            update(done)
            if read.error is not None:
                report(read.error)
                code = max(code, read.code)
            elif read.game is None or read.game_id in seen:
                skipped += 1
            else:
                seen.add(read.game_id)
                game = read.game
                for _ in range(halvings):
                    game = game.thinned()
                games.append(game)
                rows += len(game.values) // WIDTH
                if rows > MAX_ROWS:
                    games = [each.thinned() for each in games]
                    halvings += 1
                    rows = sum(len(each.values) for each in games) // WIDTH
    return games, skipped, code


def examine(found: FoundReplay) -> _Read:
    """Read the game of one replay."""
    from slpstream.api import open_replay
    from slpstream.parts.odds.played_games import NotCounted, game_of

    try:
        replay = open_replay(at_hand(found))
        return _Read(replay.game_id, game_of(replay))
    except NotCounted:
        return _Read()
    except (FormatError, SourceError) as error:
        message, code = describe_error(found.path, error)
        return _Read(error=message, code=code)


def _endings() -> tuple[str, ...]:
    from slpstream.formats.slplog.container import SUFFIX

    return (".slp", SUFFIX)


def _model(path: Path | None) -> OddsModel:
    """Read a model, or return the one in the package. If the file is damaged, this exits with an error message."""
    from slpstream.parts.odds.model import ModelError, packaged_model, read_model

    if path is None:
        return packaged_model()
    try:
        return read_model(path)
    except ModelError as error:
        fail(f"{path_text(path)}: not a model of odds: {error}", EXIT_NO)
    except OSError as error:
        fail(f"{path_text(path)}: {error.strerror or error}", EXIT_INPUT_OUTPUT)


def _check_fit(games: int) -> None:
    _check_numpy()
    if games < _MIN_GAMES:
        fail(f"too few decided games between two people: {games}, and {_MIN_GAMES} are needed", EXIT_NO)


def _check_numpy() -> None:
    if find_spec("numpy") is None:
        fail("fitting needs numpy: pip install 'slpstream[analysis]'", 2)


def _print_score(name: str, found: Score, as_json: bool) -> None:
    if as_json:
        import msgspec

        print(
            msgspec.json.encode(
                {
                    "model": name,
                    "games": found.games,
                    "logLoss": round(found.log_loss, 4),
                    "interval": [round(found.low, 4), round(found.high, 4)],
                    "calibrationError": round(found.calibration_error, 4),
                    "bins": [None if part is None else [round(value, 4) for value in part] for part in found.bins],
                }
            ).decode()
        )
        return
    print(f"{printable(name)}: {found.games} games")
    print(f"  log loss           {found.log_loss:.3f}, with 95 % from {found.low:.3f} to {found.high:.3f}")
    print(f"  calibration error  {100 * found.calibration_error:.1f} points")
    print("  odds          of the time  mean odds  won")
    for number, part in enumerate(found.bins):
        if part is not None:
            odds = f"{10 * number} to {10 * number + 10} %"
            print(f"  {odds:<12}  {part.share:>11.0%}  {part.expected:>9.1%}  {part.won:.1%}")


for _each in (show, score_table, fit_replays):
    command.add_command(_each)
