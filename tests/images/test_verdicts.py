from tagloom.core.photos import Verdict
from tagloom.images import verdicts


def test_the_worker_and_the_parent_mean_the_same():
    names = [name for name in verdicts.__all__ if name.isupper()]
    assert {getattr(verdicts, name) for name in names} <= {member.value for member in Verdict}
    assert all(Verdict[name].value == getattr(verdicts, name) for name in names)


def test_details_are_one_printable_line():
    refused = verdicts.Refused(verdicts.DAMAGED, "bad\nbytes \x00\x1b[31m" + "x" * 1000)
    assert refused.detail.isprintable()
    assert refused.detail.startswith("bad bytes [31mxx")
    assert len(refused.detail) == verdicts.LONGEST_DETAIL
