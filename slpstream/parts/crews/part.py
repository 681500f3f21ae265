"""Declares the fields of crew battles. Their files are in `static`."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(name="crews")
