"""The peer of the benchmark `training`: the steps of slippi-ai's `parse_local` over peppi-py-vladfi, on a zip archive.

It runs in a separate process, because peppi-py-vladfi installs the module of peppi-py. It imports nothing from
slpstream, because imports are part of neither side's work:

    python -m tests.bench.training_peer ZIP FOLDER PROCESSES
    python -m tests.bench.training_peer --readable REPLAY...

As in slippi-ai, each replay is a task of a process pool. It is read from the archive, hashed, written into a file in
memory (`/dev/shm`), which `read_slippi` reads, and stored as an uncompressed Parquet file in a zlib stream. It does
less work than slippi-ai: each process opens the archive once, the objects of a frame are assigned to slots by loops
over plain lists, and the table of replays, the cloud of Yoshi's Story and the platforms of Fountain of Dreams are
omitted.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tempfile
import zipfile
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.parts.training.slippi_ai_reference import leaves

_IN_MEMORY = Path("/dev/shm")
_NOT_COMPUTED = ("randall.x", "randall.y", "fod_platforms.left", "fod_platforms.right")

_archives: dict[str, zipfile.ZipFile] = {}


def parse(archive: str, member: str, folder: str) -> int:
    """Write the file of one replay. Returns the number of frames, 0 for a replay that the peer cannot read."""
    opened = _archives.get(archive)
    if opened is None:
        opened = _archives[archive] = zipfile.ZipFile(archive)
    data = opened.read(member)
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as temporary:
        path = Path(temporary) / "game.slp"
        path.write_bytes(data)
        try:
            arrays = leaves(path)
        except BaseException as error:  # noqa: BLE001 -- its panics are no Exceptions
            print(f"{member}: {error}", file=sys.stderr)
            return 0
    count = len(arrays["stage"])
    arrays |= {name: np.zeros(count, np.float32) for name in _NOT_COMPUTED}
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    (Path(folder) / md5).write_bytes(_parquet_file(arrays))
    return count


def _parquet_file(arrays: dict[str, Any]) -> bytes:
    tree: dict[str, Any] = {}
    for name, values in arrays.items():
        *parents, leaf = name.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = pa.array(values)
    root = _struct(tree)
    schema = pa.schema([pa.field("root", root.type, nullable=False)])
    sink = io.BytesIO()
    table = pa.Table.from_arrays([root], schema=schema)
    pq.write_table(table, sink, version="2.4", compression="none", use_dictionary=False)
    return zlib.compress(sink.getvalue())


def _struct(tree: dict[str, Any]) -> pa.StructArray:
    fields = [_struct(value) if isinstance(value, dict) else value for value in tree.values()]
    return pa.StructArray.from_arrays(fields, names=list(tree))


def _readable(path: Path) -> bool:
    try:
        return len(leaves(path)["stage"]) > 0
    except BaseException:  # noqa: BLE001 -- see above
        return False


def main() -> None:
    """Run as a program."""
    if sys.argv[1] == "--readable":
        print("\n".join(path for path in sys.argv[2:] if _readable(Path(path))))
        return
    archive, folder, processes = sys.argv[1:]
    Path(folder).mkdir()
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
    with ProcessPoolExecutor(int(processes)) as pool:
        futures = [pool.submit(parse, archive, name, folder) for name in names]
        frames = [future.result() for future in futures]
    print(f"{sum(frames)} frames of {sum(count > 0 for count in frames)} games")


if __name__ == "__main__":
    main()
