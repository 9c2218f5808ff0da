"""Requests that no page would send: whatever comes, the answer is no failure of the server."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEXT = st.text(max_size=20)
NUMBER = st.one_of(st.integers(-3, 30), st.integers(), st.sampled_from([2**31 - 1, 2**31, 2**63, 10**30]))
WORDS = st.sampled_from(
    [
        "path",
        "score",
        "uncertainty",
        "time",
        "cluster",
        "any",
        "has",
        "suggested",
        "rejected",
        "unreviewed",
        "conflicts",
    ]
)
VALUE = st.one_of(
    NUMBER.map(str), TEXT, WORDS, st.sampled_from(["2024-01-01", "9999-12-31", "0001-01-01", "1,2,3", "0", "1"])
)
NAMES = ["sort", "tag", "state", "folder", "since", "until", "q", "similar", "stacks", "ids", "n", "limit", "v"]
QUERY = st.dictionaries(st.one_of(st.sampled_from(NAMES), TEXT), VALUE, max_size=4)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBER, st.floats(), st.text(st.characters(), max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=8,
)
IDS = st.lists(NUMBER, max_size=5)
BODY = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {"photos": IDS, "tags": IDS, "state": st.sampled_from([1, 0, -1])},
        optional={"origin": JSON, "paired": st.booleans()},
    ),
    st.fixed_dictionaries({"text": st.text(max_size=30)}),
    st.fixed_dictionaries({"batch": NUMBER}),
    st.dictionaries(st.sampled_from(["rename", "alias", "merge_into", "parent"]), st.one_of(NUMBER, TEXT), max_size=2),
    st.fixed_dictionaries({"kind": st.sampled_from(["export", "", "x"])}, optional={"format": TEXT, "photos": JSON}),
)
READ = ["ranking", "cells", "project", "progress", "history", "teach", "write/plan", "jobs"]
WRITE = ["decide", "tags", "tags/{}", "undo", "redo", "jobs", "jobs/{}/cancel"]
READ_ONE = ["api/lens/{}", "api/photo/{}", "api/photo/{}/why/{}", "thumb/{}", "photo/{}", "tag/{}", "static/{}"]
ADDRESS = st.one_of(
    st.sampled_from(READ).map("/api/{}".format),
    st.builds(lambda path, a, b: "/" + path.format(a, b), st.sampled_from(READ_ONE), NUMBER, NUMBER),
)
CHANGE = st.builds(lambda path, number: "/api/" + path.format(number), st.sampled_from(WRITE), NUMBER)
STEP = st.one_of(st.tuples(st.just("GET"), ADDRESS, QUERY), st.tuples(st.just("POST"), CHANGE, BODY))
SHARED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


def _try(client, step):
    method, address, content = step
    if method == "GET":
        answer = client.get(address, params=content)
    else:
        body = json.dumps(content).encode("utf-8", errors="replace")
        answer = client.post(address, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500, (step, answer.text)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if answer.status_code >= 400:
        assert answer.json()["error"]


@settings(max_examples=200, **SHARED)
@given(step=STEP)
def test_no_request_fails(shared_client, step):
    _try(shared_client, step)


@pytest.mark.slow
@settings(max_examples=2500, **SHARED)
@given(step=STEP)
def test_no_request_fails_at_length(shared_client, step):
    _try(shared_client, step)
