import json
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from benchmarks.clock import cpu_seconds, measure
from benchmarks.errors import BenchmarkError
from benchmarks.speed import __main__ as command
from benchmarks.speed import harness
from benchmarks.speed.harness import Local, Worker, case, compare, record
from benchmarks.speed.peers import make_env
from benchmarks.speed.report import ratios, speed_page


def test_runs_are_interleaved_after_a_warm_up():
    order = []
    contenders = [Local(name, lambda name=name: order.append(name), role="ours") for name in "ab"]
    entries = compare(contenders, repeats=3)
    assert order == list("ab" + "ab" * 3)
    assert [len(entry["cpu_runs"]) for entry in entries] == [3, 3]


def test_cpu_time_is_that_of_the_process_and_its_children(monkeypatch):
    clock = {"process": 1.0, "children": 10.0, "wall": 100.0}
    usage = lambda _who: SimpleNamespace(ru_utime=clock["children"], ru_stime=0.5)  # noqa: E731
    monkeypatch.setattr(time, "process_time", lambda: clock["process"])
    monkeypatch.setattr(time, "perf_counter", lambda: clock["wall"])
    monkeypatch.setitem(sys.modules, "resource", SimpleNamespace(getrusage=usage, RUSAGE_CHILDREN=-1))
    with measure() as elapsed:
        clock.update(process=3.0, children=14.0, wall=107.0)
    assert (elapsed.cpu, elapsed.wall) == (6.0, 7.0)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert cpu_seconds() == 3.0


def test_threads_are_forced_and_given_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    seen = []
    compare([Local("a", lambda: seen.append([pool["num_threads"] for pool in threadpool_info()]), role="ours")])
    assert seen
    assert all(count == 1 for counts in seen for count in counts)
    assert __import__("os").environ["OMP_NUM_THREADS"] == "7"


def test_accuracy_stands_beside_each_time():
    (entry,) = compare([Local("a", lambda: np.array([3.0, 4.0]), role="ours")], accuracy=np.linalg.norm, repeats=1)
    assert entry["accuracy"] == 5.0


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target.py"
    path.write_text(
        "import os\nimport numpy as np\n"
        "def double(arrays):\n    print('noise')\n"
        "    return {'x': 2 * arrays['x'], 'threads': np.array(os.environ['OMP_NUM_THREADS'])}\n"
        "def fail(arrays):\n    raise SystemExit(3)\n",
        encoding="utf-8",
    )
    return path


def test_a_worker_computes_in_its_own_process(target, tmp_path):
    with Worker("twice", f"{target}:double", {"x": np.arange(3)}, tmp_path, threads=1) as worker:
        (entry,) = compare([worker], accuracy=lambda result: result["x"].sum(), repeats=2)
        assert (entry["accuracy"], entry["role"]) == (6.0, "peer")
        assert entry["peak_memory"] > 1_000_000
        assert str(worker.result()["threads"]) == "1"


def test_a_worker_that_ends_is_named(target, tmp_path):
    with (
        Worker("broken", f"{target}:fail", {}, tmp_path) as worker,
        pytest.raises(BenchmarkError, match=r"'broken' ended with code 3"),
    ):
        worker.once()


def test_a_peer_without_environment_is_skipped_with_the_reason(tmp_path):
    worker = Worker("other", "peers/other.py:run", {}, tmp_path, environment="nowhere")
    (entry,) = compare([worker])
    assert entry["skipped"] == "environment 'nowhere' is not there (make bench-env)"


def entry(name, role, cpu):
    return {"name": name, "role": role, "cpu": cpu, "wall": cpu, "peak_memory": None}


def test_ratios_are_to_the_literal_and_to_the_fastest_other_tool():
    found = ratios(
        [entry("t", "ours", 2.0), entry("l", "literal", 8.0), entry("p", "peer", 6.0), entry("q", "peer", 1.0)]
    )
    assert found == [{"literal": 4.0, "other": 0.5}, {}, {}, {}]


def test_the_page_comes_from_the_files_alone(tmp_path):
    entries = [entry("tagloom", "ours", 0.5), entry("dense", "literal", 5.0)]
    entries.append({"name": "p", "role": "peer", "skipped": "because"})
    record("one", "One thing", [case("n = 10", {"n": 10}, entries)], tmp_path / "one.json")
    page = speed_page(tmp_path)
    assert "## One thing" in page
    assert "| tagloom | 0.5 | 0.5 | – | – | 10.0 × | – |" in page
    assert "| p | not run: because |" in page
    assert page == speed_page(tmp_path)
    stored = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert stored["environment"]["threads"] == 1


def test_an_unknown_benchmark_is_one_line(capsys):
    assert command.main(["run", "nothing-such"]) == 2
    assert "no benchmark ['nothing-such']" in capsys.readouterr().err


def test_every_listed_benchmark_is_a_module_with_main():
    from importlib import import_module

    for name in command.benchmark_names():
        assert callable(import_module(f"benchmarks.speed.{name}").main), name


def test_a_failing_benchmark_is_told(monkeypatch, capsys):
    monkeypatch.setattr(command, "benchmark_names", lambda: ["absent"])
    assert command.main(["run", "all", "--quick"]) == 1
    assert "failed: absent" in capsys.readouterr().err


def test_an_environment_is_made_once_per_requirement_file(tmp_path, monkeypatch):
    (tmp_path / "small.txt").write_text("numpy\n", encoding="utf-8")
    monkeypatch.setattr(make_env, "HERE", tmp_path)
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    assert make_env.make("small", tmp_path, install=False)
    assert harness.interpreter("small").is_file()
    assert not make_env.make("small", tmp_path, install=False)
    (tmp_path / "small.txt").write_text("numpy>2\n", encoding="utf-8")
    assert make_env.make("small", tmp_path, install=False)


def test_an_unknown_peer_is_named(capsys):
    assert make_env.main(["nothing-such"]) == 2
    assert "no peer" in capsys.readouterr().err


def test_only_modules_on_the_harness_are_listed(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("from benchmarks.speed.harness import compare\n", encoding="utf-8")
    (tmp_path / "other.py").write_text("def main(): ...\n", encoding="utf-8")
    (tmp_path / "report.py").write_text("from benchmarks.speed.harness import RESULTS\n", encoding="utf-8")
    monkeypatch.setattr(command, "HERE", tmp_path)
    assert command.benchmark_names() == ["mine"]
