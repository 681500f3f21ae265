"""`slpstream init`: write a first configuration file, from the answers to five questions or from options."""

from __future__ import annotations

import os
import secrets
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from slpstream import config as configuration
from slpstream.cli import config_error_context
from slpstream.cli.addresses import base_address
from slpstream.cli.atomic_file import write_atomically
from slpstream.config import read_secret
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.parts.init.first_config import Answers, first_config
from slpstream.system.private_files import create_private_file
from slpstream.system.text import printable

T = TypeVar("T")
_TOKEN_BYTES = 24
_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("init")
@click.argument("file", type=_FILE, default=Path("slpstream.toml"))
@click.option(
    "--setups/--one-setup", default=None, help="Each subfolder of the folder is a setup of a tournament, or not."
)
@click.option("--folder", "folders", type=_FOLDER, multiple=True, help="Folder of the replays. Can be repeated.")
@click.option("--reach", type=click.Choice(["machine", "network"]), help="Who may reach slpstream.")
@click.option(
    "--token-file", type=_FILE, help="File of the access token. If there is no such file, it gets a new token."
)
@click.option("--obs", type=click.Choice(["overlay", "control"]), help="Whether slpstream also controls OBS.")
@click.option("--yes", is_flag=True, help="Ask nothing, and take the defaults for options that are not given.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def command(
    file: Path,
    setups: bool | None,
    folders: tuple[Path, ...],
    reach: str | None,
    token_file: Path | None,
    obs: str | None,
    yes: bool,
    force: bool,
) -> None:
    """Write a configuration of about twenty lines to FILE, by default slpstream.toml in this folder.

    On a terminal, the command asks for everything that is not given as an option. The file is checked before it is
    written, and an existing one stays as it is without --force. `slpstream reference config` lists every other key.
    """
    if file.exists() and not force:
        raise ConfigError(str(file), "", "exists already; --force replaces it")
    asks = not yes and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))

    def answer(given: T | None, ask: Callable[[], T], default: T) -> T:
        return given if given is not None else ask() if asks else default

    several = answer(setups, _ask_setups, default=False)
    found = [Path.home() / "setups"] if several else configuration.usual_folders()
    chosen = answer(folders or None, lambda: _ask_folders(found, several=several), tuple(found))
    in_network = answer(reach, _ask_reach, "machine") == "network"
    token_default = file.absolute().with_name("slpstream-token")
    if in_network:
        token_file = answer(token_file, lambda: _ask_token_file(token_default), token_default)
    can_control = any(section.name == "obs" for section in registry.sections())
    controls = can_control and answer(obs, _ask_obs, "overlay") == "control"
    answers = Answers(
        folders=[_absolute(folder) for folder in chosen],
        several=several,
        in_network=in_network,
        token_file=None if token_file is None else _absolute(token_file),
        controls_obs=controls,
    )
    _write(file, answers, overwrite=force)


def _ask_setups() -> bool:
    return click.confirm("Is this for a tournament with several setups?", default=False)


def _ask_folders(found: list[Path], *, several: bool) -> tuple[Path, ...]:
    question = "Folder that has a subfolder for each setup" if several else "Folder of the replays"
    for folder in found[1:]:
        click.echo(f"There are also replays in {printable(folder)}. To watch them too, repeat --folder.")
    return (click.prompt(question, default=found[0], type=_FOLDER),)


def _ask_reach() -> str:
    choice = click.Choice(["machine", "network"])
    return str(click.prompt("Who may reach slpstream: only this machine, or the network?", "machine", type=choice))


def _ask_token_file(default: Path) -> Path:
    path: Path = click.prompt("File of the access token, which other machines need", default, type=_FILE)
    return path


def _ask_obs() -> str:
    choice = click.Choice(["overlay", "control"])
    question = "OBS: only show the overlay, or let slpstream control scenes too?"
    return str(click.prompt(question, "overlay", type=choice))


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError:  # there is no such user
        return path.absolute()


def _write(file: Path, answers: Answers, *, overwrite: bool) -> None:
    """Create the token if there isn't one yet, check the configuration, and write it."""
    from slpstream.daemon.daemon import check_startable

    text = first_config(answers, file)
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(str(file), "", "cannot contain a path that is not UTF-8") from error
    has_new_token = answers.token_file is not None and _has_created_token(answers.token_file)
    try:
        with config_error_context(file):
            config = configuration.check(tomllib.loads(text), registry.sections(), file=str(file))
            check_startable(config, config.stations)
        write_atomically(file, [content], overwrite=overwrite)
    except BaseException:
        if has_new_token and answers.token_file is not None:
            answers.token_file.unlink()
        raise
    click.echo(f"{printable(file)}: written, and valid")
    if answers.token_file is not None:
        made = "has a new token" if has_new_token else "has the token"
        click.echo(f"{printable(answers.token_file)}: {made}, which pages ask for on other machines")
    base = base_address(config.server.host, config.server.port)
    station = "STATION" if answers.several else config.stations[0].id
    click.echo(f"Start slpstream:   slpstream serve --config {printable(file)}")
    click.echo(f"Dashboard:         {base}/")
    click.echo(f"Overlay for OBS:   {base}/overlay/{station}")
    click.echo("All other keys:    slpstream reference config")


def _has_created_token(file: Path) -> bool:
    """Write a new token, unless the file exists. Raises `ConfigError` if an existing file has no token."""
    try:
        descriptor = create_private_file(file)
    except FileExistsError:
        read_secret(file, "server.token_file")
        return False
    with os.fdopen(descriptor, "w", encoding="ascii") as created:
        created.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
    return True
