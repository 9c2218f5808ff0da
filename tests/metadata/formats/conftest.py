"""What readers make of files is tried in this process, which is faster; `test_limits.py` has the processes."""

import pytest

from tagloom.metadata.formats import limited_reading, reading


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    if request.node.get_closest_marker("limited"):
        return

    def read(path, format, options, notes):
        limited_reading._size(path)
        arguments = options.include_suggested, options.count_empty, options.column
        for item in limited_reading.read_all(str(path), format, *arguments):
            if isinstance(item, list):
                notes.source, *lines = item
                for line in lines:
                    notes.line(line)
            else:
                yield item

    monkeypatch.setattr(reading, "read_limited", read)
