"""Another program that is kept running and asked many times; one that hangs or crashes is replaced."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagloom.exceptions import MetadataError

__all__ = ["KeptProcess"]

LONGEST_ANSWER = 1 << 20
MEMORY_LIMIT = 1 << 30
_PATIENCE = 10.0
# Between tagloom and the program stands a process that ends the program when tagloom ends, however that comes about:
# exiftool waits for its next command for ever, even if nobody can send one any more.
_GUARD = """
import os, subprocess, sys, threading
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_AS)[1]))
except (ImportError, AttributeError, ValueError, OSError):
    pass
program = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
threading.Thread(target=lambda: os._exit(program.wait() & 255), daemon=True).start()
try:
    while data := os.read(0, 1 << 16):
        program.stdin.write(data)
        program.stdin.flush()
except OSError:
    pass
program.kill()
program.wait()
"""


class KeptProcess:
    """A program that reads requests from its input and ends each answer with a line of its own.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    name : str
        What messages call it.
    environment : mapping of str to str, optional
        Default: that of this process.
    memory : int, default=1 GiB
        Bytes of address space that it may use (enforced on Linux).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        environment: Mapping[str, str] | None = None,
        memory: int = MEMORY_LIMIT,
    ) -> None:
        self._command = [sys.executable, "-I", "-S", "-c", _GUARD, str(memory), *command]
        self._name = name
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def ask(self, request: bytes, end: bytes, *, folder: Path, deadline: float) -> bytes:
        """Return what the program prints after a request, without its last line.

        Parameters
        ----------
        request : bytes
            What to send.
        end : bytes
            The line that ends the answer.
        folder : Path
            Where the program works; for another folder it is started again.
        deadline : float
            Seconds after which it is taken to hang.

        Raises
        ------
        MetadataError
            If it hangs, crashes or cannot be started. The next request starts it again.
        """
        if self._process is None or self._process.poll() is not None or folder != self._folder:
            self.close()
            self._start(folder)
        if self._process is None or self._process.stdin is None:
            raise AssertionError("the process was started above")
        # By a thread: a program that hangs does not read what it is sent either.
        self._begin(_send, self._process, request)
        answer, limit = b"", time.monotonic() + deadline
        try:
            while not (b"\n" + answer).endswith(b"\n" + end + b"\n"):
                part = self._answers.get(timeout=max(0.0, limit - time.monotonic()))
                answer += part
                if not part or len(answer) > LONGEST_ANSWER:
                    raise MetadataError(f"{self._name} did not run to its end ({_last_line(answer)})")
        except queue.Empty:
            self.close()
            raise MetadataError(f"{self._name} took more than {deadline:g} s and was ended") from None
        except BaseException:
            self.close()
            raise
        return answer[: -len(end) - 1]

    def close(self) -> None:
        """End the program, if it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)  # the guard and the program
            else:
                process.kill()
        process.wait()
        # Not before: a number of a closed pipe may be that of the next program's, and a thread would read from that.
        for thread in self._threads:
            thread.join(_PATIENCE)
        self._threads.clear()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _start(self, folder: Path) -> None:
        try:
            process = subprocess.Popen(  # noqa: S603 - the command is ours
                self._command,
                cwd=folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,  # a group to end as one; Ctrl-C is for tagloom, which ends it
            )
        except OSError as error:
            raise MetadataError(f"{self._name} did not run ({error.strerror or error})") from error
        self._process, self._folder, self._answers = process, folder, queue.SimpleQueue()
        self._begin(_listen, process, self._answers)

    def _begin(self, work: Callable[..., None], *arguments: Any) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()


def _send(process: subprocess.Popen[bytes], request: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # it ended, which the answer tells
        if process.stdin is not None:
            view = memoryview(request)
            while view:
                view = view[process.stdin.write(view) or 0 :]


def _listen(process: subprocess.Popen[bytes], answers: "queue.SimpleQueue[bytes]") -> None:
    with contextlib.suppress(OSError, ValueError):
        while process.stdout is not None and (part := process.stdout.read(1 << 16)):
            answers.put(part)
    answers.put(b"")


def _last_line(answer: bytes) -> str:
    lines = [line for line in answer.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it ended without a message"
