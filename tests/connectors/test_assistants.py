"""Tools for assistants, asked for as their programs do: over standard input and output."""

import asyncio
import json
import sys

import pytest

from tagloom.connectors.assistants import make_server
from tagloom.project.propose import MOST_PROPOSED, proposals
from tagloom.review.session import ReviewSession

pytestmark = pytest.mark.medium

MAY_CHANGE = {"propose_tags", "withdraw_proposals"}


@pytest.fixture
def made(made_up):
    found = made_up(40, 3)
    found.say(range(10))
    return found


def asked(server, *calls):
    """Return the answers of tools, over a client of the official package."""
    from mcp.client import Client

    async def ask():
        async with Client(server) as client:
            return [await client.call_tool(name, values) for name, values in calls]

    return asyncio.run(ask())


def content(answer):
    assert not answer.is_error, answer.content
    return answer.structured_content if answer.structured_content is not None else json.loads(answer.content[0].text)


def test_tools_look_and_propose_and_do_nothing_else(mcp, made):
    from mcp.client import Client

    async def listed():
        async with Client(make_server(made.project)) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool.annotations for tool in asyncio.run(listed())}
    assert set(tools) == MAY_CHANGE | {
        "project_status", "list_tags", "search_photos", "photo_tags", "suggestions", "photos_to_label"
    }  # fmt: skip
    assert {name for name, hints in tools.items() if not hints.read_only_hint} == MAY_CHANGE
    assert not any(hints.destructive_hint for hints in tools.values())


def test_a_proposal_is_no_decision_and_waits_for_a_person(mcp, made):
    project, before = made.project, made.project.store.decisions.count()
    server = make_server(project)
    answers = asked(
        server,
        ("propose_tags", {"photos": ["00020.jpg", "00021.jpg"], "tags": ["seen by a machine"]}),
        ("photo_tags", {"photo": "00020.jpg"}),
        ("list_tags", {}),
        ("propose_tags", {"photos": ["00020.jpg"], "tags": ["seen by a machine"]}),
        ("withdraw_proposals", {"photos": ["00021.jpg"], "tags": ["seen by a machine"]}),
        ("propose_tags", {"photos": ["no.jpg"], "tags": ["x"]}),
        ("project_status", {}),
    )
    assert content(answers[0]) == {"n_new": 2, "n_known": 0, "n_decided": 0}
    assert content(answers[1])["proposed"] == ["seen by a machine"]
    assert content(answers[3])["n_known"] == 1
    assert answers[5].is_error
    assert "no.jpg" in answers[5].content[0].text
    assert "folder" not in content(answers[6])
    assert project.store.decisions.count() == before
    photo = int(made.ids[20])
    (pair,) = proposals(project.store)
    assert pair[0] == photo
    with ReviewSession(project, with_looks=False) as session:
        (cell,) = session.cells([photo])["cells"]
        assert [pair[1], None] in cell["suggested"]
        assert session.thresholds()["n"] == 0
        session.decide([photo], [pair[1]], 0, origin="suggested")
        assert session.cells([photo])["cells"][0]["suggested"] == []
    assert proposals(project.store) == []
    assert content(asked(server, ("propose_tags", {"photos": ["00020.jpg"], "tags": ["seen by a machine"]}))[0]) == {
        "n_new": 0, "n_known": 0, "n_decided": 1
    }  # fmt: skip


def test_an_open_page_hears_of_proposals(made):
    with ReviewSession(made.project, with_looks=False) as session:
        made.project.propose(int(made.ids[3]), "from elsewhere")
        session.take_in_proposals()
        ((photo, tag),) = proposals(made.project.store)
        assert [tag, None] in session.photo(photo)["suggested"]
        assert any(one["text"] == "from elsewhere" and one["listed"] for one in session.overview()["tags"])


def test_proposals_of_a_stranger_are_only_those_that_make_sense(made):
    store = made.project.store
    made.project.propose(int(made.ids[3]), "real")
    (real,) = proposals(store)
    for wrong in ([["a", 1]], [[1]], [[True, 1]], [[10**9, 1]], [[1, 10**9]], [[-1, 1]], [7], ["x"]):
        store.settings.set("proposals", wrong)
        assert proposals(store) == []
    store.settings.set("proposals", [list(real)] * (MOST_PROPOSED + 10))
    assert set(proposals(store)) == {real}


def test_the_command_speaks_on_standard_input_and_output(mcp, made):
    from mcp import StdioServerParameters
    from mcp.client import Client
    from mcp.client.stdio import stdio_client

    command = ["-c", "from tagloom.cli import main; main()", "mcp", "--project", str(made.project.folder)]

    async def ask():
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=command))) as client:
            return await client.call_tool("photos_to_label", {"n": 3})

    assert len(content(asyncio.run(ask()))["photos"]) == 3
