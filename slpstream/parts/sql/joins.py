"""Find out which files a join needs, by using conditions on `games` and `players` to select the files for the other
tables.

If there's a condition on one table, DuckDB only passes it to this table. For example, for `frames join games using
(file) where games.winner = 0`, it would read the frames of all files, and then just use those of the right files for
the join. So we first find those files that pass the conditions on `games` and `players`. We only do this for plain
queries, where it can't change the answer: one `select` from tables that are all joined by `file`, with inner joins. For
any other query, all files are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.parts.sql.players import COMPUTED
from slpstream.parts.sql.scan import TABLES

Node = Mapping[str, Any]
"""A part of a query in the form of DuckDB's `json_serialize_sql`."""

_DECIDING = ("games", "players")
_COSTLY = frozenset({"frames", "conversions"})
_PLAIN_JOINS = frozenset({"REGULAR", "NATURAL", "CROSS"})
_OF_ITS_OWN = frozenset({"SUBQUERY", "WINDOW", "STAR", "LAMBDA", "PARAMETER"})
"""Kinds of expressions that a condition on one table must not have."""
_RANDOM = frozenset({"random", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "nextval"})


class _Leaf(NamedTuple):
    """A table in the `from` of a query."""

    table: str
    alias: str
    node: Node


def deciding_queries(serialized: str) -> list[str]:
    """Return queries that find those files that pass the conditions of a query. For most queries, there are none.

    If a file is missing in the result of any of them, it doesn't contribute to the answer. Queries are serialized in
    the same way as the one that you pass.
    """
    parsed = msgspec.json.decode(serialized)
    statements = parsed.get("statements", ())
    if len(statements) != 1:
        return []
    node = statements[0]["node"]
    if node["type"] != "SELECT_NODE" or node["cte_map"]["map"] or not _reads_everything(node):
        return []
    leaves = list(_leaves(node["from_table"]))
    names = [leaf.alias for leaf in leaves]
    tables = [leaf.table for leaf in leaves]
    every = [part for part in _parts(node) if part.get("type") == "BASE_TABLE"]
    if len(every) != len(leaves) or len(set(names)) != len(names) or _COSTLY.isdisjoint(tables):
        return []
    conditions = [*_conditions(node["where_clause"]), *_join_conditions(node["from_table"])]
    if _joined(node["from_table"], conditions) is None:
        return []
    found = []
    for leaf in leaves:
        own = [each for each in conditions if leaf.table in _DECIDING and _is_about(each, leaf, leaves)]
        if own:
            changed = {**node, **_ONLY_FILES, "from_table": leaf.node, "where_clause": _all_of(own)}
            found.append(msgspec.json.encode({**parsed, "statements": [{**statements[0], "node": changed}]}).decode())
    return found


_ONLY_FILES: Node = {
    "modifiers": [],
    "select_list": [{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": ["file"]}],
    "group_expressions": [],
    "group_sets": [],
    "aggregate_handling": "STANDARD_HANDLING",
    "having": None,
    "qualify": None,
    "sample": None,
}


def _reads_everything(node: Node) -> bool:
    """Whether it isn't enough for a query to see the first few rows that are found."""
    kinds = {modifier["type"] for modifier in node["modifiers"]}
    return "LIMIT_MODIFIER" not in kinds or "ORDER_MODIFIER" in kinds


def _parts(value: Any) -> Iterator[Node]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _parts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _parts(each)


def _leaves(node: Node) -> Iterator[_Leaf]:
    if node["type"] == "JOIN":
        yield from _leaves(node["left"])
        yield from _leaves(node["right"])
    elif node["type"] == "BASE_TABLE" and node["table_name"].lower() in TABLES and not node["column_name_alias"]:
        table = node["table_name"].lower()
        yield _Leaf(table, (node["alias"] or table).lower(), node)


def _joined(node: Node, conditions: Sequence[Node]) -> frozenset[str] | None:
    """Return the names of the tables in a join, if we can be sure that they all have the same `file` in each row."""
    if node["sample"] is not None:
        return None
    if node["type"] != "JOIN":
        return frozenset(leaf.alias for leaf in _leaves(node)) or None
    left, right = _joined(node["left"], conditions), _joined(node["right"], conditions)
    if left is None or right is None or node["join_type"] != "INNER" or node["ref_type"] not in _PLAIN_JOINS:
        return None
    by_name = node["ref_type"] == "NATURAL" or "file" in map(str.lower, node["using_columns"])
    if not by_name and not any(_equates_files(each, left, right) for each in conditions):
        return None
    return left | right


def _equates_files(condition: Node, left: frozenset[str], right: frozenset[str]) -> bool:
    if condition["type"] != "COMPARE_EQUAL":
        return False
    sides = [_column(condition[side]) for side in ("left", "right")]
    tables = {side[0] for side in sides if side is not None and len(side) == 2 and side[1] == "file"}
    return len(tables) == 2 and not tables.isdisjoint(left) and not tables.isdisjoint(right)


def _column(node: Node) -> tuple[str, ...] | None:
    return tuple(map(str.lower, node["column_names"])) if node["class"] == "COLUMN_REF" else None


def _conditions(node: Node | None) -> Iterator[Node]:
    """Yield the conditions that must all be true."""
    if node is None:
        return
    if node["type"] == "CONJUNCTION_AND":
        for each in node["children"]:
            yield from _conditions(each)
    else:
        yield node


def _join_conditions(node: Node) -> Iterator[Node]:
    if node["type"] == "JOIN":
        yield from _conditions(node["condition"])
        yield from _join_conditions(node["left"])
        yield from _join_conditions(node["right"])


def _is_about(condition: Node, leaf: _Leaf, leaves: Sequence[_Leaf]) -> bool:
    """Whether a condition only uses columns of one table, and none of them needs stats."""
    own = frozenset(TABLES[leaf.table].schema.names) - COMPUTED
    others = frozenset(name for each in leaves if each != leaf for name in TABLES[each.table].schema.names)
    count = 0
    for part in _parts(condition):
        if part.get("class") in _OF_ITS_OWN or str(part.get("function_name", "")).lower() in _RANDOM:
            return False
        column = _column(part) if "column_names" in part and part.get("class") == "COLUMN_REF" else None
        if column is None:
            continue
        count += 1
        qualified = len(column) == 2 and column[0] == leaf.alias and column[1] in own
        if not qualified and not (len(column) == 1 and column[0] in own - others):
            return False
    return count > 0


def _all_of(conditions: Sequence[Node]) -> Node:
    if len(conditions) == 1:
        return conditions[0]
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": list(conditions)}


Execute = Callable[[str], Sequence[str]]
"""Executes a serialized query. Returns the values of its only column."""


def deciding_files(serialized: str, execute: Execute) -> frozenset[str] | None:
    """Return those files that might contribute to the answer of a query, where `None` means all of them."""
    files: frozenset[str] | None = None
    for query in deciding_queries(serialized):
        found = frozenset(execute(query))
        files = found if files is None else files & found
    return files
