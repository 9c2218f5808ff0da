def test_a_table_a_document_and_a_figure(tagloom, project, matplotlib):
    shown = tagloom("compare", "ridge", "neighbors", "--folds", 3, "-q", "--figure", "methods.svg")
    assert shown.code == 0
    assert "2 methods on held-out photos, 3 folds" in shown.out
    assert "neighbors" in shown.out
    assert "<svg" in (project / "methods.svg").read_text(encoding="utf-8")
    again = tagloom("compare", "ridge", "neighbors", "--figure", "methods.svg", "-q")
    assert again.code == 1
    assert "methods.svg" in again.err
    found = tagloom("compare", "ridge", "neighbors", "--folds", 3, "-q", "--json").json
    assert {one["method"] for one in found["methods"]} == {"ridge", "neighbors"}
    assert found["interrupted"] is False


def test_a_wrong_figure_or_method_costs_no_work(tagloom, project):
    done = tagloom("compare", "ridge", "--figure", "methods.doc", "-q")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "ends in .svg, .png, .pdf" in done.err
    done = tagloom("compare", "rigde", "-q")
    assert "Did you mean ridge?" in done.err


def test_without_matplotlib_there_is_the_table(tagloom, project, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = tagloom("compare", "ridge", "--figure", "methods.svg", "-q")
    assert (done.code, done.out) == (1, "")
    assert "tagloom[plot]" in done.err
    assert tagloom("compare", "ridge", "neighbors", "--folds", 2, "-q").code == 0
