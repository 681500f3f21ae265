"""The interface between the core and its parts: the declaration of a part, a running part, and its host.

A part is a package with a module `part` that has a `PART`: a declaration from which the core learns everything that the
part adds (keys of the configuration, metrics, endpoints, pages, commands). Declarations are imported whenever slpstream
starts a daemon, so they import nothing heavy. Everything else in them is a reference, `module:name`, which is resolved
when it is needed: a part that is not configured costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from slpstream.config.sections import Config, Section
from slpstream.system.metric_row import Row

if TYPE_CHECKING:
    from slpstream.daemon.consoles import Consoles
    from slpstream.daemon.deliveries.queue import DeliveryQueue
    from slpstream.daemon.game_codes import GameCodes
    from slpstream.daemon.games import DaemonGames
    from slpstream.daemon.sets import StationSets
    from slpstream.daemon.stations import RunningStations
    from slpstream.store import GameIndex
    from slpstream.stream import Channel, Hub, OnAir
    from slpstream.system.internal_errors import InternalErrors
    from slpstream.system.metrics import Metrics
    from slpstream.web.access import Access

S = TypeVar("S")


class Command(NamedTuple):
    """A command of the command line."""

    name: str
    summary: str
    """One line for `slpstream --help`."""
    click: str
    """The click command, as `module:name`."""


class Page(NamedTuple):
    """A page that people open. It contains nothing private: it asks for the token itself, to load its data."""

    path: str
    """The path, with `{name}` for each variable part."""
    file: str
    """The HTML file, relative to the folder `static` of the part."""
    title: str = ""
    """The words of its link in the navigation. Empty: the page is not listed there."""
    frames: bool = False
    """Whether the page may contain other pages of this server."""


class Part(NamedTuple):
    """The declaration of a part."""

    name: str
    """The name of its folder."""
    docs: str = ""
    """The path of its page `docs.md` on the documentation site, such as `production/chat.md`, if it has one."""
    sections: Sequence[Section] = ()
    """Its sections of the configuration, or its keys of shared sections."""
    wanted: Callable[[Config], bool] = lambda config: True
    """Whether a configuration asks for the part. Otherwise it is not started."""
    start: str = ""
    """The function that makes the running part, as `module:function`. It takes the `Host`, returns a `RunningPart`, and
    raises `ConfigError` for a configuration that cannot work on this machine. It opens and writes nothing yet, because
    `check-config` calls it too. Empty: nothing runs."""
    metrics: Sequence[Row] = ()
    alias: str = ""
    """Its name in `slpstream_internal_errors_total` and `/readyz`. Empty: `name`."""
    endpoints: str = ""
    """The function that makes its HTTP endpoints, as `module:function`. It takes the running part, or `None` if the
    part is not wanted or only described, and returns a list of `web.endpoint.Endpoint`."""
    claim_paths: Sequence[str] = ()
    """The prefixes of paths whose requests have separate tokens, which the endpoints check: they need `Role.CLAIM`."""
    pages: Sequence[Page] = ()
    routes: str = ""
    """The function that makes its pages that need a token and are more than a file, as `module:function`. It takes the
    test whether a station exists, a function of its name, and returns a list of `starlette.routing.Route`."""
    commands: Sequence[Command] = ()
    functions: Mapping[str, str] = MappingProxyType({})
    """Functions of the command `export` and of the Python interface that the part implements, each as
    `module:function`, by the names under which the core looks them up."""
    without_stations: str = ""
    """The note of `check-config` on a configuration that asks for the part and has no stations."""

    @property
    def label(self) -> str:
        """The name under which its bugs are contained and counted."""
        return self.alias or self.name


class RunningPart:
    """A part at work in one daemon. Subclasses override the methods that they need.

    The core contains exceptions from each of them: a bug ends the call, or the task, which is started again, and
    nothing else.
    """

    def open(self) -> None:
        """Open files and databases, before `run`. Blocks. Raises `ConfigError`."""

    def close(self) -> None:
        """Close what `open` has opened, after all tasks of the part have ended. Blocks."""

    async def run(self) -> None:
        """Work until cancelled. Called again after a bug. A part without such a task returns."""

    async def follow(self, channel: Channel) -> None:
        """Follow a station until cancelled, in a task that ends with the station. Called again after a bug."""

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station, without waiting."""

    def games_changed(self, station: str | None) -> None:
        """Take note that the index has other games of a station, or of any station (`None`), without waiting."""

    async def situation_found(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take a situation that was found in a game of a station, and return when it is stored.

        The situations of a game come in order, and again from the first one after a restart.
        """

    def situation_seen(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take a situation in a game that is being played, once, without waiting."""

    def index_lost(self) -> None:
        """Report everything to the index again, which has lost its games."""

    def configure(self, config: Config) -> None:
        """Apply a reloaded configuration: the sections with `applied_at_reload`."""

    def refuses_demo(self) -> str | None:
        """Why there can be no demo while the part runs; `None` if there can."""
        return None

    def not_ready(self) -> list[str]:
        """The reasons why the part does not do its work. `/readyz` lists them."""
        return []


class Host:
    """The services of a daemon for its parts.

    `index`, `codes`, `games` and `state_folder` exist from `RunningPart.open` on.
    """

    index: GameIndex
    """The index of games."""
    codes: GameCodes
    """The Gecko codes of the games in the index."""
    games: DaemonGames
    """The games of the index and the hub, as the HTTP API answers for them."""
    state_folder: Path
    """The folder for everything that must survive a restart."""
    port: int = 0
    """The port of the web server."""

    def __init__(
        self,
        config: Config,
        *,
        hub: Hub,
        on_air: OnAir,
        sets: StationSets,
        stations: RunningStations,
        consoles: Consoles,
        deliveries: DeliveryQueue,
        access: Callable[[], Access],
        metrics: Metrics,
        errors: InternalErrors,
    ) -> None:
        self.config = config
        self.hub = hub
        self.on_air = on_air
        self.sets = sets
        self.stations = stations
        self.consoles = consoles
        self.deliveries = deliveries
        """The queue of deliveries to other servers."""
        self.access = access
        """Returns the access rules of the web server, as they are now."""
        self.metrics = metrics
        self.errors = errors
        self._services: dict[type, Any] = {}

    def has_read_old_files(self) -> bool:
        """Whether the index has the games of all stations."""
        return not any(station.starting for station in self.stations.stations) and self.index.waiting_files == 0

    def provide(self, service: type[S], provider: S) -> None:
        """Offer a service to the core and to other parts. Its type is usually a Protocol in `parts.services`."""
        self._services[service] = provider

    def find(self, service: type[S]) -> S | None:
        """The provider of a service; `None` if no running part offers it. Parts call it when they need the service."""
        provider: S | None = self._services.get(service)
        return provider
