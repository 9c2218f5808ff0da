"""The description of the API: it names every route, and what routes answer has the shapes that it says."""

import re

import pytest

from tagloom._version import __version__
from tagloom.web.openapi import openapi
from tagloom.web.routes import OPERATIONS

DOCUMENT = openapi(OPERATIONS, __version__)
SCHEMAS = DOCUMENT["components"]["schemas"]
KINDS = {"integer": int, "string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}


def fits(value, schema):
    """Tell whether a value has the shape of a schema, as far as this API uses JSON Schema."""
    if "$ref" in schema:
        return fits(value, SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kind = schema.get("type")
    if kind == "number":
        return type(value) in (int, float)
    if kind is not None and type(value) is not KINDS[kind]:
        return False
    if kind == "array":
        return all(fits(item, schema["items"]) for item in value)
    if kind == "object" and "properties" in schema:
        known = schema["properties"]
        return (
            set(schema["required"]) <= value.keys() <= known.keys()
            and all(fits(item, known[name]) for name, item in value.items())
        )  # fmt: skip
    return True


def test_every_operation_is_described():
    described = {
        (method, path): found["operationId"]
        for path, several in DOCUMENT["paths"].items()
        for method, found in several.items()
    }
    assert described == {
        (one.method.lower(), "/api/v1" + re.sub(":int}", "}", one.path)): one.name for one in OPERATIONS
    }
    assert len(set(described.values())) == len(described)
    assert DOCUMENT["openapi"] == "3.1.0"
    for one in OPERATIONS:
        assert one.about.endswith(".")
        for field in (*one.query.values(), *(one.body or {}).values()):
            assert field.about.endswith(".")


def test_all_references_lead_somewhere():
    assert set(re.findall(r"#/components/schemas/(\w+)", str(DOCUMENT))) == set(SCHEMAS)


@pytest.mark.medium
def test_answers_have_the_shapes_that_are_described(client):
    done = {}

    def ask(method, path, body=None, **values):
        address = path.format(**values)
        answer = client.get(address) if method == "get" else client.post(address, json=body or {})
        assert answer.status_code == 200, (address, answer.text)
        known = path.partition("?")[0]
        operation = DOCUMENT["paths"][known][method]
        content = operation["responses"]["200"]["content"]
        media = answer.headers["content-type"].partition(";")[0]
        assert media in content
        done[operation["operationId"]] = operation
        if media != "application/json":
            return answer.content
        assert fits(answer.json(), content[media]["schema"]), (path, answer.text[:2000])
        return answer.json()

    tag = ask("post", "/api/v1/tags", {"text": "seen here"})["id"]
    other = ask("post", "/api/v1/tags", {"text": "another"})["id"]
    batch = ask("post", "/api/v1/decide", {"photos": [3, 4], "tags": [tag], "state": 1})["batch"]
    ask("post", "/api/v1/tags", {"text": "seen here too"})
    ask("post", "/api/v1/tags", {"text": "seen, here, there"})
    for query in ("project", "progress", "history", "history?who=me", "write/plan", "thresholds", "jobs", "health"):
        ask("get", f"/api/v1/{query}")
    for query in ("openapi.json", "photos", "photos?sort=score&n=3&first=2", "ranking", "cells?ids=1,2,3", "teach"):
        ask("get", f"/api/v1/{query}")
    for path in ("lens/{tag}", "photo/{id}", "photo/{id}/thumb", "photo/{id}/large", "photo/{id}/why/{tag}"):
        ask("get", "/api/v1/" + path, id=1, tag=1)
    paths = [one["path"] for one in ask("get", "/api/v1/photos?n=2")["photos"]]
    assert ask("post", "/api/v1/photos/find", {"paths": [*paths, "none.jpg"]})["ids"][2] is None
    ask("post", "/api/v1/undo", {"batch": batch})
    ask("post", "/api/v1/redo")
    ask("post", "/api/v1/threshold", {"threshold": 0.5})
    for change in ({"rename": "heaven"}, {"alias": "sky above"}, {"parent": other}):
        ask("post", "/api/v1/tags/{id}", change, id=tag)
    job = ask("post", "/api/v1/jobs", {"kind": "scan"})["job"]
    ask("post", "/api/v1/jobs/{id}/cancel", id=job["id"])
    ask("get", "/api/v1/jobs")
    # News are sent as long as one listens; of videos see test_videos.py.
    assert {one.name for one in OPERATIONS} - set(done) == {"events", "frame", "moments", "video"}


@pytest.mark.medium
def test_lists_of_photos_are_the_ranking_in_parts(client):
    whole = client.get("/api/v1/photos?n=1000").json()
    assert whole["total"] == len(whole["photos"]) == 20
    parts = [client.get(f"/api/v1/photos?first={first}&n=7").json()["photos"] for first in (0, 7, 14, 21)]
    assert [one for part in parts for one in part] == whole["photos"]
    found = client.post("/api/v1/photos/find", json={"paths": [one["path"] for one in whole["photos"]]}).json()
    assert found["ids"] == [one["id"] for one in whole["photos"]]
    scored = client.get("/api/v1/photos?sort=score&tag=1").json()["photos"]
    assert [one["value"] for one in scored] == sorted((one["value"] for one in scored), reverse=True)
