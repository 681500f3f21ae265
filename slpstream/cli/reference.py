"""`slpstream reference`: print the reference pages, which are made from the tables that the code itself uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import click

from slpstream import config
from slpstream.formats.slippi import commands, game_start
from slpstream.model.fields import Field
from slpstream.model.messages import DROPPABLE_TYPES, PAYLOADS, STATUS_PAYLOADS
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.system import metrics


def fields_page() -> Iterator[str]:
    """The fields of every Slippi event."""
    yield "# Fields of the Slippi events"
    yield ""
    yield "Offsets are relative to the command byte. A field is present if the declared payload size includes it."
    for table in sorted(commands.TABLES.values(), key=lambda table: table.command):
        yield from ("", f"## {table.title} {table.command:#04x}", "", f"Since {table.since}. {table.doc}", "")
        yield from _rows(table.fields)
    yield from ("", f"## Game Start {commands.GAME_START:#04x}", "", "Sent once, when the game begins.", "")
    yield from _rows(game_start.FIELDS)
    yield from ("", "For each player, where `i` is the player index, 0 to 3:", "")
    yield from _rows(game_start.PLAYER_FIELDS)


def _rows(fields: tuple[Field, ...]) -> Iterator[str]:
    yield "| offset | name in messages | type | unit | since | description |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for f in fields:
        offset = f"{f.offset:#x}" + (f" + {f.stride_bytes:#x}*i" if f.stride_bytes else "")
        yield f"| {offset} | `{f.wire_name}` | {f.kind.name} | {f.unit} | {f.since} | {f.doc} |"


def messages_page() -> Iterator[str]:
    """Every message type with its topic and payload."""
    yield "# Messages"
    yield ""
    yield "| type | topic | may be dropped with `conflate` delivery | payload |"
    yield "| --- | --- | --- | --- |"
    for kind, topic in TOPIC_OF_TYPE.items():
        dropped = "yes" if kind in DROPPABLE_TYPES else "no"
        yield f"| `{kind}` | {topic} | {dropped} | {PAYLOADS[kind]} |"
    for kind, payload in STATUS_PAYLOADS.items():
        yield f"| `{kind}` | status | no | {payload} |"


def metrics_page() -> Iterator[str]:
    """Every metric."""
    yield from ("# Metrics", "", "| name | type | description |", "| --- | --- | --- |")
    for row in sorted(metrics.TABLE):
        yield f"| `{row.name}` | {row.kind} | {row.help} |"


def config_page() -> Iterator[str]:
    """Every key of the configuration with its type, default and meaning."""
    yield from ("# Configuration", "", "| key | type | default | description |", "| --- | --- | --- | --- |")
    for key in config.all_keys():
        default = "required" if key.default is None else f"`{key.default!r}`"
        yield f"| `{key.section}.{key.name}` | {key.type} | {default} | {key.description} |"


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "messages": messages_page,
    "fields": fields_page,
    "metrics": metrics_page,
    "config": config_page,
}


@click.command()
@click.argument("page", required=False, type=click.Choice(list(PAGES)))
def command(page: str | None) -> None:
    """Print a reference page as Markdown: messages, fields, metrics or config. Without PAGE, print all of them."""
    for name in [page] if page else PAGES:
        for line in PAGES[name]():
            click.echo(line)
        if not page:
            click.echo()
