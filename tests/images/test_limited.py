"""Calls in processes with limits: results come back in order, and what a call does to its process costs that call."""

import os
import threading

import pytest

from tagloom.core import system
from tagloom.exceptions import LabelsFileError, PhotosError
from tagloom.images.limited import CallFailure, CallLimits, LimitedCalls, call_each

pytestmark = pytest.mark.medium

FUNCTIONS = """
import os, signal, time
from tagloom.exceptions import LabelsFileError

def each(items, *options):
    for item in items:
        if item == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "hang":
            time.sleep(600)
        if item == "eat":
            "x" * (1 << 40)
        if item == "raise":
            raise RuntimeError("line one\\nline two")
        if item == "once" and not os.path.exists(options[0]):
            open(options[0], "w").close()
            os._exit(3)
        yield [item, os.getpid()]

def complain():
    raise LabelsFileError("it is no such file")

def pid():
    print("a library talks to standard output")
    return [os.getpid()]

def long(n):
    yield "x" * n

def thing():
    class Thing: pass
    return [Thing()]
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    (tmp_path / "hostile_functions.py").write_text(FUNCTIONS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(":"))
    return "hostile_functions"


def test_one_process_serves_many_calls(functions):
    with LimitedCalls() as calls:
        assert len({next(iter(list(calls.stream(f"{functions}:pid")))) for _ in range(3)}) == 1


def test_it_cannot_be_used_after_it_was_closed(functions):
    calls = LimitedCalls()
    calls.close()
    with pytest.raises(PhotosError, match="closed"):
        list(calls.stream(f"{functions}:pid"))


def test_errors_of_the_program_keep_their_class(functions):
    with LimitedCalls() as calls:
        (before,) = calls.stream(f"{functions}:pid")
        with pytest.raises(LabelsFileError, match="it is no such file"):
            list(calls.stream(f"{functions}:complain"))
        assert list(calls.stream(f"{functions}:pid")) == [before]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("die", "SIGKILL"),
        ("hang", "more than 0.5 s"),
        ("eat", "1024 MiB of memory"),
        ("raise", "RuntimeError: line one line two"),
    ],
)
def test_what_a_call_does_to_its_process_is_one_line(functions, item, reason):
    if item == "eat" and not system.limit_memory(1 << 60):
        pytest.skip("this system does not limit memory")
    with LimitedCalls(CallLimits(deadline=0.5 if item == "hang" else 30)) as calls:
        with pytest.raises(CallFailure) as failed:
            list(calls.stream(f"{functions}:each", [item]))
        assert reason in failed.value.reason
        assert "\n" not in failed.value.reason


def test_an_answer_has_a_limit(functions):
    with LimitedCalls(CallLimits(longest_reply=1000)) as calls:
        assert list(calls.stream(f"{functions}:long", 900)) == ["x" * 900]
        with pytest.raises(CallFailure):
            list(calls.stream(f"{functions}:long", 1100))
        assert list(calls.stream(f"{functions}:long", 900)) == ["x" * 900]


def test_only_plain_data_crosses(functions):
    with LimitedCalls() as calls, pytest.raises(CallFailure, match="expected plain data, got a Thing"):
        list(calls.stream(f"{functions}:thing"))


@pytest.mark.medium
def test_each_item_has_its_result_in_order_whatever_the_others_do(functions):
    items = [str(number) for number in range(250)]
    items[7], items[120], items[121], items[249] = "die", "raise", "hang", "die"
    results = list(call_each(f"{functions}:each", items, limits=CallLimits(deadline=2)))
    assert len(results) == len(items)
    for item, result in zip(items, results, strict=True):
        if item.isdigit():
            assert result[0] == item
        else:
            assert isinstance(result, CallFailure)


def test_an_item_gets_a_second_try(functions, tmp_path):
    (result,) = call_each(f"{functions}:each", ["once"], options=[str(tmp_path / "mark")])
    assert result[0] == "once"


def test_nothing_is_left_running_when_results_are_not_fetched(functions):
    n_before = threading.active_count()
    results = call_each(f"{functions}:each", [str(number) for number in range(5000)])
    pid = next(results)[1]
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert threading.active_count() == n_before


def test_no_items_start_no_process():
    assert list(call_each("no_such_module:each", [])) == []
