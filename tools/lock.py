"""Write constraints.txt and the files under requirements/: versions that install together, for every supported Python.

Usage: ``python tools/lock.py [--keep] [PYTHON3.11 PYTHON3.12 PYTHON3.13]`` (default: python3.11 … on PATH). Takes the
newest versions; with ``--keep`` those in constraints.txt, and the newest of what is not in it.

constraints.txt has versions alone. requirements/product.txt (what the wheel depends on) and requirements/develop.txt
(what tests, checks and docs need) and requirements/audit.txt add the hashes of all wheels of each version, for every
platform, so that ``pip install --require-hashes`` takes nothing else. Plain pip reads all of them. Only wheels are
considered, and no index address is written.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
SUPPORTED = ("3.11", "3.12", "3.13")
PURPOSES = {
    "product": (),
    "develop": ("test", "check", "docs", "plot", "parquet", "raw", "video", "cluster", "mcp"),
    "audit": ("audit",),
}

#: {version of Python: {package: version}}
Choices = dict[str, dict[str, str]]


def resolve(python: str, constraints: Path | None) -> dict[str, Any]:
    """Return pip's report of all that it would install for an interpreter, for every purpose."""
    extras = ",".join(extra for extras in PURPOSES.values() for extra in extras)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [python, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", str(report)]
        command += ["--only-binary", ":all:"] + (["--constraint", str(constraints)] if constraints else [])
        subprocess.run([*command, f"{ROOT}[{extras}]"], check=True)
        return json.loads(report.read_text())


def needed(report: dict[str, Any], extras: Iterable[str]) -> dict[str, str]:
    """Return {package: version} of what tagloom with some extras needs, by what the packages of a report ask for."""
    packages = {canonicalize_name(item["metadata"]["name"]): item["metadata"] for item in report["install"]}
    todo = [("tagloom", frozenset(extras))]
    seen = set(todo)
    for name, wanted in todo:  # grows meanwhile
        for item in map(Requirement, packages[name].get("requires_dist", [])):
            environments = [report["environment"] | {"extra": extra} for extra in wanted or ("",)]
            if item.marker is None or any(map(item.marker.evaluate, environments)):
                found = (canonicalize_name(item.name), frozenset(item.extras))
                todo += [found] if found not in seen else []
                seen.add(found)
    return {name: packages[name]["version"] for name in {name for name, _ in todo} - {"tagloom"}}


def pins(choices: Choices) -> list[tuple[str, str, str]]:
    """Return (package, version, line): one line per package, or one per Python where versions differ."""
    out = []
    for name in sorted(set().union(*choices.values())):
        versions = {python: chosen.get(name) for python, chosen in choices.items()}
        if len(set(versions.values())) == 1:
            version = next(iter(chosen[name] for chosen in choices.values()))
            out.append((name, version, f"{name}=={version}"))
        else:
            out += [
                (name, version, f'{name}=={version} ; python_version == "{python}"')
                for python, version in versions.items()
                if version is not None
            ]
    return out


def wheel_hashes(python: str, choices: Choices) -> dict[str, dict[str, list[str]]]:
    """Return {package: {version: [digest, …]}} of all that was chosen."""
    wanted: dict[str, list[str]] = {}
    for name, version, _ in pins(choices):
        wanted.setdefault(name, []).append(version)
    command = [python, str(ROOT / "tools" / "wheel_hashes.py")]
    done = subprocess.run(command, input=json.dumps(wanted), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def write_hashed(purpose: str, choices: Choices, hashes: dict[str, dict[str, list[str]]]) -> None:
    """Write a file of requirements with hashes."""
    out = [f"# Made by tools/lock.py for Python {', '.join(choices)}; for pip install --require-hashes."]
    for name, version, line in pins(choices):
        digests = hashes[name][version]
        if not digests:
            sys.exit(f"the index knows no hash of a wheel of {name} {version}")
        out.append(" \\\n".join([line, *(f"    --hash=sha256:{digest}" for digest in digests)]))
    target = ROOT / "requirements" / f"{purpose}.txt"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join(out) + "\n")
    print(f"{target.relative_to(ROOT)}: {len(out) - 1} packages")


def main() -> None:
    """Resolve for each interpreter and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave the versions of constraints.txt as they are")
    parser.add_argument("interpreters", nargs="*", default=[f"python{version}" for version in SUPPORTED])
    arguments = parser.parse_args()
    missing = [name for name in arguments.interpreters if shutil.which(name) is None]
    if missing:
        sys.exit(f"interpreters not found: {missing}; name them on the command line")
    choices: dict[str, Choices] = {purpose: {} for purpose in ("all", *PURPOSES)}
    with tempfile.TemporaryDirectory() as folder:
        for interpreter in arguments.interpreters:
            tell = [interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            version = subprocess.run(tell, check=True, capture_output=True, text=True).stdout.strip()
            subprocess.run([interpreter, "-m", "venv", f"{folder}/{version}"], check=True)
            python = f"{folder}/{version}/bin/python"
            subprocess.run([python, "-m", "pip", "install", "-q", "-U", "pip"], check=True)
            report = resolve(python, CONSTRAINTS if arguments.keep else None)
            for purpose, extras in PURPOSES.items():
                choices[purpose][version] = needed(report, extras)
            choices["all"][version] = needed(report, [extra for extras in PURPOSES.values() for extra in extras])
        hashes = wheel_hashes(python, choices["all"])
    lines = [f"# Made by tools/lock.py for Python {', '.join(choices['all'])}; plain pip reads it."]
    lines += [line for _, _, line in pins(choices["all"])]
    CONSTRAINTS.write_text("\n".join(lines) + "\n")
    print(f"constraints.txt: {len(lines) - 1} lines")
    for purpose in PURPOSES:
        write_hashed(purpose, choices[purpose], hashes)


if __name__ == "__main__":
    main()
