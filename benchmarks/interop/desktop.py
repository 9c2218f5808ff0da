"""A screen without a monitor, and programs that are started on it in a home of their own."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def screen() -> Iterator[str]:
    """Yield the name of a display that Xvfb keeps for as long as this lasts."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        try:
            with os.fdopen(reader) as handle:
                number = handle.readline().strip()
            if not number:
                raise RuntimeError("Xvfb did not start")
            yield f":{number}"
        finally:
            server.terminate()


@contextlib.contextmanager
def started(command: Sequence[str], home: Path, display: str, log: Path) -> Iterator[tuple[dict[str, str], int]]:
    """Start a program with a session bus of its own; yield its environment and process id; end it afterwards."""
    runtime = home / "runtime"
    runtime.mkdir(parents=True, exist_ok=True)
    runtime.chmod(0o700)
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_RUNTIME_DIR": str(runtime),
        "LC_ALL": "C.UTF-8",
        "DISPLAY": display,
        "NO_AT_BRIDGE": "1",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "QTWEBENGINE_DISABLE_SANDBOX": "1",  # the browser part of digiKam refuses to run as root otherwise
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
    }
    bus = ["dbus-daemon", "--session", "--nofork", f"--address=unix:path={runtime}/bus"]
    with (
        open(log, "ab") as handle,
        _ended(subprocess.Popen(bus, env=environment, stdout=handle, stderr=handle, start_new_session=True)),
        _ended(
            subprocess.Popen(command, env=environment, cwd=home, stdout=handle, stderr=handle, start_new_session=True)
        ) as process,
    ):
        yield environment, process.pid
    with contextlib.suppress(OSError):
        (runtime / "bus").unlink()


@contextlib.contextmanager
def _ended(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    try:
        yield process
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def missing(*programs: str) -> str:
    """Return which of these programs are not installed, as a reason; empty if all are."""
    absent = [name for name in programs if shutil.which(name) is None]
    return f"{', '.join(absent)} not installed" if absent else ""
