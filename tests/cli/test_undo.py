def test_back_and_forth(tagloom, project):
    before = tagloom("status", "--json").json
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    undone = tagloom("undo")
    assert undone.out.startswith("undone: label 1 photo: +fresh")
    assert tagloom("status", "--json").json["n_yes"] == before["n_yes"]
    assert tagloom("redo").out.startswith("done again: ")
    assert tagloom("status", "--json").json["n_yes"] == before["n_yes"] + 1


def test_a_named_action(tagloom, project):
    first = tagloom("label", "scene_00000.jpg", "--add", "one", "--json").json["batch"]["id"]
    tagloom("label", "scene_00000.jpg", "--add", "two")
    assert tagloom("undo", first, "--json").json["batch"]["id"] == first
    again = tagloom("undo", first)
    assert again.code == 1
    assert again.err.count("\n") == 1
    assert tagloom("undo", 999).code == 1


def test_files_changed_since_are_left_if_asked(tagloom, project):
    n = tagloom("write", "--json", "-q").json["counts"]["written"]
    changed = sorted(project.glob("*.xmp"))[0]
    changed.write_text(changed.read_text() + "\n")
    refused = tagloom("undo")
    assert refused.code == 1
    assert "tagloom undo --leave-changed" in refused.err
    done = tagloom("undo", "--leave-changed", "--json").json
    assert (done["n_files"], len(done["left_alone"])) == (n - 1, 1)
    assert changed.exists()


def test_nothing_to_undo(tagloom, photos):
    tagloom("init", photos)
    done = tagloom("undo", "--project", photos)
    assert (done.code, done.out) == (0, "Nothing to undo\n")
    assert tagloom("undo", "--project", photos, "--json").json["batch"] is None


def test_what_is_in_force_or_undone_already_is_said_of_an_action(tagloom, project):
    number = tagloom("label", "scene_00000.jpg", "--add", "x", "--json").json["batch"]["id"]
    done = tagloom("redo", number)
    assert done.code == 1
    assert f"action {number} (" in done.err
    assert "is in force" in done.err
    tagloom("undo", number)
    assert f"action {number} (" in (again := tagloom("undo", number).err)
    assert "undone already" in again
