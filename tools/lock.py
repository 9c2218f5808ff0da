"""Write constraints.txt: the newest versions that install together, for every supported Python.

Usage: ``python tools/lock.py PYTHON3.11 PYTHON3.12 PYTHON3.13`` (interpreters; default: python3.11 … on PATH).
Plain pip reads the result. Only wheels are considered, and no index address is written.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13")
EXTRAS = "test,check,docs,plot"


def resolve(interpreter: str) -> tuple[str, dict[str, str]]:
    """Return the interpreter's version and the versions pip chooses for it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "-U", "pip"], check=True)
        report = Path(folder) / "report.json"
        command = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--dry-run",
            "--ignore-installed",
            "--report",
            str(report),
        ]
        subprocess.run([*command, f"{ROOT}[{EXTRAS}]"], check=True)
        installed = json.loads(report.read_text())["install"]
    version = subprocess.run(
        [interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    chosen = {item["metadata"]["name"].lower().replace("_", "-"): item["metadata"]["version"] for item in installed}
    chosen.pop("tagloom")
    return version, chosen


def lines(choices: dict[str, dict[str, str]]) -> list[str]:
    """Return constraint lines: one per package, or one per Python where versions differ."""
    out = []
    for name in sorted(set().union(*choices.values())):
        versions = {python: chosen[name] for python, chosen in choices.items() if name in chosen}
        if len(set(versions.values())) == 1:
            out.append(f"{name}=={next(iter(versions.values()))}")
        else:
            out += [f'{name}=={version} ; python_version == "{python}"' for python, version in versions.items()]
    return out


def main(arguments: list[str]) -> None:
    """Resolve for each interpreter and write the file."""
    interpreters = arguments or [f"python{version}" for version in SUPPORTED]
    missing = [name for name in interpreters if shutil.which(name) is None]
    if missing:
        sys.exit(f"interpreters not found: {missing}; name them on the command line")
    choices = dict(resolve(interpreter) for interpreter in interpreters)
    text = f"# Made by tools/lock.py for Python {', '.join(choices)}; plain pip reads it.\n" + "\n".join(lines(choices))
    (ROOT / "constraints.txt").write_text(text + "\n")
    print(f"constraints.txt: {text.count(chr(10))} lines for Python {', '.join(choices)}")


if __name__ == "__main__":
    main(sys.argv[1:])
