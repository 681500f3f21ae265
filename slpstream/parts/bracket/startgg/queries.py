"""The queries and mutations that we send to start.gg.

A request can't return more than 1,000 objects, and this includes nested ones. That's why lists of sets leave out their
games.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

_SET: Final = """
id state round fullRoundText winnerId totalGames updatedAt
slots {
  entrant {
    id name
    participants { id gamerTag prefix connectedAccounts player { user { genderPronoun } } }
  }
  standing { stats { score { value } } }
}
station { id number }
stream { id streamName streamSource }
phaseGroup { id displayIdentifier bracketType phase { id name groupCount } }
"""
# The phases, and the events of the tournament, show whether there are several of them.
_EVENT: Final = "id name slug videogame { id } phases { id } tournament { id name slug events { id videogame { id } } }"

EVENT: Final = f"query Event($slug: String) {{ event(slug: $slug) {{ {_EVENT} }} }}"
SETS: Final = f"""
query Sets($eventId: ID, $page: Int, $perPage: Int, $filters: SetFilters) {{
  event(id: $eventId) {{
    sets(page: $page, perPage: $perPage, sortType: STANDARD, filters: $filters) {{
      pageInfo {{ totalPages }}
      nodes {{ {_SET} }}
    }}
  }}
}}
"""
SET: Final = f"""
query Set($setId: ID!) {{
  set(id: $setId) {{
    {_SET}
    event {{ {_EVENT} }}
    games {{ orderNum winnerId }}
  }}
}}
"""
STATIONS: Final = """
query Stations($slug: String, $page: Int, $perPage: Int) {
  tournament(slug: $slug) {
    stations(page: $page, perPage: $perPage) { pageInfo { totalPages } nodes { id identifier number } }
  }
}
"""
# The query cannot be limited to one stream, so it asks for ids only.
STREAM_QUEUE: Final = """
query StreamQueue($tournamentId: ID!) {
  streamQueue(tournamentId: $tournamentId) { stream { streamName } sets { id } }
}
"""
ADMIN_OF: Final = """
query AdminOf($perPage: Int) {
  currentUser { tournaments(query: {perPage: $perPage, filter: {tournamentView: "admin"}}) { nodes { slug } } }
}
"""
CALL: Final = "mutation Call($setId: ID!) { markSetCalled(setId: $setId) { id state } }"
START: Final = "mutation Start($setId: ID!) { markSetInProgress(setId: $setId) { id state } }"
ASSIGN: Final = """
mutation Assign($setId: ID!, $stationId: ID!) { assignStation(setId: $setId, stationId: $stationId) { id state } }
"""

_REPORT_ARGUMENTS: Final = "setId: $setId, winnerId: $winnerId, isDQ: $isDQ, gameData: $gameData"
_REPORT_VARIABLES: Final = "$setId: ID!, $winnerId: ID, $isDQ: Boolean, $gameData: [BracketSetGameDataInput]"
REPORT: Final = (
    f"mutation Report({_REPORT_VARIABLES}) {{ reportBracketSet({_REPORT_ARGUMENTS}) {{ id state winnerId }} }}"
)
UPDATE: Final = (
    f"mutation Update({_REPORT_VARIABLES}) {{ updateBracketSet({_REPORT_ARGUMENTS}) {{ id state winnerId }} }}"
)
# Mutations of one request run in order.
REPLACE: Final = f"""
mutation Replace({_REPORT_VARIABLES}, $resetDependentSets: Boolean) {{
  resetSet(setId: $setId, resetDependentSets: $resetDependentSets) {{ id state }}
  reportBracketSet({_REPORT_ARGUMENTS}) {{ id state winnerId }}
}}
"""


def body(query: str, variables: dict[str, Any]) -> bytes:
    """The body of a request."""
    return msgspec.json.encode({"query": " ".join(query.split()), "variables": variables})
