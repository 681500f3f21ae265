"""The interface between the core and its parts: how a part is declared, what it can do while it runs, and its host.

A part is a package that contains a module `part` with a `PART`. This is a declaration that tells the core about
everything that the part adds: configuration keys, metrics, endpoints, pages and commands. The declarations of all parts
are imported whenever slpstream starts a daemon, so they must not import anything that takes long. Everything else is
given as a reference, `module:name`, which is only resolved when it's needed. This means that if you don't configure a
part, it doesn't cost you anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from slpstream.system.metric_row import Row

if TYPE_CHECKING:
    from slpstream.config.sections import Config, Section, StationConfig
    from slpstream.daemon.games import DaemonGames
    from slpstream.daemon.running_parts import RunningParts
    from slpstream.daemon.sets import StationSets
    from slpstream.daemon.stations import RunningStation, RunningStations
    from slpstream.model.messages import Cursor
    from slpstream.store import GameIndex
    from slpstream.stream.channel import Channel, Hub, OnAir, Send
    from slpstream.stream.subscription import Start
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
    """A page that people can open in their browser.

    The page itself must not contain anything private, because everyone can load it. It asks the user for the token,
    and uses this to load its data.
    """

    path: str
    """The path, with `{name}` for each variable part."""
    file: str
    """The HTML file, relative to the folder `static` of the part."""
    title: str = ""
    """The words of its link in the navigation. Empty: the page is not listed there."""
    frames: bool = False
    """Whether the page may contain other pages of this server."""


class Message(NamedTuple):
    """A type of messages that subscriptions get if they ask for it with `also`. It isn't in the log of a game."""

    type: str
    payload: str
    """Its members, as the page about messages describes them."""
    schema: str = ""
    """The msgspec struct with the same members, as `module:class`. The types for programs are made from it."""


class Part(NamedTuple):
    """The declaration of a part."""

    name: str
    """The name of its folder."""
    docs: str = ""
    """The page of the documentation site that has its `docs.md` as a section, such as `production/index.md`, if any."""
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
    labels: Sequence[str] = ()
    """The further names in `slpstream_internal_errors_total` under which it contains bugs itself."""
    endpoints: str = ""
    """The function that makes its HTTP endpoints, as `module:function`. It takes the running part, or `None` if the
    part is not wanted or only described, and returns a list of `web.endpoint.Endpoint`."""
    claim_paths: Sequence[str] = ()
    """The prefixes of paths whose requests have separate tokens, which the endpoints check: they need `Role.CLAIM`."""
    pages: Sequence[Page] = ()
    routes: str = ""
    """The function that makes its pages and files that have to be computed, as `module:function`. It takes the test
    whether a station exists, a function of its name, and the folder with the user's own files, or `None`. It returns a
    list of `starlette.routing.Route`."""
    commands: Sequence[Command] = ()
    messages: Sequence[Message] = ()
    functions: Mapping[str, str] = MappingProxyType({})
    """Functions that the part implements for the core, for commands and for other parts, each as `module:function`, by
    the names under which they are looked up."""
    without_stations: str = ""
    """The note of `check-config` on a configuration that asks for the part and has no stations."""

    @property
    def label(self) -> str:
        """The name under which the bugs of the part are contained and counted."""
        return self.alias or self.name


class RunningPart:
    """A part that is running in a daemon. To write one, inherit from this class and override the methods that you need.

    If one of these methods raises an unexpected exception, the core contains it. This means that the bug only ends the
    call or, if it was a task, that the task is started again.
    """

    def open(self) -> None:
        """Open the files and databases that the part needs. This is called before `run`, and it's allowed to block.

        Raise `ConfigError` if this isn't possible.
        """

    def close(self) -> None:
        """Close everything that `open` has opened.

        This is called after all tasks of the part have ended, and may block.
        """

    async def run(self) -> None:
        """Do the work of the part until cancelled.

        If there isn't any, just return. After a bug, this is called again.
        """

    async def stations_configured(self, stations: Sequence[StationConfig]) -> None:
        """Prepare for the configured stations, before they are started, changed or ended."""

    def station_starts(self, running: RunningStation) -> None:
        """Start tasks for a station in its nursery, before the station runs. Temporary stations are left out."""

    async def follow(self, channel: Channel) -> None:
        """Follow a station until cancelled.

        This is called in a task that ends with the station and, after a bug, again.
        """

    async def send_messages(self, kind: str, channel: Channel, start: Start | Cursor, send: Send) -> None:
        """Send the messages of a declared type about a station to one subscription, which begins at `start`.

        This is called for each subscription that asks for them, in a task that ends with it.
        """

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Called when the set of the given station has changed, with the payload of the `set` message.

        You must not wait here.
        """

    def games_changed(self, station: str | None) -> None:
        """Called when the index has other games of the given station, or of any station (`None`).

        You must not wait here.
        """

    async def situation_found(self, station: str, payload: Mapping[str, Any]) -> None:
        """Called with each situation that was found in a game of the given station. You should only return when it is
        stored.

        You get the situations of a game in order, and after a restart, you get them again from the first one on.
        """

    def situation_seen(self, station: str, payload: Mapping[str, Any]) -> None:
        """Called once for each situation in a game that is being played. You must not wait here."""

    def index_lost(self) -> None:
        """Called when the index has lost its games, so that you have to report everything to it again."""

    def configure(self, config: Config) -> None:
        """Apply a configuration that was reloaded. You only need to look at the sections with `applied_at_reload`."""

    def not_ready(self) -> list[str]:
        """Return the reasons why the part isn't able to do its work. You can see them in `/readyz`."""
        return []


class Host:
    """Everything that a daemon offers to its parts.

    You can't use `index`, `games`, `state_folder` and `parts` before `RunningPart.open` is called.
    """

    index: GameIndex
    """The index of games."""
    games: DaemonGames
    """The games of the index and the hub, as the HTTP API answers for them."""
    state_folder: Path
    """The folder for everything that must survive a restart."""
    parts: RunningParts
    """All running parts, for a part that has something to tell the others."""
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
        access: Callable[[], Access],
        metrics: Metrics,
        errors: InternalErrors,
    ) -> None:
        self.config = config
        self.hub = hub
        self.on_air = on_air
        self.sets = sets
        self.stations = stations
        self.access = access
        """Returns the access rules of the web server, as they are now."""
        self.metrics = metrics
        self.errors = errors
        self._services: dict[type, Any] = {}

    def has_read_old_files(self) -> bool:
        """Whether the games of all stations have made it into the index."""
        return not any(station.starting for station in self.stations.stations) and self.index.waiting_files == 0

    def provide(self, service: type[S], provider: S) -> None:
        """Offer a service to the core and to other parts.

        Its type is usually one of the Protocols in `parts.services`.
        """
        self._services[service] = provider

    def find(self, service: type[S]) -> S | None:
        """Return the provider of the given service, or `None` if none of the running parts offers it.

        You should call this each time you need the service.
        """
        provider: S | None = self._services.get(service)
        return provider
