"""Runs one function in an environment of its own; needs numpy alone.

``worker.py FILE FUNCTION INPUTS.npz RESULT.npz`` reads commands from its input: ``run`` does the work once and answers
with one line of JSON (CPU and wall seconds, peak bytes), ``save`` writes the last result.
"""

import importlib.util
import json
import sys
import time

import numpy as np


def cpu_seconds() -> float:
    try:
        import resource
    except ImportError:
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_bytes() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    file, name, inputs, out = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("target", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name)
    with np.load(inputs, allow_pickle=False) as stored:
        arrays = dict(stored)
    # The function's own prints must not mix with the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    result = {}
    for line in sys.stdin:
        if line.strip() == "run":
            cpu, wall = cpu_seconds(), time.perf_counter()
            result = function(arrays)
            told = {"cpu": cpu_seconds() - cpu, "wall": time.perf_counter() - wall, "peak": peak_bytes()}
        else:
            np.savez(out, **result)
            told = {"saved": True}
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
