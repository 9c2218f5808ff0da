from tagloom.core.verdicts import Verdict
from tagloom.images.verdicts import LONGEST_DETAIL, Refused


def test_details_are_one_printable_line():
    refused = Refused(Verdict.DAMAGED, "bad\nbytes \x00\x1b[31m" + "x" * 1000)
    assert refused.detail.isprintable()
    assert refused.detail.startswith("bad bytes [31mxx")
    assert len(refused.detail) == LONGEST_DETAIL
