"""Delayed requests of a page."""

from __future__ import annotations

from playwright.sync_api import Page, Route


class Held:
    """Holds requests of a page, and passes them to its other routes once they are released."""

    def __init__(self, page: Page, *patterns: str) -> None:
        self._waiting: list[Route] | None = []
        for pattern in patterns:
            page.route(pattern, self._take)

    def _take(self, route: Route) -> None:
        if self._waiting is None:
            route.fallback()
        else:
            self._waiting.append(route)

    def release(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        for route in waiting:
            route.fallback()
