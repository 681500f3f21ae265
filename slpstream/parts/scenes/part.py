"""Declares the scenes. Their files are in `static`."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(name="scenes", docs="howto/overlay.md", routes="slpstream.parts.scenes.pages:routes")
