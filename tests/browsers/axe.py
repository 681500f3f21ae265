"""axe-core, which finds barriers for people with disabilities. `npm install --prefix tests/oracles` installs it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.oracles.slippi_js import MODULES
from tests.project import IN_CI

AXE = MODULES / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(
    not AXE.is_file() and not IN_CI, reason="no axe-core; run: npm install --prefix tests/oracles"
)


def check_with_axe(page: Page, *disabled: str) -> None:
    """Check every rule except the disabled ones. The page needs a context with `bypass_csp`.

    Without axe-core the check is skipped, except in CI.
    """
    if AXE.is_file() or IN_CI:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        rules = {rule: {"enabled": False} for rule in disabled}
        options = {"resultTypes": ["violations"], "rules": rules, "iframes": False}
        found = page.evaluate("options => axe.run(document, options)", options)
        assert found["passes"], "axe checked nothing"
        violations = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
        assert not violations, violations
