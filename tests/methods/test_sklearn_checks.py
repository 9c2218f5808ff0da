"""scikit-learn's own checks on every annotator."""

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.methods.expected_failures import ANNOTATORS, NOT_RUN, expected_failures, marks_of, title


def name_of(check):
    arguments = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{check.func.__name__}({arguments})" if arguments else check.func.__name__


def cases():
    for annotator in ANNOTATORS:
        expected = expected_failures(annotator)
        marks = marks_of(annotator)
        for instance, check in estimator_checks_generator(annotator):
            name = check.func.__name__
            if name in NOT_RUN:
                continue
            case = f"{title(annotator)}-{name_of(check)}"
            yield pytest.param(instance, check, expected.get(name), marks=marks, id=case)


@pytest.mark.medium
@pytest.mark.parametrize(("annotator", "check", "reason"), list(cases()))
def test_scikit_learn_conventions_hold(annotator, check, reason):
    if reason is None:
        check(annotator)
        return
    # Not by a mark: for that pytest would print the source of every call, in which most of the time went.
    with pytest.raises(Exception) as found:  # noqa: PT011
        check(annotator)
    assert not isinstance(found.value, SkipTest)
    pytest.xfail(reason)
