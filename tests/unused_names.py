"""Names that nothing in `slpstream` uses, by module, each with the reason why it is there.

`test_structure.py` compares the list with the findings of vulture. A name that only tests use does not belong here but
in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping

USED_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "__init__.py": {"__getattr__": "called by Python (PEP 562)"},
    "cli/__init__.py": {
        "format_commands": "called by click",
        "get_command": "called by click",
        "list_commands": "called by click",
    },
    "cli/terminal.py": {"on_broken_pipe": "called by rich"},
    "cli/replay_options.py": {"parameter": "click calls the function with it"},
    "cli/export.py": {"parameter": "click calls the function with it"},
    "formats/slippi/assembler.py": {"next_number": "one of several functions with the same parameters"},
    "formats/slippi/columns.py": {
        "is_last_revision": "for users: deploy/docs/columns.md",
        "of_row": "for users: deploy/docs/columns.md",
        "row_of": "for users: deploy/docs/columns.md",
    },
    "formats/slippi/reader.py": {"gecko_list": "a part of the file that the reader decodes, for programs that use it"},
    "model/delta.py": {"DeltaDecoder": "for clients: README.md"},
    "sources/tail/folder.py": {"trace": "Python calls `__exit__` with it"},
    "sources/tail/watcher.py": {"trace": "Python calls `__exit__` with it"},
    "stats/punishes.py": {"hit_count": "written as a whole into a message"},
    "stats/stocks.py": {"death_animation": "written as a whole into a message"},
    "web/assets.py": {"config_checked": "read by Starlette", "get_response": "called by Starlette"},
    "web/websocket.py": {"parser_exc": "read by websockets", "select_subprotocol": "called by websockets"},
}
