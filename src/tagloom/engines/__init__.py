"""Where blocks of work run: in this process, in a pool of processes, or on the machines of a Dask cluster.

An engine maps a function over blocks (`Engine.map_blocks`), puts rows together (`Engine.gather`) and adds up
(`Engine.tree_sum`). Sums are made in one order, which depends on the number of blocks alone: the engine and the number
of workers change no bit. `start_engine` starts the one that the setting ``engine`` names.
"""

from tagloom.engines.base import BlockFailure, Engine, LocalEngine, start_engine

__all__ = ["BlockFailure", "Engine", "LocalEngine", "start_engine"]
