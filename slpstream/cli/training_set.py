"""`slpstream export --to training`: replays as rows for training, in shards.

The replays, in the order of their paths, are divided into parts by their sizes alone. First the head of each replay is
read, so that a game that is there twice is written once; then one process writes the shards of a part. The plan, and
the games of each part that is complete, are files in the folder: a run that was killed goes on where it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from slpstream.api import Replay, open_replay
from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report
from slpstream.cli.process_pool import interrupts_blocked, process_pool
from slpstream.cli.progress import progress_bar
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.version import __version__
from slpstream.system.text import printable
from slpstream.training import slippi_ai
from slpstream.training.rows import NotForTraining, Rows, Sending, game_rows, players_of
from slpstream.training.shards import PARTS, PartWriter, finish_set, list_of, split_of, write_whole
from slpstream.training.windows import INDEX

Layout = Literal["training", "slippi-ai"]
Result = TypeVar("Result")

_PLAN = "plan.json"
_FORM = 1
"""Form of the shards and of the index. It changes whenever the same replays would give other files."""
_BYTES_PER_REPLAY_BYTE = 2
"""About how much larger the rows of a game are than its replay."""
_PART_FILES = 1024
_UNFINISHED = (".*.tmp", f"{PARTS}/.*.tmp", f"{slippi_ai.GAMES}/.*.tmp")
"""What a killed process leaves."""
_POLL_SECONDS = 0.1


class Options(NamedTuple):
    """The options of a training set. The same options and replays give the same files."""

    layout: Layout
    sending: Sending
    shard_bytes: int
    seed: int
    validation: float


class Part(NamedTuple):
    """Replays that one process reads."""

    number: int
    files: tuple[str, ...]


class Head(NamedTuple):
    """What the head of a replay says: its game, or why it is left out."""

    game_id: str
    code: int = 0
    problem: str = ""


def export(files: Sequence[Path], out: Path, options: Options, *, jobs: int, overwrite: bool) -> None:
    """Write a training set, or what is missing of it. Exits with the code of the worst problem."""
    named = [str(file) for file in files]
    wanted = {"form": _FORM, **options._asdict(), "files": [[name, _size_bytes(Path(name))] for name in named]}
    _prepare(out, wanted, overwrite=overwrite)
    if (out / INDEX).exists():  # a run was killed when all was done but the tidying
        index = json.loads((out / INDEX).read_text(encoding="utf-8"))
    else:
        parts = _parts(wanted["files"], options)
        _write_parts(parts, out, options, min(jobs, len(parts)))
        description = {"slpstream": __version__, **{name: wanted[name] for name in ("form", *Options._fields)}}
        if options.layout == "slippi-ai":
            slippi_ai.write_meta(out, len(parts))
        index = finish_set(out, len(parts), description)
    _remove(out, f"{PARTS}/part-*.json")
    (out / PARTS).rmdir()
    (out / _PLAN).unlink()
    code = 0
    for problem in index["problems"]:
        report(problem["message"])
        code = max(code, problem["code"])
    print(printable(f"{out}: {index['frames']:,} frames of {len(index['games'])} games, from {len(named)} replays"))
    sys.exit(code if index["games"] else max(code, EXIT_NO))


def _write_parts(parts: Sequence[Part], out: Path, options: Options, jobs: int) -> None:
    """Write the parts that are missing."""
    with _Work(jobs) as work:
        kept = _plan(work, parts)
        missing = [part for part in parts if not list_of(out, part.number).exists()]
        count = sum(len(part.files) for part in parts)
        done = count - sum(len(part.files) for part in missing)
        with progress_bar("exporting", count, shown=True) as update:
            tasks = [(part, kept[part.number], out, options) for part in missing]
            for part, _ in zip(missing, work.run(_write_part, tasks), strict=True):
                done += len(part.files)
                update(done)


def _prepare(out: Path, wanted: dict[str, Any], *, overwrite: bool) -> None:
    """Create the folder, or accept one that an unfinished export with the same options and replays has left."""
    if overwrite:
        _remove(out, INDEX, _PLAN, slippi_ai.META, "shard-*.arrow", f"{slippi_ai.GAMES}/*", f"{PARTS}/part-*.json")
        _remove(out, *_UNFINISHED)
    plan = out / _PLAN
    if plan.exists():
        begun = json.loads(plan.read_text(encoding="utf-8"))
        if begun != json.loads(json.dumps(wanted)):
            fail(f"{out}: holds part of another export, of other replays or options; use --overwrite to remove it", 2)
        _remove(out, *_UNFINISHED)
        (out / PARTS).mkdir(exist_ok=True)
        return
    if (out / INDEX).exists() or any(out.glob("shard-*.arrow")):
        fail(f"{out}: holds an earlier export; use --overwrite to remove it", 2)
    (out / PARTS).mkdir(parents=True, exist_ok=True)
    if wanted["layout"] == "slippi-ai":
        (out / slippi_ai.GAMES).mkdir(exist_ok=True)
    write_whole(plan, json.dumps(wanted))


def _remove(out: Path, *patterns: str) -> None:
    """Remove files of an export, and nothing else."""
    for pattern in patterns:
        for file in out.glob(pattern):
            file.unlink()


def _parts(files: Sequence[Sequence[Any]], options: Options) -> list[Part]:
    """Divide the replays into parts, in their order and by their sizes alone."""
    limit = options.shard_bytes // _BYTES_PER_REPLAY_BYTE
    batches: list[list[str]] = []
    free_bytes = 0
    for name, size in files:
        if not batches or size > free_bytes or len(batches[-1]) == _PART_FILES:
            batches.append([])
            free_bytes = limit
        batches[-1].append(name)
        free_bytes -= size
    return [Part(number, tuple(batch)) for number, batch in enumerate(batches)]


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # the error is reported when the file is read


def _plan(work: _Work, parts: Sequence[Part]) -> list[list[Head]]:
    """The head of each replay, by part. A game that came before is marked as such."""
    seen: dict[str, str] = {}
    kept = []
    with progress_bar("looking for games", sum(len(part.files) for part in parts), shown=True) as update:
        done = 0
        for part, heads in zip(parts, work.run(_read_heads, [(part,) for part in parts]), strict=True):
            marked = []
            for file, head in zip(part.files, heads, strict=True):
                first = seen.setdefault(head.game_id, file) if not head.problem else file
                same = Head(head.game_id, 0, f"{file}: left out, because it has the same game as {first}")
                marked.append(head if first == file else same)
            kept.append(marked)
            done += len(part.files)
            update(done)
    return kept


def _read_heads(part: Part) -> list[Head]:
    return [_read_head(file) for file in part.files]


def _read_head(file: str) -> Head:
    try:
        replay = _open(file)
        players_of(replay.settings)
    except (FormatError, SourceError) as error:
        message, code = describe_error(Path(file), error)
        return Head("", code, message)
    except NotForTraining as reason:
        return Head("", 0, f"{file}: left out, because it has {reason}")
    return Head(replay.game_id)


def _open(file: str) -> Replay:
    replay = open_replay(file)
    if not replay.has_columns:
        raise FormatError(f"{replay.format} replays have no columns and cannot be exported", offset=0)
    return replay


def _write_part(part: Part, heads: Sequence[Head], out: Path, options: Options) -> None:
    """Write the games of a part and the list of them. Raises `OSError`."""
    problems: list[tuple[int, str]] = []
    games = _games(part, heads, options, problems)
    if options.layout == "slippi-ai":
        files = slippi_ai.GameFiles(out, part.number)
        for file, replay, rows in games:
            end = replay.game_end
            winners = [winner.player_index for winner in end.winners]
            about = slippi_ai.meta(replay.settings, rows, last_frame=int(rows["frame"][-1]), winners=winners)
            files.add(rows, replay.frames.data, file, {"gameId": replay.game_id, "frames": len(rows["frame"]), **about})
        files.finish(problems)
        return
    with PartWriter(out, part.number, max_bytes=options.shard_bytes) as writer:
        for file, replay, rows in games:
            split = split_of(replay.game_id, seed=options.seed, validation=options.validation)
            writer.add(rows, {"gameId": replay.game_id, "split": split, **_facts(replay, file)})
        writer.finish(problems)


def _games(
    part: Part, heads: Sequence[Head], options: Options, problems: list[tuple[int, str]]
) -> Iterator[tuple[str, Replay, Rows]]:
    """The games of a part with their rows. What is wrong with others, and what they lack, goes to `problems`."""
    for file, head in zip(part.files, heads, strict=True):
        if head.problem:
            problems.append((head.code, head.problem))
            continue
        try:
            replay = _open(file)
            rows = game_rows(replay.frames, replay.settings, sending=options.sending)
            replay.game_end  # noqa: B018 -- raises what is wrong with it
        except (FormatError, SourceError) as error:
            message, code = describe_error(Path(file), error)
            problems.append((code, message))
            continue
        if not len(rows["frame"]):
            problems.append((0, f"{file}: left out, because it has no frames"))
            continue
        yield file, replay, rows


def _facts(replay: Replay, file: str) -> dict[str, Any]:
    """What the index says about a game."""
    settings, end = replay.settings, replay.game_end
    return {
        "file": file,
        "version": settings.slp_version,
        "stageId": settings.stage_id,
        "lastFrame": end.last_frame,
        "reason": end.reason,
        "winners": [winner.player_index for winner in end.winners],
        "players": [
            {
                "playerIndex": player.player_index,
                "port": player.port,
                "characterId": player.character_id,
                "human": player.type == 0,
                "displayName": player.display_name or "",
                "connectCode": player.connect_code or "",
            }
            for player in sorted(settings.players, key=lambda player: player.player_index)
        ],
    }


class _Work:
    """Runs tasks one after another, or in several processes, and gives their results in order."""

    def __init__(self, jobs: int) -> None:
        self._context = process_pool(jobs) if jobs > 1 else None
        self._pool: Any = None

    def __enter__(self) -> _Work:
        if self._context is not None:
            self._pool = self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._context is not None:
            self._context.__exit__(*error)

    def run(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
        """The results of a task for each of these arguments, in their order."""
        if self._pool is None:
            yield from (task(*each) for each in arguments)
            return
        try:
            with interrupts_blocked():
                futures: list[Future[Result]] = [self._pool.submit(task, *each) for each in arguments]
            for future in futures:
                while not wait([future], timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED).done:
                    pass
                yield future.result()
        except BrokenProcessPool:
            fail("a worker process was killed, perhaps for lack of memory", EXIT_INPUT_OUTPUT)
