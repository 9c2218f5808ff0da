"""``python benchmarks/speed/peers/make_env.py [NAME …]``: make ``.venv-bench-NAME`` from ``NAME.txt``.

Plain venv and pip. An environment whose requirement file has not changed since is left as it is.
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


def peer_names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.txt"))


def make(name: str, root: Path = ROOT, *, install: bool = True) -> bool:
    """Make one environment; return whether anything had to be done."""
    requirements = HERE / f"{name}.txt"
    folder = root / f".venv-bench-{name}"
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
        return False
    venv.create(folder, clear=True, with_pip=install)
    if install:
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], check=True)
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
