"""Requests made up from the API's schema: ``python -m benchmarks.interop.http_api --schemathesis PROGRAM``.

Starts `tagloom serve` on made-up photos and lets schemathesis, from an environment of its own, ask each operation in
all ways that the schema allows and in many that it forbids. A server error, an answer that is not in the schema, a
request that should have been refused, and an answer without a token are failures.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.interop.serving import answers, record, served, wait_for

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "negative_data_rejection,ignored_auth,unsupported_method"
)
#: Too long an address is refused before its parameters are looked at.
CONFIG = "[checks.negative_data_rejection]\nexpected-statuses = [400, 401, 403, 404, 409, 412, 413, 414, 415]\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.interop.http_api", description=__doc__)
    parser.add_argument("--schemathesis", required=True, help="the program, from an environment of its own")
    parser.add_argument("--examples", type=int, default=200, help="for each operation, beside the systematic ones")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="http-api-") as folder:
        found = run(Path(folder), arguments.schemathesis, arguments.examples)
    keep(found)
    return 1 if found["failures"] else 0


def keep(found: dict[str, Any]) -> None:
    """Record what came of all requests."""
    n_failures = sum(found["failures"].values())
    record(
        "http_api",
        "HTTP API",
        "tagloom serve",
        {"schemathesis": found["version"]},
        f"made-up requests to {found['operations']} operations of the real server",
        f"{found['cases']:,} cases, {n_failures} failures",
        **found,
    )


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
    with served(photos, folder / "config") as (base, token):
        (folder / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
        command = [
            os.path.abspath(shutil.which(program) or program),
            "--config-file",
            str(folder / "schemathesis.toml"),
            "run",
            f"{base}/api/v1/openapi.json",
        ]
        command += ["-H", f"Authorization: Bearer {token}", "--exclude-operation-id", "events", "--checks", CHECKS]
        command += ["--phases", "coverage,fuzzing", "-n", str(n_examples), "--continue-on-failure", "--no-color"]
        began = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - began
        wait_for(lambda: answers(f"{base}/api/v1/health"), "tagloom no longer answers")
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
        "seconds": round(seconds),
    }


if __name__ == "__main__":
    sys.exit(main())
