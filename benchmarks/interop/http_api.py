"""Requests made up from the API's schema: ``python -m benchmarks.interop.http_api --schemathesis PROGRAM``.

Starts `tagloom serve` on made-up photos and lets schemathesis, from an environment of its own, ask each operation in
all ways that the schema allows and in many that it forbids. A server error, an answer that is not in the schema, a
request that should have been refused, and an answer without a token are failures. Results: http_api.json beside this.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT
from benchmarks.results import environment, write_json

RESULTS = Path(__file__).with_name("http_api.json")
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "negative_data_rejection,ignored_auth,unsupported_method"
)
#: Too long an address is refused before its parameters are looked at.
CONFIG = "[checks.negative_data_rejection]\nexpected-statuses = [400, 401, 403, 404, 409, 412, 413, 414, 415]\n"
PATIENCE = 300
TAGLOOM = [sys.executable, "-c", "from tagloom.cli import main; main()"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.interop.http_api", description=__doc__)
    parser.add_argument("--schemathesis", required=True, help="the program, from an environment of its own")
    parser.add_argument("--examples", type=int, default=200, help="for each operation, beside the systematic ones")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="http-api-") as folder:
        found = run(Path(folder), arguments.schemathesis, arguments.examples)
    write_json(RESULTS, {"schemathesis": found, "environment": environment() | {"commit": _commit()}})
    print(json.dumps(found, indent=1))
    return 1 if found["failures"] else 0


def run(folder: Path, program: str, n_examples: int) -> dict[str, Any]:
    """Return what came of all requests."""
    from tagloom import Project
    from tagloom.datasets import write_scenes

    known = {"TAGLOOM_CONFIG": str(folder / "config"), "OMP_NUM_THREADS": "1"}
    os.environ |= known
    photos = folder / "photos"
    write_scenes(photos, 20, size=(96, 64), labeled=0.5, random_state=0)
    with Project.init(photos, flags={"descriptors": "color", "method": "ridge", "n_workers": 1}) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        project.train()
    where = ["--project", str(photos)]
    token = subprocess.run(
        [*TAGLOOM, "serve", "user", "add", "checker", "--role", "owner", *where],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    server = subprocess.Popen(
        [*TAGLOOM, "serve", "--port", "0", *where],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        base = server.stdout.readline().partition("/?")[0].strip()
        _wait(f"{base}/api/v1/health")
        (folder / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
        command = [program, "--config-file", str(folder / "schemathesis.toml"), "run", f"{base}/api/v1/openapi.json"]
        command += ["-H", f"Authorization: Bearer {token}", "--exclude-operation-id", "events", "--checks", CHECKS]
        command += ["--phases", "coverage,fuzzing", "-n", str(n_examples), "--continue-on-failure", "--no-color"]
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
        _wait(f"{base}/api/v1/health")  # it answers still
    finally:
        server.terminate()
        server.wait(60)
    text = done.stdout
    cases = re.search(r"(\d+) generated", text)
    if cases is None:
        raise RuntimeError(f"schemathesis made no requests: {text[-2000:]}{done.stderr[-2000:]}")
    failures = {name.strip(): int(n) for name, n in re.findall(r"❌ ([\w ]+): (\d+)", text)}
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    operations = re.search(r"Tested: (\d+)", text)
    if failures:
        print(text[-20_000:])
    return {
        "version": version,
        "operations": int(operations[1]) if operations else None,
        "cases": int(cases[1]),
        "failures": failures,
        "statuses": dict(Counter(re.findall(r"^\[(\d{3})\]", text, re.MULTILINE))),
        "seconds": round(seconds),
    }


def _wait(address: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(address, timeout=30):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
