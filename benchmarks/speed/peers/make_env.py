"""``python benchmarks/speed/peers/make_env.py [NAME …]``: make ``.venv-bench-NAME`` from ``NAME.txt``.

Plain venv and pip. Packages in ``NAME.no-deps.txt``, where there is one, come without what they ask for. An environment
whose requirement files have not changed since is left as it is.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
NO_DEPS = ".no-deps.txt"


def peer_names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.txt") if not path.name.endswith(NO_DEPS))


def requirement_files(name: str) -> list[tuple[Path, list[str]]]:
    """Return the requirement files of an environment, each with the options pip gets for it."""
    files = [(HERE / f"{name}.txt", []), (HERE / f"{name}{NO_DEPS}", ["--no-deps"])]
    return [(file, options) for file, options in files if file.is_file()]


def make(name: str, root: Path = ROOT, *, install: bool = True) -> bool:
    """Make one environment; return whether anything had to be done."""
    requirements = requirement_files(name)
    folder = root / f".venv-bench-{name}"
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256(b"".join(file.read_bytes() for file, _ in requirements)).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
        return False
    venv.create(folder, clear=True, with_pip=install)
    if install:
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        for file, options in requirements:
            command = [str(python), "-m", "pip", "install", "--quiet", *options, "-r", str(file)]
            subprocess.run(command, check=True)
    stamp.write_text(digest, encoding="ascii")
    return True


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the environments of the other tools.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(peer_names())}")
    chosen = parser.parse_args(argv).names or peer_names()
    unknown = sorted(set(chosen) - set(peer_names()))
    if unknown:
        print(f"error: no peer {unknown}; there are {peer_names()}", file=sys.stderr)
        return 2
    for name in chosen:
        print(f"{name}: {'made' if make(name) else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
