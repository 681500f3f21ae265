"""`slpstream reference`: print the reference pages, which are made from the tables that the code itself uses."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from slpstream import config
from slpstream.formats.slippi import commands, game_start
from slpstream.model.fields import Field
from slpstream.model.messages import DROPPABLE_TYPES, PAYLOADS, STATUS_PAYLOADS
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.parts import registry
from slpstream.parts.reference.python_page import python_page
from slpstream.system import metrics


def fields_page() -> Iterator[str]:
    """Yield the lines of the page about the fields of every Slippi event."""
    yield "# Fields of the Slippi events"
    yield ""
    yield "This page lists the fields of every event that a Slippi replay consists of, for programmers who read"
    yield "messages, columns or replays. Offsets are relative to the command byte. A field is present if the"
    yield "declared payload size includes it."
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
    """Yield the lines of the page about every message type, with its topic and payload."""
    yield "# Messages"
    yield ""
    yield "This page lists the messages that the daemon sends and `slpstream dump` prints, for programmers. Those"
    yield "with the topic `status` describe the daemon and the connection. All others are the log of a game, and"
    yield "each has a cursor. `docs/reference/stream.md` describes how to subscribe to them."
    yield ""
    yield "| type | topic | may be dropped with `conflate` delivery | payload |"
    yield "| --- | --- | --- | --- |"
    for kind, topic in TOPIC_OF_TYPE.items():
        dropped = "yes" if kind in DROPPABLE_TYPES else "no"
        yield f"| `{kind}` | {topic} | {dropped} | {PAYLOADS[kind]} |"
    for kind, payload in STATUS_PAYLOADS.items():
        yield f"| `{kind}` | status | no | {payload} |"
    for message in registry.messages():
        yield f"| `{message.type}` | `also` | yes | {message.payload} |"


def metrics_page() -> Iterator[str]:
    """Yield the lines of the page about every metric."""
    yield from ("# Metrics", "")
    yield "This page lists the metrics that Prometheus can read from `/metrics`, for operators. `docs/howto/runbook.md`"
    yield "explains the alerts that are made from them. `/metrics?names=NAME,NAME` has only the samples with these"
    yield "names."
    yield from ("", "| name | type | description |", "| --- | --- | --- |")
    for row in sorted([*metrics.TABLE, *registry.metric_rows()]):
        yield f"| `{row.name}` | {row.kind} | {row.help} |"


def config_page() -> Iterator[str]:
    """Yield the lines of the page about every key of the configuration, with its type, default and meaning."""
    yield from ("# Configuration", "")
    yield "This page lists all keys of the configuration, a TOML file for `slpstream serve --config FILE`. The key"
    yield "`server.port` is written as `port = 5151` below the line `[server]`. Tables of `stations`, `webhooks`"
    yield "and `jsonl` can come several times, each below a line such as `[[stations]]`."
    yield "`docs/howto/get_slpstream.md` has an example."
    yield from ("", "| key | type | default | description |", "| --- | --- | --- | --- |")
    for key in config.all_keys(registry.sections()):
        default = "required" if key.default is None else f"`{json.dumps(key.default)}`"
        yield f"| `{key.section}.{key.name}` | {key.type} | {default} | {key.description} |"


def commands_page() -> Iterator[str]:
    """Yield the lines of the page about every command, with its arguments and options."""
    from slpstream.cli import cli

    yield from ("# Commands", "")
    yield "This page lists all commands of slpstream with their arguments and options. `slpstream COMMAND --help`"
    yield "prints the same. `docs/howto/get_slpstream.md` describes how to install the command `slpstream`."
    for name in cli.list_commands(click.Context(cli)):
        described = cli.get_command(click.Context(cli), name)
        if described is not None:
            yield from ("", f"## slpstream {name}", "")
            yield from _command(described, click.Context(described, info_name=f"slpstream {name}", terminal_width=78))


def _command(described: click.Command, context: click.Context) -> Iterator[str]:
    yield "```text"
    yield described.get_usage(context).removeprefix("Usage: ")
    yield "```"
    yield ""
    # Click wraps paragraphs again, except those that begin with this mark.
    yield inspect.cleandoc(described.help or "").replace("\b\n", "")
    records = (each.get_help_record(context) for each in described.params if isinstance(each, click.Option))
    options = [record for record in records if record is not None]
    if options:
        yield from ("", "| option | description |", "| --- | --- |")
        for names, text in options:
            yield f"| `{_cell(names)}` | {_cell(text)} |"


def http_page() -> Iterator[str]:
    """Yield the lines of the page about every endpoint of the HTTP API, with its parameters."""
    from slpstream.model.version import __version__
    from slpstream.web.app import described_endpoints

    yield from ("# HTTP", "", "This page lists the endpoints of the daemon's HTTP interface, for programmers.", "")
    describe = registry.function("describe_api")
    if describe is None:
        yield "This installation lacks the part that describes them."
        return
    document = describe(described_endpoints(registry.endpoints({})), __version__)
    yield from (document["info"]["description"], "")
    yield "`/openapi.json` describes the same in the form that client generators read, with the types of all bodies."
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from ("", f"## {method.upper()} {path}", "", operation["summary"])
            yield from _parameters(operation["parameters"])
            yield from ("", "| status | meaning |", "| --- | --- |")
            yield from (f"| {status} | {each.get('description', 'A problem, as `application/problem+json`.')} |"
                        for status, each in operation["responses"].items())  # fmt: skip


def _parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    if parameters:
        yield from ("", "| parameter | in | description |", "| --- | --- | --- |")
    for each in parameters:
        text = each.get("description") or each["schema"].get("description", "")
        yield f"| `{each['name']}` | {each['in']} | {_cell(text)} |"


def _cell(text: str) -> str:
    """Return a text for one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "messages": messages_page,
    "fields": fields_page,
    "metrics": metrics_page,
    "config": config_page,
    "commands": commands_page,
    "http": http_page,
    "python": python_page,
}


@click.command()
@click.argument("page", required=False, type=click.Choice(list(PAGES)))
def command(page: str | None) -> None:
    """Print a reference page as Markdown: for example messages or config. Without PAGE, print all."""
    for name in [page] if page else PAGES:
        for line in PAGES[name]():
            click.echo(line)
        if not page:
            click.echo()
