import json
import subprocess
import sys
import time
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from benchmarks.clock import Elapsed, cpu_seconds, living_children_seconds, measure
from benchmarks.errors import BenchmarkError
from benchmarks.speed import __main__ as command
from benchmarks.speed import block_cg, decode, graph, harness, propagation
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
    # Children that another test left running are none of this one's.
    monkeypatch.setattr("benchmarks.clock.living_children_seconds", lambda: 0.0)
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
    contender = Local("a", lambda: np.array([3.0, 4.0]), role="ours")
    (entry,) = compare([contender], accuracy=lambda x: {"norm": np.linalg.norm(x), "largest": x.max()}, repeats=1)
    assert entry["accuracy"] == {"norm": 5.0, "largest": 4.0}


def test_a_slow_contender_may_run_once_without_warm_up_and_the_page_says_so(tmp_path):
    order = []
    slow = Local("slow", lambda: order.append("slow"), role="literal", runs=1)
    fast = Local("fast", lambda: order.append("fast"), role="ours")
    entries = compare([fast, slow], repeats=3)
    assert order == ["fast", "fast", "slow", "fast", "fast"]
    assert [entry["warm_up"] for entry in entries] == [True, False]
    record("one", "One", [case("c", {}, entries)], tmp_path / "one.json")
    assert "| slow (one run without warm-up) |" in speed_page(tmp_path)


def test_times_of_a_share_of_the_work_are_multiplied_and_labelled(tmp_path, monkeypatch):
    part = Local("part", lambda: None, role="peer", share=(3, 81))
    monkeypatch.setattr(part, "once", lambda: Elapsed(2.0, 3.0))
    (entry,) = compare([part])
    assert (entry["cpu"], entry["wall"], entry["cpu_runs"]) == (54.0, 81.0, [2.0] * 5)
    record("one", "One", [case("c", {}, [entry])], tmp_path / "one.json")
    assert "| part (3 of 81 parts, times multiplied by 27) | 54 | 81 |" in speed_page(tmp_path)


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
        (entry,) = compare([worker], accuracy=lambda result: {"sum": result["x"].sum()}, repeats=2)
        assert (entry["accuracy"], entry["role"]) == ({"sum": 6.0}, "peer")
        assert entry["peak_memory"] > 1_000_000
        assert str(worker.result()["threads"]) == "1"


def test_siblings_share_a_process_and_keep_their_own_inputs_and_results(target, tmp_path):
    folder = tmp_path / "exchange"
    folder.mkdir()
    with Worker("twice", f"{target}:double", {"x": np.arange(3)}, folder) as worker:
        other = worker.sibling("twice", {"x": np.arange(5)})
        entries = compare([worker, other], accuracy=lambda result: {"sum": result["x"].sum()}, repeats=1)
        assert [entry["accuracy"]["sum"] for entry in entries] == [6.0, 20.0]
        assert [entry["peak_memory"] for entry in entries] == [None, None]


def test_a_worker_that_ends_is_named(target, tmp_path):
    with (
        Worker("broken", f"{target}:fail", {}, tmp_path) as worker,
        pytest.raises(BenchmarkError, match=r"'broken' ended with code 3"),
    ):
        worker.once()


def test_a_peer_without_environment_is_skipped_with_the_reason(tmp_path):
    worker = Worker("other", "peers/other.py:run", {}, tmp_path, environment="nowhere")
    reasons = [entry["skipped"] for entry in compare([worker, worker.sibling("again", {})])]
    assert reasons == ["environment 'nowhere' is not there (make bench-env)"] * 2


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
    assert "|  | CPU s | wall s | vs literal |" in page, "columns without figures are left out"
    assert "| tagloom | 0.5 | 0.5 | 10.0 × |" in page
    assert "| p | not run: because |" in page
    assert page == speed_page(tmp_path)
    stored = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert stored["environment"]["threads"] == 1


def test_times_per_photo_further_ratios_and_missing_data_are_on_the_page(tmp_path):
    entries = [entry("one", "ours", 2.0), entry("two", "ours", 0.5)]
    ratios = {"one to two": harness.wall_ratio(entries, "one", "two")}
    cases = [case("photos", {}, entries, photos=100, ratios=ratios), harness.missing_case("gone", "no folder")]
    record("one", "One", cases, tmp_path / "one.json", packages=["pillow"])
    page = speed_page(tmp_path)
    assert "| one | 2 | 2 | 20 | 20 | 50 |" in page
    assert "- one to two: 4.00 ×" in page
    assert "**gone**\n\nNot run: no folder." in page
    assert "pillow " in page


