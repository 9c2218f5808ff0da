"""`tagloom sync immich` against Immich's published schema: ``python -m benchmarks.interop.immich --schema FILE``.

FILE is ``open-api/immich-openapi-specs.json`` of a release of Immich. A stub takes the requests: each must be an
operation of the schema, with parameters and a body that its schemas allow and no others, and with a permission that
the how-to page asks for. What the stub answers fits the schema, too. No Immich runs here.
"""

import argparse
import http.server
import io
import json
import os
import re
import sys
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from PIL import Image

from benchmarks.datasets import ROOT
from benchmarks.interop.serving import record

N_ASSETS = 7
KEY = "key of the stub"
PAGE = ROOT / "docs" / "how-to" / "immich.md"


class Schema:
    """Requests and answers, as an OpenAPI 3.0 file describes them."""

    def __init__(self, text: str) -> None:
        self.described = json.loads(text)
        self._rules = _as_json_schema(self.described)

    def operation(self, method: str, path: str) -> tuple[str, dict[str, Any], dict[str, str]] | None:
        """Return the path's template, what is known of it, and the parts of the path."""
        for template, several in self.described["paths"].items():
            pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template)
            found = re.fullmatch(pattern, path)
            if found and method.lower() in several:
                return template, several[method.lower()], found.groupdict()
        return None

    def problems(self, schema: Mapping[str, Any], value: Any, *, strict: bool = False) -> list[str]:
        """Return what is wrong with a value; strict: also fields that the schema does not name."""
        rules = {**_as_json_schema(schema), "components": self._rules["components"]}
        validator = Draft202012Validator(rules, format_checker=FormatChecker())
        found = [error.message[:200] for error in validator.iter_errors(value)]
        if strict and isinstance(value, dict):
            found += [f"unknown field {name}" for name in value.keys() - self.resolved(schema)["properties"].keys()]
        return found

    def resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow a reference."""
        while "$ref" in schema:
            schema = self.described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def example(self, schema: Mapping[str, Any]) -> Any:
        """Return the least value that a schema allows."""
        schema = self.resolved(schema)
        for of in ("allOf", "oneOf", "anyOf"):
            if of in schema:
                return self.example(schema[of][0])
        if "enum" in schema:
            return schema["enum"][0]
        if schema.get("nullable"):
            return None
        kind = schema.get("type", "object")
        if kind == "object":
            return {name: self.example(schema["properties"][name]) for name in schema.get("required", ())}
        if kind == "string":
            formats = {"uuid": str(uuid.uuid4()), "date-time": "2026-01-01T00:00:00.000Z"}
            return formats.get(schema.get("format", ""), "text")
        return {"array": [], "boolean": False, "integer": 0, "number": 0}[kind]


class Stub:
    """Photos and tags; every request is held against the schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.assets = [str(uuid.uuid4()) for _ in range(N_ASSETS)]
        self.tags: dict[str, str] = {}
        self.tagged: set[tuple[str, str]] = set()
        self.asked: Counter[str] = Counter()
        self.permissions: set[str] = set()
        self.problems: list[str] = []

    def tag(self, value: str) -> str:
        """Return the id of a tag; it is made where it is not there."""
        known = {text: number for number, text in self.tags.items()}
        number = known.get(value) or str(uuid.uuid4())
        self.tags[number] = value
        return number

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any, key: str) -> tuple[int, Any]:
        """Answer a request, and note what the schema does not allow."""
        found = self.schema.operation(method, path.removeprefix("/api"))
        if found is None or key != KEY or not path.startswith("/api/"):
            self.problems.append(f"{method} {path}: no such operation")
            return 404, {}
        template, operation, parts = found
        name = f"{method} {template}"
        self.asked[name] += 1
        self.permissions.add(operation.get("x-immich-permission", ""))
        given = {("path", part): value for part, value in parts.items()}
        given |= {("query", part): values[0] for part, values in query.items()}
        known = {(one["in"], one["name"]): one for one in operation.get("parameters", ())}
        for place, value in given.items():
            rules = known[place]["schema"] if place in known else {"enum": []}
            self.problems += [f"{name}, {place[1]}: {one}" for one in self.schema.problems(rules, value)]
        self.problems += [
            f"{name}: without {place[1]}" for place in known if known[place].get("required") and place not in given
        ]
        if ("requestBody" in operation) != (body is not None):
            self.problems.append(f"{name}: a body where none is, or none where one is")
        elif body is not None:
            rules = operation["requestBody"]["content"]["application/json"]["schema"]
            self.problems += [f"{name}: {one}" for one in self.schema.problems(rules, body, strict=True)]
        answer = self._play(name, parts, body)
        if not isinstance(answer, bytes):
            rules = operation["responses"]["200"]["content"]["application/json"]["schema"]
            self.problems += [f"answer to {name}: {one}" for one in self.schema.problems(rules, answer)]
        return 200, answer

    def _play(self, name: str, parts: dict[str, str], body: Any) -> Any:
        schemas = self.schema.described["components"]["schemas"]
        if name == "GET /assets/{id}/thumbnail":
            file = io.BytesIO()
            Image.new("RGB", (64, 48), (self.assets.index(parts["id"]) * 30, 90, 120)).save(file, "JPEG")
            return file.getvalue()
        if name == "POST /search/metadata":
            wanted = body.get("tagIds") or []
            found = [one for one in self.assets if all((one, tag) in self.tagged for tag in wanted)]
            size = min(body["size"], 3)  # several pages
            first = (body["page"] - 1) * size
            page = self.schema.example(schemas["SearchResponseDto"])
            items = [self.schema.example(schemas["AssetResponseDto"]) | {"id": one} for one in found]
            after = str(body["page"] + 1) if first + size < len(found) else None
            page["assets"] |= {"items": items[first : first + size], "nextPage": after}
            return page
        if name == "GET /tags":
            return [self._described(number) for number in self.tags]
        if name == "PUT /tags":
            return [self._described(self.tag(value)) for value in body["tags"]]
        if name in ("PUT /tags/{id}/assets", "DELETE /tags/{id}/assets"):
            done = []
            for one in body["ids"]:
                pair = (one, parts["id"])
                is_new = (pair not in self.tagged) == name.startswith("PUT")
                (self.tagged.add if name.startswith("PUT") else self.tagged.discard)(pair)
                done.append({"id": one, "success": is_new} | ({} if is_new else {"error": "duplicate"}))
            return done
        raise ValueError(f"the stub does not play {name}")

    def _described(self, number: str) -> dict[str, Any]:
        value = self.tags[number]
        told = self.schema.example(self.schema.described["components"]["schemas"]["TagResponseDto"])
        return told | {"id": number, "value": value, "name": value.rpartition("/")[2]}


