import dataclasses

import pytest

from tagloom.core.keywords import Keyword
from tagloom.core.statements import PhotoKeywords, Statement

SEA = Keyword.flat("sea")


def test_a_statement_says_only_what_it_is_given():
    statement = Statement(b"a.jpg", (SEA,))
    assert (statement.no, statement.unknown) == ((), ())
    assert statement == Statement(b"a.jpg", (Keyword.parse("sea"),))
    assert statement != Statement(b"a.jpg", (), (SEA,))
    assert len({statement, Statement(b"a.jpg", (SEA,))}) == 1


def test_what_was_said_cannot_be_changed():
    photo = PhotoKeywords(b"a.jpg", 4, 3, (SEA,), ((Keyword.flat("sand"), 0.7),))
    assert photo.rejected == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        photo.accepted = ()
