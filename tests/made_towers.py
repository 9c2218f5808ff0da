"""Tiny image and text towers as ONNX files: photos and words are compared by their colour."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 4
#: Words of the tokenizer, and the colour that the text tower gives each; 0 stands for all others.
COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "photo": (0.2, 0.2, 0.2)}
PAD = 99

IMAGE_NODES = [
    helper.make_node("ReduceMean", ["pixel_values"], ["colour"], axes=[2, 3], keepdims=0),
    helper.make_node("Mul", ["colour", "two"], ["image_embeds"]),
]
TEXT_NODES = [
    helper.make_node("Mul", ["input_ids", "attention_mask"], ["known_ids"]),
    helper.make_node("Gather", ["table", "known_ids"], ["tokens"], axis=0),
    helper.make_node("ReduceSum", ["tokens", "axis"], ["text_embeds"], keepdims=0),
]
LOGIT_NODES = [
    helper.make_node("Transpose", ["text_embeds"], ["turned"], perm=[1, 0]),
    helper.make_node("MatMul", ["image_embeds", "turned"], ["logits_per_image"]),
]
TABLE = np.array([(0.1, 0.1, 0.1), *COLOURS.values()], dtype=np.float32)
CONSTANTS = {
    "two": np.array(2.0, dtype=np.float32),
    "table": TABLE,
    "axis": np.array([1], dtype=np.int64),
}
INPUTS = {
    "pixel_values": (TensorProto.FLOAT, ["n", 3, SIZE, SIZE]),
    "input_ids": (TensorProto.INT64, ["m", "length"]),
    "attention_mask": (TensorProto.INT64, ["m", "length"]),
}


def save(path, nodes, inputs, outputs, length="length"):
    """Write a model of some of the nodes."""
    used = {name for node in nodes for name in node.input}
    shapes = {
        name: (kind, [size if size != "length" else length for size in shape]) for name, (kind, shape) in INPUTS.items()
    }
    graph = helper.make_graph(
        nodes,
        "towers",
        [helper.make_tensor_value_info(name, *shapes[name]) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in CONSTANTS.items() if name in used],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def write_tokenizer(path):
    """Write a tokenizer.json that knows some colours."""
    vocabulary = {"[UNK]": 0} | {word: place for place, word in enumerate(COLOURS, 1)}
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": [],
                "normalizer": None,
                "pre_tokenizer": {"type": "Whitespace"},
                "post_processor": None,
                "decoder": None,
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
            }
        )
    )


def write_export(folder, *, one_file=False, length="length"):
    """Write what an exporter writes: both towers in a file of their own or in one, and the files beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    if one_file:
        nodes = [*IMAGE_NODES, *TEXT_NODES, *LOGIT_NODES]
        save(folder / "model.onnx", nodes, tuple(INPUTS), ("logits_per_image", "text_embeds", "image_embeds"), length)
    else:
        save(folder / "vision_model.onnx", IMAGE_NODES, ("pixel_values",), ("image_embeds",))
        save(folder / "text_model.onnx", TEXT_NODES, ("input_ids", "attention_mask"), ("text_embeds",), length)
    write_tokenizer(folder / "tokenizer.json")
    (folder / "preprocessor_config.json").write_text(
        json.dumps(
            {
                "do_center_crop": True,
                "crop_size": {"height": SIZE, "width": SIZE},
                "size": {"shortest_edge": SIZE},
                "do_normalize": True,
                "image_mean": [0.0, 0.0, 0.0],
                "image_std": [1.0, 1.0, 1.0],
                "resample": 2,
            }
        )
    )
    return folder


def write_settings(folder, *, text="", one_file=False):
    """Write the TOML file of an export; returns it."""
    image, words = ("model.onnx", "model.onnx") if one_file else ("vision_model.onnx", "text_model.onnx")
    (folder / "colours.toml").write_text(
        f'name = "colours"\nmodel = "{image}"\n[output]\nname = "image_embeds"\n[text]\nmodel = "{words}"\n'
        f'tokenizer = "tokenizer.json"\noutput = "text_embeds"\ntemplates = ["photo {{}}"]\n{text}\n'
    )
    return folder / "colours.toml"