def run(folder: Path, text: str) -> dict[str, Any]:
    """Synchronise to and fro, and return what the schema says of all requests."""
    from tagloom import Project
    from tagloom.connectors.immich import ImmichServer, sync_immich

    os.environ["TAGLOOM_CONFIG"] = str(folder / "config")
    stub = Stub(Schema(text))
    for asset in stub.assets[:3]:
        stub.tagged.add((asset, stub.tag("Animals/Dog")))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts, n = urlsplit(self.path), int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(n)) if n else None
            key = self.headers.get("x-api-key", "")
            status, found = stub.answer(self.command, parts.path, parse_qs(parts.query), body, key)
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    photos = folder / "photos"
    photos.mkdir()
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server,
        Project.init(photos, flags={"descriptors": "color", "n_workers": 1}) as project,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        immich = ImmichServer(f"http://127.0.0.1:{server.server_port}", KEY)
        first = sync_immich(project, immich)
        names = [f"immich/{asset}.jpg" for asset in stub.assets]
        project.label(names[3:6], add=["Places|Rome", "new"])
        second = sync_immich(project, immich)
        project.label(names[4], remove="new")
        third = sync_immich(project, immich)
        immich.close()
        server.shutdown()
    there = {(stub.assets.index(asset), stub.tags[tag]) for asset, tag in stub.tagged}
    wanted = (
        {(i, "Animals/Dog") for i in (0, 1, 2)} | {(i, "Places/Rome") for i in (3, 4, 5)} | {(3, "new"), (5, "new")}
    )
    asked_for = set(re.findall(r"`(\w+\.\w+)`", PAGE.read_text(encoding="utf-8")))
    return {
        "version": stub.schema.described["info"]["version"],
        "requests": dict(sorted(stub.asked.items())),
        "problems": stub.problems,
        "permissions": sorted(stub.permissions),
        "permissions that the page leaves out": sorted(stub.permissions - asked_for),
        "tags as they should be": there == wanted,
        "fetched, imported, written, taken out": [
            first.n_fetched,
            first.n_imported,
            second.n_written,
            third.n_taken_out,
        ],
    }


def _as_json_schema(value: Any) -> Any:
    """Turn what OpenAPI 3.0 says in its own way into JSON Schema."""
    if isinstance(value, list):
        return [_as_json_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _as_json_schema(one) for name, one in value.items() if name not in ("nullable", "example")}
    if value.get("nullable") is True:
        return {"anyOf": [found, {"type": "null"}]}
    return found


def main(argv: list[str] | None = None) -> int:
    """Run the check and record it."""
    parser = argparse.ArgumentParser(prog="benchmarks.interop.immich", description=__doc__)
    parser.add_argument("--schema", type=Path, required=True, help="immich-openapi-specs.json of a release")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="immich-") as folder:
        found = run(Path(folder), arguments.schema.read_text(encoding="utf-8"))
    n = sum(found["requests"].values())
    is_right = not found["problems"] and not found["permissions that the page leaves out"]
    record(
        "immich",
        "Immich",
        "tagloom sync immich --url URL",
        {"Immich's schema": found["version"]},
        "a stub that holds requests and answers against the published OpenAPI schema; no Immich runs",
        f"{n} requests to {len(found['requests'])} operations, {len(found['problems'])} against the schema",
        **found,
    )
    return 0 if is_right and found["tags as they should be"] else 1


if __name__ == "__main__":
    sys.exit(main())
