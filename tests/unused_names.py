"""Names that are unused in `slpstream`, by module, each with the reason why it exists.

`test_structure.py` compares the list with the findings of vulture. Code that only tests use belongs to the tests.
"""

from __future__ import annotations

from collections.abc import Mapping

USED_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "__init__.py": {"__getattr__": "called by Python (PEP 562)"},
    "api.py": {"training_rows": "for users: slpstream/parts/training/docs.md"},
    "cli/__init__.py": {"format_commands": "called by click"},
    "parts/export/cli.py": {"parameter": "passed by click"},
    "cli/replay_options.py": {"parameter": "passed by click"},
    "parts/odds/cli.py": {"parameter": "passed by click"},
    "parts/situations/cli.py": {"parameter": "passed by click"},
    "cli/terminal.py": {"on_broken_pipe": "called by rich"},
    "formats/slippi/columns.py": {
        "of_row": "for users: docs/reference/columns.md",
        "row_of": "for users: docs/reference/columns.md",
        "to_polars": "for users: docs/reference/columns.md",
    },
    "parts/rehearse/containment.py": {"getnameinfo": "required by trio"},
    "parts/sql/lazy_table.py": {"scanner": "called by DuckDB", "to_reader": "called by DuckDB"},
    "parts/training/windows.py": {"TrainingSet": "for users: slpstream/parts/training/docs.md"},
    "parts/archives/compressed.py": {"readinto": "called by `io.BufferedReader`"},
    "parts/archives/streams.py": {"readinto": "called by `io.BufferedReader`"},
    "sources/tail/folder.py": {"trace": "passed to `__exit__` by Python"},
    "sources/tail/watcher.py": {"trace": "passed to `__exit__` by Python"},
    "system/internal_errors.py": {"trace": "passed to `__exit__` by Python"},
    "parts/handover/archive.py": {"compress_type": "read by zipfile"},
    "web/app.py": {"build_middleware_stack": "called by Starlette"},
    "web/assets.py": {"config_checked": "read by Starlette", "get_response": "called by Starlette"},
    "web/websocket.py": {"parser_exc": "read by websockets", "select_subprotocol": "called by websockets"},
}
