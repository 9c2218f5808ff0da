"""Encoders with a text tower, as tiny generated ONNX files that compare photos and words by colour."""

import numpy as np
import pytest
from scipy.special import logsumexp

from tagloom.exceptions import ModelError
from tagloom.features import OnnxEncoder
from tagloom.features.network.everyday import EVERYDAY_WORDS
from tests.made_towers import COLOURS, PAD, SIZE, write_export, write_settings


@pytest.fixture
def photos(make_photo):
    shades = np.full((3, SIZE, SIZE, 3), 20, dtype=np.uint8)
    for place in range(3):
        shades[place, :, :, place] = 240
    return [make_photo(square_4=picture) for picture in shades]


def opened(folder, **options):
    return OnnxEncoder.from_toml(write_settings(folder, **options), n_threads=1)


def test_everyday_words_are_each_there_once():
    assert len(set(EVERYDAY_WORDS)) == len(EVERYDAY_WORDS)


@pytest.mark.parametrize("one_file", [False, True])
@pytest.mark.parametrize("text", ["", f"length = 6\npad = {PAD}\nlower = true"])
def test_words_rank_photos(tmp_path, photos, tokenizers, one_file, text):
    """One file with both towers is cut in two; prompts that are filled up give what short ones do."""
    encoder = opened(write_export(tmp_path / "towers", one_file=one_file), one_file=one_file, text=text)
    rows = encoder.compute(photos)
    np.testing.assert_allclose(rows[0], 2 * np.array([240, 20, 20]) / 255, atol=1e-6)
    log_odds = encoder.text.log_odds(rows, ["red", "Colours|green", "blue"])
    np.testing.assert_array_equal(log_odds.argmax(axis=0), [0, 1, 2])
    np.testing.assert_array_equal(log_odds.argmax(axis=1), [0, 1, 2])


def test_log_odds_are_those_of_a_softmax_among_everyday_words(tmp_path, photos, tokenizers):
    encoder = opened(write_export(tmp_path), text="scale = 2.0")
    rows = encoder.compute(photos)
    pictures = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    embedded = {word: np.add(colour, COLOURS["photo"]) for word, colour in COLOURS.items()}
    other = np.add(COLOURS["photo"], 0.1)

    def cosines(vector):
        return 2.0 * pictures @ (vector / np.linalg.norm(vector))

    usual = logsumexp(np.stack([cosines(embedded.get(word, other)) for word in EVERYDAY_WORDS]), axis=0)
    np.testing.assert_allclose(encoder.text.log_odds(rows, ["red"])[:, 0], cosines(embedded["red"]) - usual, atol=1e-4)


def test_names_with_digits_say_nothing(tmp_path, photos, tokenizers):
    encoder = opened(write_export(tmp_path))
    found = encoder.text.log_odds(encoder.compute(photos), ["2019", "red", "IMG_12", "..."])
    np.testing.assert_array_equal(np.isnan(found).all(axis=0), [True, False, True, True])


def test_the_text_tower_does_not_change_the_key_of_the_features(tmp_path, tokenizers):
    folder = write_export(tmp_path)
    key = opened(folder).key
    assert opened(folder, text="scale = 3.0").key == key
    (folder / "plain.toml").write_text(
        'name = "colours"\nmodel = "vision_model.onnx"\n[output]\nname = "image_embeds"\n'
    )
    plain = OnnxEncoder.from_toml(folder / "plain.toml")
    assert plain.key == key
    assert plain.text is None


def test_a_fixed_length_has_to_be_named(tmp_path, photos, tokenizers):
    folder = write_export(tmp_path, length=5)
    with pytest.raises(ModelError, match=r"takes exactly 5 tokens; set length = 5 in \[text\]"):
        opened(folder).text.embed(["red"])
    assert opened(folder, text=f"length = 5\npad = {PAD}").text.embed(["red"]).shape == (1, 3)


def test_towers_that_do_not_belong_together(tmp_path, photos, tokenizers):
    encoder = opened(write_export(tmp_path))
    with pytest.raises(ModelError, match="gives 3 columns and the image tower 5; name the outputs"):
        encoder.text.check(5)
    tokens = OnnxEncoder.from_toml(_with(tmp_path, 'output = "text_embeds"', 'output = "tokens"'))
    with pytest.raises(ModelError, match=r"shape \[1, 2, 3\]; name one of shape \(n, d\)"):
        tokens.text.embed(["red"])
    logits = OnnxEncoder.from_toml(
        _with(
            write_export(tmp_path / "one", one_file=True),
            "text_model",
            "model",
            'output = "text_embeds"',
            'input = "input_ids"\noutput = "logits_per_image"',
        )
    )
    with pytest.raises(ModelError, match=r"alone, but takes 'input_ids'.*pixel_values"):
        logits.text.embed(["red"])


def _with(folder, *replaced):
    path = write_settings(folder)
    text = path.read_text()
    for before, after in zip(replaced[::2], replaced[1::2], strict=True):
        text = text.replace(before, after)
    path.write_text(text)
    return path


def test_a_tokenizer_that_cannot_be_read(tmp_path, tokenizers):
    folder = write_export(tmp_path)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"is not a tokenizer\.json"):
        opened(folder).text.embed(["red"])
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="cannot read the tokenizer"):
        opened(folder).text.embed(["red"])


def test_without_the_library_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(ModelError, match=r"pip install 'tagloom\[text\]'"):
        opened(write_export(tmp_path)).text.embed(["red"])


def test_what_an_encoder_sees_in_a_photo(tmp_path, photos, tokenizers):
    encoder = opened(write_export(tmp_path))
    seen = encoder.text.seen(encoder.compute(photos)[0])
    assert 1 <= len(seen) <= 3
    assert all(word in EVERYDAY_WORDS and 0.0 < share <= 1.0 for word, share in seen)
