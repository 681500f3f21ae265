"""Stations that are recorded from consoles or Dolphin, the relay ports of stations, and discovered consoles."""

from slpstream.daemon.consoles.companions import Consoles
from slpstream.daemon.consoles.discovery import same_consoles
from slpstream.daemon.consoles.sources import SourceReporter, check_sources

__all__ = ["Consoles", "SourceReporter", "check_sources", "same_consoles"]