@pytest.mark.skipif(sys.platform != "linux", reason="the CPU time of living children is read from /proc")
def test_children_that_are_still_running_count():
    busy = "x = sum(range(3_000_000)); print(x, flush=True); input()"
    command_line = [sys.executable, "-c", busy]
    before, others = cpu_seconds(), living_children_seconds()
    with subprocess.Popen(command_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        alive = living_children_seconds() - others
        child.communicate("\n")
    assert alive > 0
    # What it used is counted once, whether it is alive or has ended.
    assert cpu_seconds() - before >= alive


def test_an_unknown_benchmark_is_one_line(capsys):
    assert command.main(["run", "nothing-such"]) == 2
    assert "no benchmark ['nothing-such']" in capsys.readouterr().err


def test_all_benchmarks_are_listed(capsys):
    assert command.main(["list"]) == 0
    expected = {"block_cg", "decode", "embedding", "graph", "propagation", "ridge_loo"}
    assert expected <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", command.benchmark_names())
def test_a_benchmark_leaves_the_clock_to_the_harness(name):
    module = import_module(f"benchmarks.speed.{name}")
    assert callable(module.main)
    if name in ("review", "reviewer"):
        return  # the page is measured by the browser's clock and waits for it; the scripted reviewer has a made-up one
    assert module.compare is harness.compare
    assert "time" not in vars(module)


def test_the_folder_of_datasets_is_handed_on(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(
        command.subprocess, "run", lambda *_a, env, **_k: given.append(env) or SimpleNamespace(returncode=0)
    )
    assert command.main(["run", "decode", "--quick", "--data", str(tmp_path)]) == 0
    assert given[0]["TAGLOOM_DATA"] == str(tmp_path.resolve())


def test_propagation_and_block_cg_state_what_they_reach():
    stated = propagation.propagation_case(600, 8, 1, 1)["entries"]
    assert stated[0]["accuracy"]["max. difference from the dense solution"] < 1e-6
    assert stated[2]["share"] == [1, 81]
    solved = block_cg.solver_case(300, 4)
    assert all(entry["accuracy"]["max. relative residual"] <= 1e-6 for entry in solved["entries"])
    assert len(solved["ratios"]) == 2


def test_exact_neighbours_are_those_of_scikit_learn():
    for metric in ("euclidean", "cosine", "l1"):
        entries = graph.exact_case(metric, 200, 8, 1)["entries"]
        assert {entry["accuracy"]["rows with scikit-learn's neighbours"] for entry in entries} == {1.0}


def test_missing_photos_are_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    assert "TAGLOOM_DATA" in decode.corel_case(3, 1)["skipped"]


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


def test_packages_without_what_they_ask_for_come_from_a_second_file(tmp_path, monkeypatch):
    (tmp_path / "small.txt").write_text("numpy\n", encoding="utf-8")
    (tmp_path / "small.no-deps.txt").write_text("greedy\n", encoding="utf-8")
    monkeypatch.setattr(make_env, "HERE", tmp_path)
    monkeypatch.setattr(make_env.venv, "create", lambda folder, **_: folder.mkdir(exist_ok=True))
    commands = []
    monkeypatch.setattr(make_env.subprocess, "run", lambda command, check: commands.append(command[4:]))
    assert make_env.peer_names() == ["small"]
    assert make_env.make("small", tmp_path)
    assert commands == [
        ["--quiet", "-r", str(tmp_path / "small.txt")],
        ["--quiet", "--no-deps", "-r", str(tmp_path / "small.no-deps.txt")],
    ]
    assert not make_env.make("small", tmp_path)
    (tmp_path / "small.no-deps.txt").write_text("greedy>2\n", encoding="utf-8")
    assert make_env.make("small", tmp_path)


def test_an_unknown_peer_is_named(capsys):
    assert make_env.main(["nothing-such"]) == 2
    assert "no peer" in capsys.readouterr().err
