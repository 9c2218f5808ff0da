"""The OpenAPI 3.1 description of the HTTP API, made from its operations and the types of their answers."""

import dataclasses
import inspect
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from tagloom.web.fields import LARGEST, Field
from tagloom.web.operations import API, Operation

__all__ = ["HEALTH", "ErrorAnswer", "HealthAnswer", "openapi"]

#: The path of the one operation that needs no token.
HEALTH = "/health"
_PLAIN: Mapping[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}
_REFUSALS = {
    "400": "A field is missing, unknown or wrong; the message says which.",
    "401": "The token is nobody's.",
    "403": "No token, a request from another page, or the role does not allow it.",
    "404": "There is no such photo, tag or address.",
    "409": "It cannot be done now: nothing to undo, a job is running, the project needs a step first.",
    "412": "Another project is reviewed here.",
    "413": "The body is too long.",
    "414": "The address is too long.",
    "415": "The body is not JSON.",
    "416": "A video has no such part.",
    "421": "The server has another name.",
    "503": "The project is busy; try again.",
    "507": "The disk is full; nothing was saved.",
}


class ErrorAnswer(TypedDict):
    """Why a request was refused."""

    error: str


class HealthAnswer(TypedDict):
    """The server answers."""

    status: Literal["ok"]


def openapi(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """Return the description as JSON can hold it.

    Parameters
    ----------
    operations : iterable of Operation
        The API.
    version : str
        The version of tagloom.
    """
    schemas: dict[str, Any] = {}
    error = {"content": {"application/json": {"schema": _schema(ErrorAnswer, schemas)}}}
    responses = {f"Refused{status}": {"description": text, **error} for status, text in _REFUSALS.items()}
    refusals = {status: {"$ref": f"#/components/responses/Refused{status}"} for status in _REFUSALS}
    paths: dict[str, Any] = {}
    for operation in operations:
        path = re.sub(r":int}", "}", API + operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _described(operation, schemas, refusals)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tagloom",
            "version": version,
            "description": "Photos, tags, suggestions and decisions of one project.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": responses,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _described(operation: Operation, schemas: dict[str, Any], refusals: Mapping[str, Any]) -> dict[str, Any]:
    media, shape = (
        (operation.answer, {"type": "string", "format": "binary"})
        if isinstance(operation.answer, str)
        else ("application/json", _schema(operation.answer, schemas))
    )
    status = "206" if media.startswith("video/") else "200"
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.about,
        "x-role": operation.role,
        "parameters": [*_path_parameters(operation.path), *_query_parameters(operation.query)],
        "responses": {status: {"description": operation.about, "content": {media: {"schema": shape}}}, **refusals},
    }
    if operation.body is not None:
        schema = _body_schema(operation.body, one_of=operation.one_of)
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if operation.path == HEALTH:
        found["security"] = []
    return found


def _path_parameters(path: str) -> list[dict[str, Any]]:
    schema = {"type": "integer", "minimum": 1, "maximum": LARGEST}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema | ({"minimum": 0} if name == "frame" else {})}
        for name in re.findall(r"{(\w+):int}", path)
    ]


def _query_parameters(fields: Mapping[str, Field]) -> list[dict[str, Any]]:
    found = []
    for name, field in fields.items():
        schema = field.described()
        lists = {"style": "form", "explode": False} if schema.get("type") == "array" else {}
        found.append(
            {"name": name, "in": "query", "required": field.required, "description": field.about, "schema": schema}
            | lists
        )
    return found


def _body_schema(fields: Mapping[str, Field], *, one_of: bool) -> dict[str, Any]:
    required = [name for name, field in fields.items() if field.required]
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: field.described() | {"description": field.about} for name, field in fields.items()},
        "additionalProperties": False,
    }
    if one_of:
        found |= {"minProperties": 1, "maxProperties": 1}
    return found | ({"required": required} if required else {})


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; those with a name are entered once."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        if kind.__name__ not in schemas:
            schemas[kind.__name__] = {}  # types may hold themselves
            schemas[kind.__name__] = _object_schema(kind, schemas)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, schemas) for one in inner]}
    if origin in (list, tuple, Sequence):
        return {"type": "array", "items": _schema(inner[0], schemas)}
    if origin in (dict, Mapping):
        return {"type": "object"}
    raise TypeError(f"no schema for {kind!r}")


def _object_schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    required = (
        sorted(kind.__required_keys__) if is_typeddict(kind) else [item.name for item in dataclasses.fields(kind)]
    )
    return {
        "type": "object",
        "description": (inspect.getdoc(kind) or "").partition("\n")[0],
        "properties": {name: _schema(hints[name], schemas) for name in hints if is_typeddict(kind) or name in required},
        "required": required,
        "additionalProperties": False,
    }
