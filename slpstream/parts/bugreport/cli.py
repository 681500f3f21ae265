"""`slpstream bugreport`: collect the information for a bug report in one file."""

from __future__ import annotations

import io
import time
from pathlib import Path
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZipFile

import click

from slpstream.cli.service_options import config_option
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.system.private_files import create_private_file
from slpstream.system.text import printable


@click.command()
@click.argument("url", required=False)
@config_option
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="File whose first line is the operator token of the daemon."
)
@click.option("--replay", type=click.Path(path_type=Path), help="Also include the head of this replay.")
@click.option("--log", "log_file", type=click.Path(path_type=Path), help="Also include the last lines of this log.")
@click.option("--unit", default="slpstream", show_default=True, help="Name of the service in the journal of systemd.")
@click.option(
    "--lines", type=click.IntRange(1, 100_000), default=500, show_default=True, help="How many lines of each log."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write, by default in this folder."
)
def command(
    url: str | None,
    config_file: Path | None,
    token_file: Path | None,
    replay: Path | None,
    log_file: Path | None,
    unit: str,
    lines: int,
    out: Path | None,
) -> None:
    """Write a zip with everything that helps to find a bug: versions, the configuration, metrics, stations, the last
    log lines, and which outputs work.

    Secrets are removed from all of it, and nothing is sent anywhere. The daemon at URL, by default the one of the
    configuration or of this machine, is asked if it runs; the report is also useful without it.
    """
    from slpstream.parts.bugreport.report import begin

    if url is not None and urlsplit(url).scheme not in ("http", "https"):
        raise click.BadParameter("expected http:// or https://", param_hint="URL")
    report = begin(token_file, url)
    report.add_configuration(config_file, "" if config_file is None else _check(config_file))
    report.add_daemon(url)
    report.add_journal(unit, lines)
    if log_file is not None:
        report.add_log_file(log_file, lines)
    if replay is not None:
        report.add_replay(replay)
    now = time.gmtime()
    out = out or Path(time.strftime("slpstream-bugreport-%Y%m%d-%H%M%S.zip", now))
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name, data in report.files(now).items():
            archive.writestr(name, data)
    with open(create_private_file(out), "wb") as file:  # noqa: PTH123 -- a descriptor
        file.write(content.getvalue())
    click.echo(f"{printable(out.absolute())} contains:")
    for name, what in report.contents.items():
        click.echo(f"  {name:<20} {printable(what)}")
    for note in report.missing:
        click.echo(f"Not included: {printable(note)}")
    click.echo("Secrets were removed. Nothing was sent; look through the file before you give it to anyone.")


def _check(file: Path) -> str:
    """Return `good`, or the error in a configuration."""
    from slpstream.daemon.daemon import check_startable

    try:
        config = registry.load(file)
        check_startable(config, config.stations)
    except ConfigError as error:
        return str(error)
    return "good"
