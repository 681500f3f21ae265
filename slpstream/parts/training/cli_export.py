"""`slpstream export --to training` turns replays into rows for training, in shards.

The replays are divided into parts, in the order of their paths and only by their sizes. We first read the head of each
replay. If a game is there more than once, this allows us to write it only once, from its first complete copy. After
that, a single process writes the shards of each part. The plan is a file in the folder, and for each part that is
complete, there is a file with its games. So if a run was killed, the next one continues from there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from slpstream.api import Replay, Sending, read_game
from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report
from slpstream.cli.game_query import GameQuery, is_match
from slpstream.cli.process_pool import map_in_order, process_pool, result_of
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import (
    MAX_HELD_BYTES,
    FoundReplay,
    ReplayFile,
    at_hand,
    bytes_sent,
    each_replay,
    in_parts,
    open_exportable,
    size_bytes_of,
)
from slpstream.formats.interface import SNIFFED_BYTES
from slpstream.formats.registry import of_name
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.events import GameStart, first_of
from slpstream.model.version import __version__
from slpstream.parts.training.cli_folder import prepare, tidy
from slpstream.parts.training.names import INDEX
from slpstream.parts.training.parts import WrittenPart, complete_part, finish_set, game_name, list_of, split_of
from slpstream.sources.packed import head_of_member
from slpstream.sources.packed import replay_name as packed_name
from slpstream.sources.packed_names import is_archive
from slpstream.system.member_paths import path_text
from slpstream.system.text import printable

if TYPE_CHECKING:  # needs numpy and pyarrow, which only the workers load
    from slpstream.parts.training.rows import Rows

Layout = Literal["training", "slippi-ai"]
Result = TypeVar("Result")

_FORM = 7
"""Form of the shards and of the index. It changes whenever the same replays would give other files."""
_BYTES_PER_REPLAY_BYTE = 2
"""About how much larger the rows of a game are than its replay."""
_PART_FILES = 1024
_PACKED_TIMES = 5
"""About how much larger than their archive replays are."""
_LEAST_PARTS = 32
"""So that all processes have work until the end; but a part has at least this many bytes, if shards may be so large."""
_LEAST_PART_BYTES = 8 << 20
_EXTENTS_AT_ONCE = 64
_PARTS_AHEAD = 2
"""Parts for each process that wait for it."""


class Options(NamedTuple):
    """The options for a training set. If you use the same options and replays, you always get the same files."""

    layout: Layout
    sending: Sending
    shard_bytes: int
    seed: int
    validation: float
    query: str
    """Only games that match it; empty for all."""
    me: tuple[str, ...]
    """The connect codes that `@me` means in it."""


class Part(NamedTuple):
    """Some replays that are read by one process."""

    number: int
    files: tuple[FoundReplay, ...]


class Extent(NamedTuple):
    """How much of its game a replay has.

    If there are several copies of a game, we use the first one with the greatest extent.
    """

    ended: bool = False
    frames: int = 0
    code: int = 0
    problem: str = ""
    """Why it cannot be read, and the exit code for it."""


_NOTHING = Extent()


class Head(NamedTuple):
    """The game in a replay according to its head, or the reason why it is left out."""

    file: str
    game: str
    """The name that all copies of the game have in common."""
    code: int = 0
    problem: str = ""
    wanted: bool = True
    """Whether it matches the query; the others are only counted."""
    extent: Extent | None = None
    """Known only of a replay that was unpacked with its archive; the others are read for it if there are copies."""

    @property
    def counts(self) -> bool:
        """Whether its game should be written, unless we write another copy of it."""
        return self.wanted and not self.problem


def export(files: Sequence[ReplayFile], out: Path, *, jobs: int, overwrite: bool, **given: Any) -> None:
    """Write a training set, or those parts of it that are missing. `given` are the `Options`.

    If there are problems, this exits with the code of the worst one.
    """
    options = Options(**given)
    named = [[str(file.path), size_bytes_of(file.path)] for file in files]
    wanted = {"form": _FORM, **options._asdict(), "files": named}
    prepare(out, wanted, [file.path for file in files], overwrite=overwrite)
    if (out / INDEX).exists():  # a run was killed when all was done but the tidying
        index = json.loads((out / INDEX).read_text(encoding="utf-8"))
    else:
        heads = _write_parts(files, out, options, jobs)
        parts = len(heads)
        others = sum(not head.wanted for part in heads for head in part)
        described = {name: wanted[name] for name in ("form", *Options._fields)}
        description = {"slpstream": __version__, **described, "left_out_by_query": others}
        if options.layout == "slippi-ai":
            from slpstream.parts.training import slippi_ai

            slippi_ai.write_meta(out, parts)
        index = finish_set(out, parts, description)
    tidy(out)
    code = 0
    for problem in index["problems"]:
        report(problem["message"])
        code = max(code, problem["code"])
    if options.query:
        report(f"games that do not match the query, left out: {index['left_out_by_query']:,}")
    print(printable(f"{out}: {index['frames']:,} frames of {len(index['games'])} games"))
    sys.exit(code if index["games"] else max(code, EXIT_NO))


def _write_parts(files: Sequence[ReplayFile], out: Path, options: Options, jobs: int) -> list[list[Head]]:
    """Write those parts that are missing. Returns the heads of all parts."""
    with _Work(jobs) as work:
        heads = _marked_heads(work, files, options)
        done = 0
        with progress_bar("exporting", sum(map(len, heads)), shown=True) as update:
            tasks = (
                (part, heads[part.number], out, options)
                for part in _parts(files, options)
                if not list_of(out, part.number).exists()
            )
            for written in work.run(_write_part, tasks):
                complete_part(out, written)  # here, so that workers do not wait for the disk
                done += len(heads[written.number])
                update(done)
    return heads


def _parts(files: Sequence[ReplayFile], options: Options) -> Iterator[Part]:
    """Divide the replays into parts. This keeps their order and only looks at their sizes.

    If an archive is a zip, its members are read when someone works on the part. For all other archives, we unpack the
    members here.
    """
    about = sum(size_bytes_of(file.path) * (_PACKED_TIMES if is_archive(file.path.name) else 1) for file in files)
    limit = min(options.shard_bytes // _BYTES_PER_REPLAY_BYTE, max(about // _LEAST_PARTS, _LEAST_PART_BYTES))
    replays = each_replay(files, by_name=True)
    parts = in_parts(replays, max_files=_PART_FILES, max_bytes=limit, max_held_bytes=MAX_HELD_BYTES)
    for number, part in enumerate(parts):
        yield Part(number, part)


def _marked_heads(work: _Work, files: Sequence[ReplayFile], options: Options) -> list[list[Head]]:
    """Return the head of each replay, by part.

    If a replay is a copy of a game that is written from another file, it is marked.
    """
    query = GameQuery.of(options.query, options.me) if options.query else None
    marked: list[list[Head]] = []
    done = 0
    with progress_bar("looking for games", None, shown=True) as update:
        for heads in work.run(_read_heads, ((part, query) for part in _parts(files, options))):
            marked.append(heads)
            done += len(heads)
            update(done)
    counting = [head for heads in marked for head in heads if head.counts]
    extents = _extents_of_copies(work, counting)
    written = _written_copies(counting, extents)
    return [[_marked(head, extents, written) for head in heads] for heads in marked]


def _extents_of_copies(work: _Work, heads: Iterable[Head]) -> dict[str, Extent]:
    """If there are several copies of a game, find out their extents.

    For each game, we only look at them up to the first complete copy.
    """
    copies: dict[str, list[Head]] = {}
    for head in heads:
        copies.setdefault(head.game, []).append(head)
    extents: dict[str, Extent] = {}
    undecided = [game for game in copies.values() if len(game) > 1]
    place = 0
    while undecided:
        looked_at = [game[place] for game in undecided]
        extents |= {head.file: head.extent for head in looked_at if head.extent is not None}
        files = (FoundReplay(Path(head.file), in_folder=True) for head in looked_at if head.extent is None)
        parts = enumerate(in_parts(files, max_files=_EXTENTS_AT_ONCE))
        for read in work.run(_read_extents, ((Part(number, part),) for number, part in parts)):
            extents |= read
        place += 1
        undecided = [game for game in undecided if place < len(game) and not extents[game[place - 1].file].ended]
    return extents


def _written_copies(heads: Iterable[Head], extents: Mapping[str, Extent]) -> dict[str, str]:
    """For each game, return the name of the file from which it is written.

    This is the first complete copy or, if there is none, the longest one.
    """
    written: dict[str, tuple[Extent, str]] = {}
    for head in heads:
        extent = extents.get(head.file, _NOTHING)
        if head.game not in written or extent[:2] > written[head.game][0][:2]:
            written[head.game] = extent, head.file
    return {game: file for game, (_, file) in written.items()}


def _marked(head: Head, extents: Mapping[str, Extent], written: Mapping[str, str]) -> Head:
    if not head.counts:
        return head
    extent = extents.get(head.file, _NOTHING)
    if extent.problem:
        return head._replace(code=extent.code, problem=extent.problem)
    if written[head.game] == head.file:
        return head
    return head._replace(problem=f"{head.file}: left out, because it has the same game as {written[head.game]}")


def _read_extents(part: Part) -> dict[str, Extent]:
    return {path_text(found.path): _extent_of(found.path) for found in part.files}


def _extent_of(file: Path) -> Extent:
    try:
        replay = open_exportable(file)
        frames = len(replay.frames)
        return Extent(replay.game_end.reason not in ("incomplete", "error") and frames > 0, frames)
    except (FormatError, SourceError) as error:
        message, code = describe_error(file, error)
        return Extent(code=code, problem=message)


def _read_heads(part: Part, query: GameQuery | None) -> list[Head]:
    return [_read_head(found, query) for found in part.files]


def _read_head(found: FoundReplay, query: GameQuery | None) -> Head:
    from slpstream.parts.training.rows import NotForTraining, players_of

    file = path_text(found.path)
    try:
        game_id, settings = _start_of(found)
        game = game_name(game_id, settings)
        if query is not None and not is_match(query, found.path, read_game(found.path).record()):
            return Head(file, game, wanted=False)
        players_of(settings)
    except NotForTraining as reason:
        return Head(file, "", 0, f"{file}: left out, because it has {reason}")
    except (FormatError, SourceError) as error:
        message, code = describe_error(found.path, error)
        return Head(file, "", code, message)
    return Head(file, game, extent=None if found.data is None else _extent_of(found.path))


def _start_of(found: FoundReplay) -> tuple[str, Any]:
    """Return the id and the settings of the game. If it is in a zip, and the beginning is enough, we only unpack this.

    Raises `FormatError` and `SourceError`.
    """
    file = at_hand(found)
    head = head_of_member(file, SNIFFED_BYTES) if found.data is None else None
    if head is not None:
        name = packed_name(file)
        format_ = of_name(name, *head)
        start = first_of(GameStart, format_.new_reader(name).feed(head[0])) if format_.whole is not None else None
        if start is not None:
            return start.game_id, start.settings
    replay = open_exportable(file)
    return replay.game_id, replay.settings


def _write_part(part: Part, heads: Sequence[Head], out: Path, options: Options) -> WrittenPart:
    """Write the games of a part. Raises `OSError` if that fails."""
    problems: list[tuple[int, str]] = []
    games = _games(part, heads, options, problems)
    if options.layout == "slippi-ai":
        from slpstream.parts.training import slippi_ai

        files = slippi_ai.GameFiles(out, part.number)
        for file, replay, rows in games:
            end = replay.game_end
            winners = [winner.player_index for winner in end.winners]
            about = slippi_ai.meta(replay.settings, rows, last_frame=int(rows["frame"][-1]), winners=winners)
            files.add(rows, replay.frames.data, file, {"gameId": replay.game_id, "frames": len(rows["frame"]), **about})
        return files.finish(problems)
    from slpstream.parts.training.shards import PartWriter

    with PartWriter(out, part.number, max_bytes=options.shard_bytes) as writer:
        for file, replay, rows in games:
            game = game_name(replay.game_id, replay.settings)
            split = split_of(game, seed=options.seed, validation=options.validation)
            writer.add(rows, {"gameId": replay.game_id, "split": split, **_facts(replay, file)})
        return writer.finish(problems)


def _games(
    part: Part, heads: Sequence[Head], options: Options, problems: list[tuple[int, str]]
) -> Iterator[tuple[str, Replay, Rows]]:
    """Yield the games of a part with their rows.

    If there's a problem with one of the other replays, it is added to `problems`.
    """
    from slpstream.parts.training.rows import game_rows

    for found, head in zip(part.files, heads, strict=True):
        file = head.file
        if not head.wanted:
            continue
        if head.problem:
            problems.append((head.code, head.problem))
            continue
        try:
            replay = open_exportable(at_hand(found))
            rows = game_rows(replay.frames, replay.settings, sending=options.sending)
            replay.game_end  # noqa: B018 -- raises what is wrong with it
        except (FormatError, SourceError) as error:
            message, code = describe_error(found.path, error)
            problems.append((code, message))
            continue
        if not len(rows["frame"]):
            problems.append((0, f"{file}: left out, because it has no frames"))
            continue
        yield file, replay, rows


def _facts(replay: Replay, file: str) -> dict[str, Any]:
    """Return the facts about a game that are written to the index."""
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
    """Runs tasks, either one after another or in several processes. You get the results in order."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._context = process_pool(jobs) if jobs > 1 else None
        self._pool: Any = None

    def __enter__(self) -> _Work:
        if self._context is not None:
            self._pool = self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._context is not None:
            self._context.__exit__(*error)

    def run(self, task: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """Yield the results of a task for each of these arguments, in the same order."""
        if self._pool is None:
            yield from (task(*each) for each in arguments)
            return
        try:
            ahead = _PARTS_AHEAD * self._jobs
            for future in map_in_order(self._pool, _Task(task), arguments, ahead=ahead, size_bytes=_bytes_sent):
                yield result_of(future)
        except BrokenProcessPool:
            fail("a worker process was killed, perhaps for lack of memory", EXIT_INPUT_OUTPUT)


class _Task(Generic[Result]):
    """A task that takes all its arguments in a single object."""

    def __init__(self, task: Callable[..., Result]) -> None:
        self._task = task

    def __call__(self, arguments: tuple[Any, ...]) -> Result:
        return self._task(*arguments)


def _bytes_sent(arguments: tuple[Any, ...]) -> int:
    part: Part = arguments[0]
    return bytes_sent(part.files)
