"""The tests that one Python is enough for, each with its reason: `pytest --other-python` leaves them out.

Slow tests are left out as well, among them all that use a browser: Chromium shows the same whatever Python serves.
"""

from __future__ import annotations

from collections.abc import Mapping

_NODE = "it tests JavaScript, which node runs"
_SOURCES = "it reads the sources and runs none of them"
_PAGES = "it checks documents"
_PROGRAM = "it checks files of the deployment with programs of their own"

MODULES: Mapping[str, str] = {
    "deploy/test_alerts.py": _PROGRAM,
    "deploy/test_how_far.py": _PAGES,
    "deploy/test_lock.py": _PROGRAM,
    "deploy/test_nginx.py": _PROGRAM,
    "deploy/test_runbook.py": _PAGES,
    "deploy/test_threat_model.py": _PAGES,
    "deploy/test_unit.py": _PROGRAM,
    "docs": _PAGES,
    "test_checks.py": _SOURCES,
    "test_not_on_windows.py": _SOURCES,
    "test_on_one_python.py": _SOURCES,
    "test_structure.py": _SOURCES,
    "web/test_client_js.py": _NODE,
    "web/test_client_module.py": _NODE,
    "web/test_playout.py": _NODE,
    "web/test_types.py": _SOURCES,
}
"""By folder or module below `tests/`."""
