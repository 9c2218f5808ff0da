from tagloom.core.keywords import Keyword
from tagloom.core.statements import Statement
from tagloom.metadata.formats import read_folder_names

BIRDS = Keyword.parse("Animals|Birds")


def test_folders_are_levels():
    reading = read_folder_names([b"Animals/Birds/a.jpg", b"a.jpg", "Cafe\u0301/b.jpg".encode()])
    assert reading.statements == (
        Statement(b"Animals/Birds/a.jpg", (BIRDS,)),
        Statement("Cafe\u0301/b.jpg".encode(), (Keyword.flat("Café"),)),
    )


def test_folders_as_separate_keywords():
    reading = read_folder_names([b"Animals/Birds/Animals/a.jpg"], hierarchy=False)
    assert reading.statements[0].yes == (Keyword.flat("Animals"), Keyword.flat("Birds"))


def test_folders_that_say_nothing():
    reading = read_folder_names([b"dcim/Animals/2024/Birds/a.jpg", b"DCIM/b.jpg"], skip=["DCIM", "2024"])
    assert reading.statements == (Statement(b"dcim/Animals/2024/Birds/a.jpg", (BIRDS,)),)


def test_folders_that_are_no_keywords_are_told_once():
    reading = read_folder_names([b"caf\xe9/a.jpg", b"caf\xe9/b.jpg", b" /c.jpg", b"a|b/d.jpg"])
    assert reading.statements == (Statement(b"a|b/d.jpg", (Keyword.flat("a|b"),)),)
    assert len(reading.problems) == 2
    assert reading.problems[0].startswith("folder 'bytes://caf%E9'")
