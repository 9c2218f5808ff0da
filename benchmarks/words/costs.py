"""What a network and the names of tags cost: processor time of a photo, and memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.clock import measure
from benchmarks.datasets import data_folder
from tagloom.features import get_descriptor

#: Photos that the time is the mean of, and tags whose names are compared with them.
PHOTOS, TAGS = 40, 260

NAMES_SCRIPT = """
import json, resource, time
import numpy as np
from tagloom.features.network import words
from tagloom.features.network.everyday import EVERYDAY_WORDS
classes = np.random.default_rng(0).dirichlet(np.full(1000, 0.02), 2000).astype(np.float32)
tags = [*EVERYDAY_WORDS][:TAGS]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.process_time()
words.word_log_odds(classes[:1], tags)
load = time.process_time() - begin
begin = time.process_time()
words.word_log_odds(classes, tags)
each = (time.process_time() - begin) / len(classes)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"milliseconds": 1000 * each, "load": load, "megabytes": (after - before) / 1024}))
"""


def cost_of_network(name: str, network: str) -> dict[str, float]:
    """Return the processor time in which a network reads a photo of a set, in one thread, decoding left aside."""
    from tagloom import datasets
    from tagloom.images import DecodePool

    paths = [os.fsencode(Path(path)) for path in getattr(datasets, f"load_{name}")(data_folder(name)).paths[:PHOTOS]]
    descriptor = get_descriptor("deep", network=network)
    with DecodePool(descriptor.renditions, n_workers=1) as pool:
        photos = list(pool.decode(paths))
    descriptor.compute(photos[:1])
    with measure() as elapsed:
        descriptor.compute(photos)
    return {"milliseconds": 1000.0 * elapsed.cpu / len(photos)}


def cost_of_names() -> dict[str, float]:
    """Return what the names of many tags cost: time of a photo, of the first use, and memory, in a fresh process."""
    script = NAMES_SCRIPT.replace("TAGS", str(TAGS))
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
