"""Reading what ``strace -f -y`` writes: system calls with the paths of their descriptors, in the order of time.

A call of one process may be cut in two by the calls of others (``<unfinished ...>``, ``<... resumed>``); it is put
together again and keeps both places, so that "before" means: ended before the other one began.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

WRITES = frozenset({"write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate"})
SYNCS = frozenset({"fsync", "fdatasync"})
RENAMES = frozenset({"rename", "renameat", "renameat2"})
UNLINKS = frozenset({"unlink", "unlinkat"})
OPENS = frozenset({"open", "openat", "creat"})
MAKES = frozenset({"mkdir", "mkdirat"})
TRACED = ",".join(sorted(WRITES | SYNCS | RENAMES | UNLINKS | OPENS | MAKES))

_LINE = re.compile(r"(?P<pid>\d+)\s+(?P<rest>.*)")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+=\s+(?P<result>-?\d+|\?)(?P<tail>.*)")
_CUT = re.compile(r"(?P<start>\w+\(.*?)\s*<unfinished \.\.\.>")
_RESUMED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")
_DESCRIPTOR = re.compile(r"(\d+|AT_FDCWD)<((?:[^>\\]|\\.)*)>")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Call:
    """A system call that succeeded.

    Parameters
    ----------
    begin, end : int
        Numbers of the lines at which it began and ended.
    kind : {"write", "sync", "rename", "unlink", "create"}
        What it does.
    path : str
        The file or folder; of a rename the old name.
    target : str
        Of a rename the new name.
    descriptor : int
        Of a write; else -1.
    text : str
        Of a write: the beginning of what was written, as strace shows it.
    """

    begin: int
    end: int
    kind: str
    path: str
    target: str = ""
    descriptor: int = -1
    text: str = ""


def read_calls(lines: Iterable[str]) -> list[Call]:
    """Return the calls of a trace that matter, by the line at which they ended.

    Parameters
    ----------
    lines : iterable of str
        Output of ``strace -f -y -o FILE``.
    """
    return [call for call in (_read(*joined) for joined in _join(lines)) if call is not None]


def _join(lines: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    open_calls: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None:
            continue
        pid, rest = found["pid"], found["rest"]
        cut, resumed = _CUT.fullmatch(rest.strip()), _RESUMED.match(rest)
        if cut is not None:
            open_calls[pid] = (number, cut["start"])
        elif resumed is not None:
            begin, start = open_calls.pop(pid, (number, f"{resumed['name']}("))
            yield begin, number, start + resumed["rest"]
        else:
            yield number, number, rest


def _read(begin: int, end: int, text: str) -> Call | None:
    found = _CALL.match(text)
    if found is None or found["result"] in ("-1", "?"):
        return None
    name, arguments = found["name"], found["arguments"]
    if name in WRITES or name in SYNCS:
        held = _DESCRIPTOR.match(arguments)
        if held is None or not held[1].isdigit():
            return None
        written = _TEXT.search(arguments)
        kind = "write" if name in WRITES else "sync"
        return Call(begin, end, kind, _clean(held[2]), "", int(held[1]), written[1] if written else "")
    paths = _paths(arguments)
    if name in RENAMES and len(paths) == 2:
        return Call(begin, end, "rename", paths[0], paths[1])
    if name in UNLINKS and paths:
        return Call(begin, end, "unlink", paths[0])
    is_new = name in MAKES or (name in OPENS and ("O_CREAT" in arguments or name == "creat"))
    if is_new and paths:
        return Call(begin, end, "create", paths[0])
    return None


def _paths(arguments: str) -> list[str]:
    """Return the paths that a call names, each relative one below the folder descriptor before it."""
    found = []
    folder = ""
    for match in re.finditer(f"{_DESCRIPTOR.pattern}|{_TEXT.pattern}", arguments):
        if match[3] is not None:
            found.append(os.path.normpath(os.path.join(folder, _clean(match[3]))))
        else:
            folder = _clean(match[2])
    return found


def _clean(path: str) -> str:
    return path.removesuffix("(deleted)").replace('\\"', '"')
