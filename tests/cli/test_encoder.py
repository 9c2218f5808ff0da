"""``tagloom encoder``: files of an export become an encoder with a name, which commands take."""

import json

import pytest

from tests.made_towers import write_export, write_settings


@pytest.fixture(autouse=True)
def _own_encoders(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config"))


@pytest.mark.parametrize("kind", ["folder", "one file", "toml", "onnx"])
def test_add_list_and_test(tagloom, tmp_path, scenes, tokenizers, kind):
    folder = write_export(tmp_path / "My Export", one_file=kind == "one file")
    source = {"toml": folder / "colours.toml", "onnx": folder / "vision_model.onnx"}.get(kind, folder)
    if kind == "toml":
        write_settings(folder)
    name = {"toml": "colours", "onnx": "vision_model"}.get(kind, "my-export")
    added = tagloom("encoder", "add", source)
    assert added.out.startswith(f"Added {name}: 3 columns,")
    assert ("text tower" in added.out) == (kind != "onnx")
    assert f"tagloom train --encoder {name}" in added.out
    (listed,) = tagloom("encoder", "list", "--json").json["encoders"]
    assert (listed["name"], listed["reads_text"], listed["problem"]) == (name, kind != "onnx", "")
    photo = scenes / "scene_00000.jpg"
    tried = tagloom("encoder", "test", name, photo, "--json").json
    assert tried["n_columns"] == 3
    ((told, words),) = tried["words"]
    assert told == str(photo)
    assert bool(words) == (kind != "onnx")
    assert "3 columns" in tagloom("encoder", "test", name).out


def test_a_name_stands_for_the_encoder_in_every_command(tagloom, tmp_path, scenes, tokenizers):
    tagloom("encoder", "add", write_export(tmp_path / "export"), "--name", "colours")
    done = tagloom("extract", scenes, "--out", tmp_path / "features", "--groups", "deep", "--encoder", "colours", "-q")
    assert done.code == 0
    groups = json.loads((tmp_path / "features" / "groups.json").read_text())["groups"]
    assert [(one["name"], one["embedding"]) for one in groups] == [("colours", True)]


def test_what_does_not_run_is_not_kept(tagloom, tmp_path, tokenizers):
    folder = write_export(tmp_path / "export")
    (folder / "tokenizer.json").write_text("{}")
    assert tagloom("encoder", "add", folder).code == 1
    (folder / "preprocessor_config.json").unlink()
    (folder / "vision_model.onnx").write_bytes(b"no model")
    done = tagloom("encoder", "add", folder)
    assert done.code == 1
    assert "not an ONNX model" in done.err
    assert "no vision_model.onnx" in tagloom("encoder", "add", tmp_path).err
    assert "No encoder was added" in tagloom("encoder", "list").out
    assert list((tmp_path / "config" / "encoders").iterdir()) == []


def test_an_encoder_whose_model_has_gone(tagloom, tmp_path, tokenizers):
    folder = write_export(tmp_path / "export")
    tagloom("encoder", "add", folder)
    (folder / "vision_model.onnx").unlink()
    assert "is not there" in tagloom("encoder", "list").out
    assert tagloom("encoder", "test", "export").code == 1
    assert "cannot read 'unheard'" in tagloom("encoder", "test", "unheard").err
