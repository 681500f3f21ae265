"""`slpstream seats`: the QR codes with which players claim seats, from a running daemon."""

from __future__ import annotations

import html
import http.client
import importlib.util
import io
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import click
import msgspec

from slpstream import config as configuration
from slpstream.cli import EXIT_CONFIG, EXIT_INPUT_OUTPUT, fail
from slpstream.cli.addresses import base_address
from slpstream.cli.answers import answer
from slpstream.cli.service_options import config_option
from slpstream.parts import registry
from slpstream.system.private_files import write_private_file
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.seats.code_api import SeatCode, SeatCodes

_PATH = "/v1/seat-codes"
_TIMEOUT_SECONDS = 10.0
_NOTES = {
    "configuration": "from seats.address",
    "machine": "the address of that machine; if phones use another one, set seats.address",
    "loopback": "phones cannot reach it: set server.host, or seats.address for a proxy",
}
_SHEET = """<!doctype html>
<meta charset="utf-8">
<title>Codes for seats</title>
<style>
  body { margin: 0; font: 14pt system-ui, sans-serif; }
  ul { display: grid; grid-template-columns: 1fr 1fr; margin: 0; padding: 0; list-style: none; }
  li { height: 128mm; box-sizing: border-box; padding: 6mm; text-align: center; break-inside: avoid;
       border: 1px dashed #888; }
  h2 { font-size: 30pt; margin: 4mm 0; overflow-wrap: anywhere; }
  svg { width: 78mm; height: 78mm; }
  @page { margin: 10mm; }
</style>
"""


@click.command("seats")
@click.argument("url", required=False)
@config_option
@click.option("--token-file", type=click.Path(path_type=Path), help="File whose first line is the operator token.")
@click.option("--station", "wanted", metavar="ID", help="Only this station.")
@click.option("--html", "sheet", type=click.Path(path_type=Path), help="Write a page to print to this file.")
@click.option("--svg", "folder", type=click.Path(path_type=Path), help="Write an SVG for each station to this folder.")
@click.option("--renew", is_flag=True, help="Replace the codes first. The old ones stop working.")
def command(
    url: str | None,
    config_file: Path | None,
    token_file: Path | None,
    wanted: str | None,
    sheet: Path | None,
    folder: Path | None,
    renew: bool,
) -> None:
    """Print the QR codes of the daemon at URL, by default the one on this machine. Players scan them to say who sits at
    which port. `--config` takes address and token from a configuration file.

    The codes contain secrets: whoever has seen a code can claim seats at its station until it is renewed.
    """
    if importlib.util.find_spec("segno") is None:
        fail("seats needs segno: pip install 'slpstream[seats]'", 2)
    config = registry.load(config_file) if config_file is not None else configuration.Config()
    base = url or base_address(config.server.host, config.server.port)
    if urlsplit(base).scheme not in ("http", "https"):
        raise click.BadParameter(f"expected http:// or https://, got {base}", param_hint="URL")
    server = config.server
    file = token_file or next((Path(name) for name in (server.operate_token_file, server.token_file) if name), None)
    token = None if file is None else configuration.read_secret(file, "server.operate_token_file")
    codes = _codes(base.rstrip("/"), token, wanted, renew=renew)
    chosen = [code for code in codes.codes if wanted in (None, code.station)]
    if not chosen:
        fail("there are no stations" if wanted is None else f"no such station: {wanted}", EXIT_INPUT_OUTPUT)
    try:
        if sheet is not None:
            write_private_file(sheet, _sheet(chosen).encode())
            click.echo(f"written: {printable(sheet)}")
        if folder is not None:
            _write_pictures(chosen, folder)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", EXIT_INPUT_OUTPUT)
    if sheet is None and folder is None:
        for code in chosen:
            _print(code)
    click.echo(f"The codes lead to {codes.address} ({_NOTES[codes.address_from]}).", err=True)


def _codes(base: str, token: str | None, station: str | None, *, renew: bool) -> SeatCodes:
    """Return the codes of a daemon. If it doesn't have any, this ends the process."""
    from slpstream.parts.seats.code_api import SeatCodes

    headers = {"accept": "application/json", "content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    body = msgspec.json.encode({} if station is None else {"station": station}) if renew else None
    try:
        with urlopen(Request(base + _PATH, body, headers), timeout=_TIMEOUT_SECONDS) as response:
            return answer(response, SeatCodes)
    except HTTPError as error:
        with error:
            _refused(base, error)
    except (OSError, http.client.HTTPException, ValueError) as error:
        fail(f"{base}: {getattr(error, 'reason', error)}", EXIT_INPUT_OUTPUT)


def _refused(base: str, error: HTTPError) -> NoReturn:
    try:
        what = answer(error, dict[str, object]).get("detail", error.reason)
    except (OSError, http.client.HTTPException, ValueError):
        what = error.reason
    fail(f"{base}: {what}", EXIT_CONFIG if error.code in (401, 403, 409) else EXIT_INPUT_OUTPUT)


def _print(code: SeatCode) -> None:
    import segno

    drawn = io.StringIO()
    segno.make(code.url, error="m", micro=False).terminal(drawn, compact=True)
    click.echo(f"{printable(code.name)}\n{drawn.getvalue()}{code.url}\n")


def _sheet(codes: list[SeatCode]) -> str:
    from slpstream.parts.seats.code_api import draw_svg

    items = [
        f"<li><h2>{html.escape(code.name)}</h2>{draw_svg(code.url).decode()}<p>Scan: who sits here?</p></li>"
        for code in codes
    ]
    return "\n".join([_SHEET + "<ul>", *items, "</ul>", ""])


def _write_pictures(codes: list[SeatCode], folder: Path) -> None:
    from slpstream.parts.seats.code_api import draw_svg

    folder.mkdir(parents=True, exist_ok=True)
    for code in codes:
        path = folder / f"{quote(code.station, safe='')}.svg"
        write_private_file(path, draw_svg(code.url))
        click.echo(f"written: {printable(path)}")
