"""How long work tells what it is doing.

A library function takes ``progress: Progress = NO_PROGRESS`` and calls it; it never prints. The command line passes
one that draws a bar, the page one that sends events. To cancel, the receiver raises (``KeyboardInterrupt`` or its own
exception) from `advance`; long work keeps what is finished and can be taken up again.
"""

from typing import Protocol

__all__ = ["NO_PROGRESS", "NoProgress", "Progress"]


class Progress(Protocol):
    """Receives the stages of long work."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage of ``total`` steps (None: not known)."""

    def advance(self, n: int = 1) -> None:
        """Count ``n`` steps of the current stage as done."""

    def finish(self) -> None:
        """End the current stage."""


class NoProgress:
    """A `Progress` that does nothing."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Do nothing."""

    def advance(self, n: int = 1) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


NO_PROGRESS: Progress = NoProgress()
