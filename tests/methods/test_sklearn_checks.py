"""scikit-learn's own checks on every annotator."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.methods.expected_failures import ANNOTATORS, NOT_RUN, expected_failures, title


def name_of(check):
    arguments = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{check.func.__name__}({arguments})" if arguments else check.func.__name__


def cases():
    for annotator in ANNOTATORS:
        expected = expected_failures(annotator)
        for instance, check in estimator_checks_generator(annotator):
            name = check.func.__name__
            if name in NOT_RUN:
                continue
            marks = [pytest.mark.xfail(reason=expected[name])] if name in expected else []
            yield pytest.param(instance, check, marks=marks, id=f"{title(annotator)}-{name_of(check)}")


@pytest.mark.medium
@pytest.mark.parametrize(("annotator", "check"), list(cases()))
def test_scikit_learn_conventions_hold(annotator, check):
    check(annotator)
