"""`slpstream obs-scenes`: make the scenes and sources in OBS that the rules of a configuration name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from slpstream import config as configuration
from slpstream.cli import EXIT_CONFIG, EXIT_INPUT_OUTPUT, fail
from slpstream.cli.addresses import base_address
from slpstream.config import EACH_SUBFOLDER
from slpstream.model.errors import SinkError
from slpstream.model.messages import ON_AIR
from slpstream.parts import registry
from slpstream.parts.obs.part import Obs, ObsRule

if TYPE_CHECKING:
    from slpstream.parts.obs.client import ObsClient
    from slpstream.parts.obs.scene_collection import Request


@click.command("obs-scenes")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--address",
    metavar="URL",
    help="Address of slpstream as the machine of OBS knows it. By default that of this machine.",
)
@click.option("--dry-run", is_flag=True, help="Only print what would be made.")
def command(file: Path, address: str | None, dry_run: bool) -> None:
    """Make what the rules in the configuration FILE need and OBS lacks: scenes, text sources, and slpstream's pages
    as browser sources. OBS must run, with its websocket server. Nothing that exists is changed."""
    from slpstream.parts.obs.client import connected
    from slpstream.parts.obs.configured import rule_of
    from slpstream.parts.obs.scene_collection import in_obs, plan

    config = registry.load(file)
    obs, rules = config.section(Obs), config.sections(ObsRule)
    if not rules:
        fail(f"{file}: obs_rules: expected at least one rule", EXIT_CONFIG)
    base = (address or base_address(config.server.host, config.server.port)).rstrip("/")

    def page(path: str, station: str) -> str:
        return f"{base}/{path}/{quote(ON_AIR if station == EACH_SUBFOLDER else station)}"

    password_file = obs.password_file
    password = configuration.read_secret(Path(password_file), "obs.password_file") if password_file else None
    try:
        with connected(obs.url, password) as client:
            found = in_obs(client)
            needed = plan([rule_of(rule) for rule in rules], found, page)
            for request in needed.requests:
                if not dry_run:
                    _make(client, request)
                click.echo(f"{'would make' if dry_run else 'made'}  {request.words}")
    except SinkError as error:
        fail(f"{obs.url}: {error.what}", EXIT_INPUT_OUTPUT)
    for words in needed.by_hand:
        click.echo(f"by hand  {words}")
    if not needed.requests and not needed.by_hand:
        click.echo("OBS has everything that the rules name.")


def _make(obs: ObsClient, request: Request) -> None:
    answer = obs.ask(request.type, request.data)
    if request.place is not None:
        x, y = request.place
        item = {"sceneName": request.data["sceneName"], "sceneItemId": answer.get("sceneItemId")}
        obs.ask("SetSceneItemTransform", {**item, "sceneItemTransform": {"positionX": x, "positionY": y}})
