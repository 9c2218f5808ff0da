"""Runs one function in an environment of its own; needs numpy alone.

``worker.py FILE FUNCTION`` reads orders from its input, one line of JSON each. ``{"do": "run", "inputs": FILE.npz}``
does the work once and answers with one line of JSON (CPU and wall seconds, peak bytes). ``{"do": "save", "inputs":
FILE.npz, "out": FILE.npz}`` writes the last result for these inputs.
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


def load(path: str) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def main() -> None:
    file, name = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("target", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name)
    # The function's own prints must not mix with the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    given: dict[str, dict[str, np.ndarray]] = {}
    results: dict[str, dict[str, np.ndarray]] = {}
    for line in sys.stdin:
        order = json.loads(line)
        inputs = order["inputs"]
        if order["do"] == "run":
            if inputs not in given:
                given[inputs] = load(inputs)
            cpu, wall = cpu_seconds(), time.perf_counter()
            results[inputs] = function(given[inputs])
            told = {"cpu": cpu_seconds() - cpu, "wall": time.perf_counter() - wall, "peak": peak_bytes()}
        else:
            np.savez(order["out"], **results[inputs])
            told = {"saved": True}
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
