"""The Label Studio backend: what it says of tasks and makes of annotations, without Label Studio.

With the real server: ``python -m benchmarks.interop.label_studio``.
"""

import contextlib
import importlib.util
import sys
from unittest import mock

import pytest

from tagloom import RemoteProject
from tagloom.exceptions import InvalidInputError, RemoteError
from tests.pages import ROOT

CONFIG = """<View>
  <Image name="photo" value="$picture"/>
  <Choices name="tags" toName="photo" choice="multiple">
    <Choice value="dog"/><Choice value="sky"/><Choice value="Animals|Cat"/>
  </Choices>
</View>"""
SINGLE = CONFIG.replace('choice="multiple"', 'choice="single-radio"')


@pytest.fixture(scope="module")
def backend():
    path = ROOT / "connectors" / "label_studio" / "backend.py"
    spec = importlib.util.spec_from_file_location("label_studio_backend", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def tag(number, text, p, state=None):
    return {"id": number, "text": text, "p": p, "state": state, "origin": None, "implied": False}


@pytest.fixture
def project():
    """A project whose verbs take what those of `RemoteProject` do."""
    made = mock.create_autospec(RemoteProject, instance=True)
    made.status.return_value = {"model": {"id": 7, "method": "ridge"}, "kind": "probability"}
    made.next_photos.return_value = {"ids": [12, 11], "reason": ""}
    tags = [tag(1, "dog", 0.9), tag(2, "sky", 0.7), tag(3, "Animals|Cat", 0.1), tag(4, "boat", 0.95)]
    photos = {"a.jpg": {"id": 11, "tags": tags, "suggested": [[4, 0.95], [1, 0.9], [2, 0.7]]}}
    photos["b ü.jpg"] = {"id": 12, "tags": [tag(1, "dog", None, 1), tag(2, "sky", 0.8, 0)], "suggested": []}
    photos["c.jpg"] = {"id": 13, "tags": [], "suggested": []}

    def photo(path):
        if path not in photos:
            raise InvalidInputError(f"the project has no photo {path!r}")
        return photos[path]

    made.photo.side_effect = photo
    return made


@pytest.fixture
def made(backend, project):
    return backend.Backend(lambda: contextlib.nullcontext(project), train_every=2)


def task(path, **data):
    return {"id": 1, "data": {"picture": f"/data/local-files/?d={path}", **data}}


def annotated(path, *chosen, config=CONFIG, **more):
    result = [{"type": "choices", "from_name": "tags", "to_name": "photo", "value": {"choices": [*chosen]}}]
    annotation = {"result": result if chosen else [], **more}
    return {"annotation": annotation, "task": task(path), "project": {"label_config": config}}


def test_suggested_and_accepted_tags_of_the_configuration_are_chosen(made):
    first, second, third = made.predict([task("a.jpg"), task("b%20%C3%BC.jpg"), task("c.jpg")], CONFIG)
    (result,) = first["result"]
    assert result == {
        "from_name": "tags",
        "to_name": "photo",
        "type": "choices",
        "value": {"choices": ["dog", "sky"]},
        "score": 0.7,
        "meta": {"kind": "probability", "values": {"dog": 0.9, "sky": 0.7}},
    }
    assert first["model_version"] == made.version() == "ridge 7"
    assert second["result"][0]["value"] == {"choices": ["dog"]}
    assert third["result"] == []


def test_a_score_that_is_no_probability_is_not_given_for_one(made, project):
    project.status.return_value["kind"] = "score"
    (found,) = made.predict([task("a.jpg")], CONFIG)
    assert "score" not in found["result"][0]
    assert found["result"][0]["meta"] == {"kind": "score", "values": {"dog": 0.9, "sky": 0.7}}


def test_what_to_label_next_has_the_lowest_score(made):
    found = made.predict([task("a.jpg"), task("b%20%C3%BC.jpg"), task("c.jpg")], CONFIG)
    assert [one["score"] for one in found] == [0.5, 0.0, 1.0]


def test_a_single_choice_is_the_likeliest(made):
    (found,) = made.predict([task("a.jpg")], SINGLE)
    assert found["result"][0]["value"] == {"choices": ["dog"]}


@pytest.mark.parametrize("path", ["none.jpg", "../a.jpg", ""])
def test_a_task_about_no_photo_of_the_project_gets_no_choices(made, path):
    (found,) = made.predict([task(path)], CONFIG)
    assert found["result"] == []


def test_a_photo_is_found_below_a_folder_and_by_the_file_of_an_export(backend, project):
    made = backend.Backend(lambda: contextlib.nullcontext(project), folder="/holiday/")
    told = [task("holiday/a.jpg"), task("a.jpg"), task("x", file="a.jpg")]
    assert [bool(one["result"]) for one in made.predict(told, CONFIG)] == [True, False, True]


def test_an_annotation_accepts_what_was_chosen_and_rejects_the_rest(made, project):
    made.event("ANNOTATION_CREATED", annotated("a.jpg", "sky"))
    assert project.label.mock_calls == [
        mock.call((), add=("dog", "sky", "Animals|Cat")),
        mock.call("a.jpg", add=["sky"], remove=["dog", "Animals|Cat"]),
    ]
    made.event("ANNOTATION_UPDATED", annotated("a.jpg"))
    assert project.label.mock_calls[-1] == mock.call("a.jpg", add=[], remove=["dog", "sky", "Animals|Cat"])


def test_a_skipped_task_says_nothing(made, project):
    made.event("ANNOTATION_CREATED", annotated("a.jpg", "dog", was_cancelled=True))
    made.event("ANNOTATIONS_DELETED", {"annotations": [{"id": 1}]})
    project.label.assert_not_called()
    project.train.assert_not_called()


def test_every_few_labels_and_the_button_train(made, project):
    project.train.side_effect = RemoteError("another job is at work", 409)  # is no reason to stop
    for name in ("a.jpg", "c.jpg", "a.jpg"):
        made.event("ANNOTATION_CREATED", annotated(name, "dog"))
    assert project.train.call_count == 1
    made.event("START_TRAINING", {})
    assert project.train.call_count == 2


@pytest.mark.parametrize(
    ("config", "message"),
    [("<View", "no XML"), ("<View><Image name='a' value='$a'/></View>", "no <Choices>"), ("<View/>", "no <Choices>")],
)
def test_a_configuration_without_choices_is_refused(made, config, message):
    with pytest.raises(InvalidInputError, match=message):
        made.predict([], config)


def test_without_a_token_it_says_how_to_make_one(backend, monkeypatch, tmp_path):
    monkeypatch.delenv("TAGLOOM_TOKEN_FILE", raising=False)
    with pytest.raises(InvalidInputError, match="tagloom serve user add"):
        backend.Backend.from_environment()
    (tmp_path / "token").write_text("secret\n", encoding="ascii")
    monkeypatch.setenv("TAGLOOM_TOKEN_FILE", str(tmp_path / "token"))
    with mock.patch("tagloom.connect") as connect:
        backend.Backend.from_environment()._connect()
    connect.assert_called_once_with("http://127.0.0.1:8765", "secret")
