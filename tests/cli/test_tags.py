import pytest


def _tags(tagloom):
    return {tag["text"]: tag for tag in tagloom("tags", "list", "--json").json["tags"]}


def test_the_list_need_not_be_named(tagloom, project):
    named, bare = tagloom("tags", "list"), tagloom("tags")
    assert named.code == bare.code == 0
    assert named.out == bare.out
    assert tagloom("tags", "--json").json == tagloom("tags", "list", "--json").json
    for flag in ("-h", "--help"):
        assert "rename" in tagloom("tags", flag).out
    assert tagloom("tags", "sing").code == 2


def test_changes_and_their_undo(tagloom, project):
    before = _tags(tagloom)
    assert tagloom("tags", "rename", "sea", "ocean").out.startswith("sea is now ocean (action ")
    assert _tags(tagloom)["ocean"]["aliases"] == ["sea"]
    tagloom("tags", "alias", "mer", "ocean")
    assert tagloom("tags", "alias", "mer", "ocean", "--json").json["batch"] is None
    tagloom("tags", "merge", "grass", "tree")
    assert "grass" not in _tags(tagloom)
    assert tagloom("tags", "imply", "ocean", "sky").code == 0
    assert _tags(tagloom)["ocean"]["implies"] == ["sky"]
    assert "ocean" in tagloom("tags").out
    assert tagloom("tags", "forget", "ocean", "sky", "-q").out == ""
    for _ in range(5):
        assert tagloom("undo").code == 0
    assert _tags(tagloom) == before


@pytest.mark.parametrize(
    "wrong", [("rename", "unheard", "x"), ("merge", "sea", "sea"), ("imply", "sea", "sea"), ("forget", "sea", "sky")]
)
def test_errors(tagloom, project, wrong):
    done = tagloom("tags", *wrong)
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1


def test_a_tag_made_by_mistake_is_gone_with_its_action(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "typo")
    tagloom("undo")
    assert "typo" not in [tag["text"] for tag in tagloom("tags", "--json").json["tags"]]
    done = tagloom("label", "scene_00001.jpg", "--add", "typo", "--known-tags")
    assert done.code == 1
    assert "there is no tag 'typo'" in done.err
    tagloom("redo")
    assert "typo" in [tag["text"] for tag in tagloom("tags", "--json").json["tags"]]
    assert tagloom("label", "scene_00001.jpg", "--add", "typo", "--known-tags").code == 0


def test_two_tags_that_are_alike_are_pointed_out_once(tagloom, project):
    tagloom("label", "scene_00000.jpg", "--add", "harbor", "--add", "harbors")
    hints = tagloom("tags", "--json").json["hints"]
    assert hints == ['"harbors" looks like "harbor". To merge them: tagloom tags merge harbors harbor']
    tagloom("label", "scene_00001.jpg", "--add", "harbors", "--known-tags")
    (hint,) = tagloom("tags", "--json").json["hints"]
    assert hint.endswith("tags merge harbor harbors")  # more photos have that


def test_a_tag_without_photos_stays_if_anything_else_is_said_of_it(tagloom, project):
    for name in ("bare", "other", "above"):
        tagloom("label", "scene_00000.jpg", "--add", name)
    tagloom("tags", "alias", "nickname", "other")
    tagloom("tags", "imply", "sky", "above")
    for name in ("bare", "other", "above"):
        tagloom("label", "scene_00000.jpg", "--clear", name)
    listed = {tag["text"] for tag in tagloom("tags", "--json").json["tags"]}
    assert {"other", "above"} <= listed
    assert "bare" not in listed


def test_a_very_long_keyword_does_not_fill_the_table(tagloom, project):
    long, also = "word " * 300, "name " * 300
    tagloom("label", "scene_00000.jpg", "--add", long)
    tagloom("tags", "alias", also, long)
    tagloom("tags", "alias", f"{also} 2", long)
    shown = tagloom("tags").out
    assert max(map(len, shown.splitlines())) <= 200  # the terminal
    assert len(shown.splitlines()) < len(tagloom("tags", "--json").json["tags"]) + 12
    assert (shown.count("word"), shown.count("name")) == (16, 17)  # 80 characters each, and the title of the column
    assert tagloom("tags", "-v").out.count("word") == 300
