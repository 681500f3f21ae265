"""Declares `[[chat]]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Positive, Secret, Section
from slpstream.parts.interface import Part

_RESULT = ("winner", "loser", "winner_score", "loser_score", "best_of", "round", "event", "station", "link")
CHAT_PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "game_message": (*_RESULT, "game", "stage", "winner_character", "loser_character", "stocks", "duration"),
    "set_message": _RESULT,
    "start_message": (
        *("first", "second", "first_sets", "second_sets", "first_games", "second_games", "last_winner", "last_loser"),
        *("last_winner_score", "last_loser_score", "last_date", "best_of", "round", "event", "station", "link"),
    ),
    "link": ("station", "game_id"),
}
"""The placeholders in the templates of `[[chat]]`, by key."""
_OPTIONAL = "`[[ on {stage}]]` is left out when a value in it is not known."


class Chat(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[chat]]`: a chat that results are posted to, over a webhook in Discord's format."""

    url_file: Annotated[Secret, Meta(description="File whose first line is the URL of the webhook, which is a secret.")]
    name: Annotated[str, Meta(description="Name in logs and metrics. Empty: the host of the URL.")] = ""
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    events: Annotated[
        list[Literal["game_end", "set_end", "set_start"]],
        Meta(
            description="Messages to post: results of games and of sets, and at the start of a set the earlier games "
            "of its two players. Empty: the results."
        ),
    ] = []
    game_message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1500,
            description="Template of the message about a game. " + _OPTIONAL + " Placeholders: "
            "`" + "`, `".join(CHAT_PLACEHOLDERS["game_message"]) + "`.",
        ),
    ] = (
        "[[Game {game}: ]]**{winner}**[[ ({winner_character})]] beats {loser}[[ ({loser_character})]][[ on {stage}]]. "
        "{winner_score}–{loser_score}[[ {link}]]"
    )
    set_message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1500,
            description="Template of the message about a set, with the placeholders "
            "`" + "`, `".join(CHAT_PLACEHOLDERS["set_message"]) + "`.",
        ),
    ] = "[[{round}: ]]**{winner}** wins {winner_score}–{loser_score} against {loser}.[[ {link}]]"
    start_message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1500,
            description="Template of the message about earlier games, with the placeholders "
            "`" + "`, `".join(CHAT_PLACEHOLDERS["start_message"]) + "`.",
        ),
    ] = (
        "[[{round}: ]]**{first}** – **{second}**: {first_sets}–{second_sets} in sets, {first_games}–{second_games} in "
        "games[[; last: {last_winner} {last_winner_score}–{last_loser_score}, {last_date}]][[ {link}]]"
    )
    link: Annotated[
        str,
        Meta(
            max_length=300,
            description="Template of `{link}` with the placeholders `station` and `game_id`, such as "
            "`https://example.org/#game/{game_id}`. Empty: no link.",
        ),
    ] = ""
    username: Annotated[str, Meta(max_length=80, description="Name of the author. Empty: that of the webhook.")] = ""
    avatar_url: Annotated[
        str, Meta(max_length=1000, description="Address of the author's picture. Empty: that of the webhook.")
    ] = ""
    timeout_seconds: Annotated[Positive, Meta(description="Time limit for an answer.")] = 10.0
    keep_hours: Annotated[
        Positive, Meta(description="Give up a message that has not been accepted after this long.")
    ] = 6.0


PART = Part(
    name="chat",
    docs="production/remote_controls.md",
    sections=[Section("chat", Chat, many=True, check="slpstream.parts.chat.checks:check")],
    wanted=lambda config: bool(config.sections(Chat)),
    start="slpstream.parts.chat.chats:Chats",
)
