"""`/openapi.json`, generated from the endpoints and the types of their parameters, bodies and responses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from slpstream.parts.api_docs import stream_reference
from slpstream.web import schemas
from slpstream.web.endpoint import BODY_TYPES, JSON, Endpoint

VERSION = "3.1.0"
_REFERENCE = "#/components/schemas/{name}"
_DESCRIPTION = (
    "Games that are being played and games that were played. Messages arrive live on the websocket `/v1/stream` and on "
    "`/v1/events`. From another machine every request needs the token, as `Authorization: Bearer` or `?token=`."
)
_OPERATORS = {401: "A token is required.", 403: "Needs the operator token, and no page of another site may do it."}
_PROBLEM = {
    "description": "The request failed.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def document(endpoints: Sequence[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI description of some endpoints."""
    typed = [
        ((endpoint.name, part), kind)
        for endpoint in endpoints
        for part, kind in (("response", endpoint.response), ("body", endpoint.body))
        if kind is not None
    ]
    found, components = msgspec.json.schema_components(
        [schemas.Problem, *(kind for _, kind in typed)], ref_template=_REFERENCE
    )
    schema_of = {key: schema for (key, _), schema in zip(typed, found[1:], strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(
            endpoint, schema_of.get((endpoint.name, "response")), schema_of.get((endpoint.name, "body"))
        )
    return {
        "openapi": VERSION,
        "info": {
            "title": "slpstream",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "security": [{}, {"bearer": []}, {"query": []}],
        "paths": paths,
        "x-stream": stream_reference.description(),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "query": {"type": "apiKey", "in": "query", "name": "token"},
            },
        },
    }


def _operation(endpoint: Endpoint, response: Any, body: Any) -> dict[str, Any]:
    return {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        **({"requestBody": _body(body)} if body is not None else {}),
        "parameters": [
            *_in_path(endpoint),
            *_in_query(endpoint.parameters),
            *(
                {"name": name, "in": "header", "required": False, "description": what, "schema": {"type": "string"}}
                for name, what in endpoint.headers.items()
            ),
        ],
        "responses": {
            "200": {
                "description": "Success.",
                "content": {endpoint.media_type: {"schema": response} if endpoint.media_type == JSON else {}},
            },
            **(
                {str(status): {**_PROBLEM, "description": what} for status, what in _OPERATORS.items()}
                if endpoint.operates
                else {}
            ),
            **{str(status): _other(endpoint, status, what) for status, what in endpoint.statuses.items()},
            "422": {**_PROBLEM, "description": "A parameter is invalid."},
            "default": _PROBLEM,
        },
    }


def _body(schema: Any) -> dict[str, Any]:
    return {"required": True, "content": {media_type: {"schema": schema} for media_type in BODY_TYPES}}


def _other(endpoint: Endpoint, status: int, what: str) -> dict[str, Any]:
    """The description of a status other than 200. 4xx are problems, 304 has no body, others are like the 200."""
    if status == 503:
        return {"description": what, "content": {JSON: {"schema": {"$ref": _REFERENCE.format(name="Readiness")}}}}
    if status >= 400:
        return {**_PROBLEM, "description": what}
    if status == 304:
        return {"description": what}
    return {"description": what, "content": {endpoint.media_type: {}}}


def _in_path(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(endpoint.in_path[name])}
        for name in re.findall(r"\{(\w+)", endpoint.path)
    ]


def _in_query(kind: type[msgspec.Struct]) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(kind, ref_template=_REFERENCE, schema_hook=_text_schema)["$defs"][kind.__name__]
    required = set(schema.get("required", ()))
    parameters = []
    for name, of_name in schema.get("properties", {}).items():
        plain = dict(of_name)
        described = {"description": plain.pop("description")} if "description" in plain else {}
        parameters.append({"name": name, "in": "query", "required": name in required, **described, "schema": plain})
    return parameters


def _text_schema(kind: type) -> dict[str, Any]:
    """The schema of a parameter that is parsed from text, see `Endpoint.parameters`."""
    return {"type": "string"}
