import json
import os

import pytest

from tagloom.exceptions import ModelError
from tagloom.features import EncoderSettings

MINIMAL = """
name = "tiny"
model = "tiny.onnx"
[input]
size = 8
"""
COMPLETE = """
name = "dinov2-small"
model = "models/dinov2.onnx"
[input]
name = "pixel_values"
size = 224
resize = 256
scale = 0.00392156862745098
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]
channels = "BGR"
layout = "NHWC"
[output]
name = "last_hidden_state"
pooling = "cls"
"""


@pytest.fixture
def write(tmp_path):
    def write_file(text):
        (tmp_path / "encoder.toml").write_text(text)
        return tmp_path / "encoder.toml"

    return write_file


def test_defaults(write, tmp_path):
    settings = EncoderSettings.from_toml(write(MINIMAL))
    assert settings == EncoderSettings(name="tiny", model=tmp_path / "tiny.onnx", size=8, resize=8)


def test_every_key(write, tmp_path):
    settings = EncoderSettings.from_toml(write(COMPLETE))
    assert settings.model == tmp_path / "models" / "dinov2.onnx"
    assert (settings.size, settings.resize) == (224, 256)
    assert settings.scale == pytest.approx(1 / 255)
    assert settings.mean == (0.485, 0.456, 0.406)
    assert settings.std == (0.229, 0.224, 0.225)
    assert (settings.channels, settings.layout, settings.pooling) == ("BGR", "NHWC", "cls")
    assert (settings.input_name, settings.output_name) == ("pixel_values", "last_hidden_state")


def test_one_number_stands_for_three(write):
    assert EncoderSettings.from_toml(write(MINIMAL + "mean = 0.5\nstd = 2")).std == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('model = "x"\n[input]\nsize = 8', "lacks the key 'name'"),
        ('name = "x"\n[input]\nsize = 8', "lacks the key 'model'"),
        ('name = "x"\nmodel = "x"', r"lacks the key 'size' in \[input\]"),
        (MINIMAL.replace('tiny"', 'Tiny Net"', 1), "'name' should be text of the form .*, got 'Tiny Net'"),
        (MINIMAL.replace("8", "0"), r"'size' in \[input\] should be a whole number from 1 to 4096, got 0"),
        (MINIMAL.replace("8", "8.0"), "whole number"),
        (MINIMAL.replace("8", "true"), "whole number"),
        (MINIMAL + "resize = 7", "'resize' .* from 8 to 4096, got 7"),
        (MINIMAL + "resize = 1000000", "'resize' .* from 8 to 4096, got 1000000"),
        (MINIMAL.replace("8", "5000"), "'size' .* from 1 to 4096, got 5000"),
        (MINIMAL + "mean = [1, 2]", r"'mean' .* 3 numbers, got \[1, 2\]"),
        (MINIMAL + "mean = [1, 2, inf]", "3 numbers"),
        (MINIMAL + "std = [1, 0, 1]", "3 positive numbers"),
        (MINIMAL + 'channels = "rgb"', "one of RGB, BGR, got 'rgb'"),
        (MINIMAL + 'layout = "CHW"', "one of NCHW, NHWC"),
        (MINIMAL + '[output]\npooling = "max"', "one of none, cls, mean"),
        (MINIMAL + "crop = 3", r"unknown keys \['crop'\] in \[input\]; known: name, size"),
        ("colour = 1\n" + MINIMAL, r"unknown keys \['colour'\] in the top level"),
        ('name = "x"\nmodel = "x"\ninput = 3', "'input' should be a table, got 3"),
        ("name = ", "not valid TOML"),
    ],
)
def test_errors_say_what_was_expected(write, text, message):
    with pytest.raises(ModelError, match=message):
        EncoderSettings.from_toml(write(text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelError, match="cannot read"):
        EncoderSettings.from_toml(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ModelError, match="not valid TOML"):
        EncoderSettings.from_toml(tmp_path / "latin.toml")


@pytest.mark.parametrize("name", ["encoder.toml", "tiny.onnx"])
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path, name):
    (tmp_path / "encoder.toml").write_text(MINIMAL.replace('model = "', 'model = "./'))
    model = EncoderSettings.from_toml(tmp_path / "encoder.toml").model
    target = tmp_path / name if name == "encoder.toml" else model
    target.unlink(missing_ok=True)
    os.mkfifo(target)
    with pytest.raises(ModelError, match="expected a file"):
        EncoderSettings.from_toml(tmp_path / "encoder.toml")


PREPARED = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.2, 0.2]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}, ("centre", 224, 256)),
        ({"size": 224, "do_center_crop": True, "crop_size": 224}, ("centre", 224, 224)),
        ({"size": {"height": 384, "width": 384}, "do_center_crop": False}, ("squash", 384, 384)),
        ({"size": {"height": 224, "width": 224}, "resample": 3}, ("squash", 224, 224)),
    ],
)
def test_preprocessor_config_is_read(write, tmp_path, given, expected):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PREPARED | given))
    settings = EncoderSettings.from_toml(write('name = "tiny"\nmodel = "tiny.onnx"'))
    assert (settings.view, settings.size, settings.resize) == expected
    assert settings.mean == (0.5, 0.4, 0.3)
    assert settings.std == (0.2, 0.2, 0.2)
    own = EncoderSettings.from_toml(write(MINIMAL + "mean = 0.1\nview = 'centre'\nresize = 9"))
    assert (own.mean, own.size, own.resize, own.std) == ((0.1, 0.1, 0.1), 8, 9, (0.2, 0.2, 0.2))


def test_preprocessor_config_without_scaling(write, tmp_path):
    given = {"do_rescale": False, "do_normalize": False, "resample": 2} | PREPARED
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(given))
    settings = EncoderSettings.from_toml(write(MINIMAL))
    assert (settings.scale, settings.mean, settings.filter) == (1.0, (0.0, 0.0, 0.0), "bilinear")


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "[1]",
        '{"size": {"height": 3, "width": 4}}',
        '{"rescale_factor": "x"}',
        '{"image_mean": 1, "image_std": {}}',
    ],
)
def test_a_wrong_preprocessor_config(write, tmp_path, text):
    (tmp_path / "preprocessor_config.json").write_text(text)
    with pytest.raises(ModelError):
        EncoderSettings.from_toml(write(MINIMAL))


def test_the_text_section(write, tmp_path):
    text = '[text]\nmodel = "t.onnx"\ntokenizer = "tokenizer.json"\nlength = 64\npad = 1\nlower = true\n'
    text += 'templates = ["a {}"]\n'
    found = EncoderSettings.from_toml(write(MINIMAL + text + "scale = 10")).text
    assert (found.model, found.tokenizer) == (tmp_path / "t.onnx", tmp_path / "tokenizer.json")
    assert (found.length, found.pad, found.lower, found.templates, found.scale) == (64, 1, True, ("a {}",), 10.0)
    for wrong in ('templates = ["a"]', "templates = []", "lower = 1", "length = -1", "scale = 0", "colour = 1"):
        key = wrong.split(" = ")[0]
        kept = "\n".join(line for line in text.splitlines() if not line.startswith(key))
        with pytest.raises(ModelError, match=key):
            EncoderSettings.from_toml(write(f"{MINIMAL}{kept}\n{wrong}"))
