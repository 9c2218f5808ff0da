"""What an engine is, and the one that is this process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import EngineError, InvalidInputError

__all__ = ["LOOK_AHEAD", "BlockFailure", "Engine", "LocalEngine", "add_up", "start_engine", "tree_order"]

LOOK_AHEAD = 2
"""Blocks that are given out for each worker before a result is fetched."""


@dataclass(frozen=True, slots=True)
class BlockFailure:
    """What comes in place of a block's result where the workers that had the block died.

    Parameters
    ----------
    reason : str
        What happened, in a few words. Another block that they had beside it may be to blame.
    """

    reason: str


class Engine(ABC):
    """Something that runs a function over blocks of work.

    Function and blocks travel to the workers, so they must be picklable and should be small: names of files and ranges
    of rows instead of arrays. A block may run more than once, as a worker can be lost after its work: functions have no
    effect that does harm twice.

    Attributes
    ----------
    n_workers : int
        How many blocks run side by side.
    """

    n_workers: int = 1

    @abstractmethod
    def map_blocks(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the function's result for each block, in the order of the blocks; blocks are taken as results are.

        Parameters
        ----------
        function : callable
            Takes a block. What it raises is raised here.
        blocks : iterable
            The work.

        Yields
        ------
        object
            The result, or a `BlockFailure`.
        """

    def gather(self, function: Callable[[Any], NDArray[Any]], blocks: Iterable[Any]) -> NDArray[Any]:
        """Return the rows that a function gives for each block, one under another.

        Raises
        ------
        EngineError
            If the workers died of a block.
        """
        return np.concatenate([_survived(rows) for rows in self.map_blocks(function, blocks)])

    def tree_sum(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Any:
        """Return the sum of what a function gives for each block: a number, an array, or a tuple of these.

        Neighbours are added, then neighbouring sums, and so on: the rounding depends on the blocks alone.

        Raises
        ------
        EngineError
            If the workers died of a block.
        InvalidInputError
            If there is no block.
        """
        return tree_order(map(_survived, self.map_blocks(function, blocks)), add_up)

    def close(self) -> None:
        """End the workers that this engine started."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LocalEngine(Engine):
    """The engine that is this process: one block after the other.

    Examples
    --------
    >>> LocalEngine().tree_sum(float, ["1", "2", "3"])
    6.0
    """

    def map_blocks(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the function's result for each block."""
        return map(function, blocks)


def add_up(one: Any, other: Any) -> Any:
    """Return the sum of two numbers, arrays, or tuples of these."""
    if isinstance(one, tuple):
        return tuple(add_up(left, right) for left, right in zip(one, other, strict=True))
    return one + other


def tree_order(values: Iterable[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add values up as `Engine.tree_sum` says, with few of them in memory at a time."""
    sums: list[tuple[int, Any]] = []  # how many values each is made of: falling powers of two
    for value in values:
        size, total = 1, value
        while sums and sums[-1][0] == size:
            total = add(sums.pop()[1], total)
            size *= 2
        sums.append((size, total))
    if not sums:
        raise InvalidInputError("expected blocks to add up, got none")
    total = sums.pop()[1]
    while sums:
        total = add(sums.pop()[1], total)
    return total


def start_engine(name: str = "local", *, n_workers: int | None = None) -> Engine:
    """Start an engine; close it, or use it as a context manager.

    Parameters
    ----------
    name : str, default="local"
        "local" (this process), "processes", "dask" (a cluster on this machine), or the address of a Dask scheduler:
        ``dask://host:8786``, with TLS ``dask+tls://host:8786``.
    n_workers : int, optional
        Processes of "processes" and "dask"; default: one per core.

    Raises
    ------
    EngineError
        If it cannot be started: a package is missing, or the scheduler does not answer.
    """
    if name == "local":
        return LocalEngine()
    if name == "processes":
        from tagloom.engines.processes import ProcessEngine

        return ProcessEngine(n_workers)
    if name == "dask" or name.startswith(("dask://", "dask+tls://")):
        from tagloom.engines.cluster import DaskEngine

        return DaskEngine("" if name == "dask" else name, n_workers=n_workers)
    raise InvalidInputError(f'engine must be "local", "processes", "dask" or "dask://HOST:PORT", got {name!r}')


def _survived(result: Any) -> Any:
    if isinstance(result, BlockFailure):
        raise EngineError(f"workers died of a block of work ({result.reason}); give them more memory, or fewer workers")
    return result
