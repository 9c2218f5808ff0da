"""Labels as a project would read them, from a matrix of what was said."""

import numpy as np

from tagloom.core.labels import labeled_rows
from tagloom.learning.labels import Judgements, TrainingLabels, fill_silence


def labels_of(said, *, listed=None, reviewed=None, looks=None):
    said = np.asarray(said, dtype=np.int8)
    n, n_tags = said.shape
    listed = labeled_rows(said) if listed is None else listed
    Y, named = fill_silence(said, listed)
    tags = [f"tag {column}" for column in range(n_tags)]
    return TrainingLabels(
        said=said,
        Y=Y,
        named=named,
        listed=listed,
        reviewed=np.zeros(n_tags, dtype=bool) if reviewed is None else np.asarray(reviewed),
        tag_ids=np.arange(n_tags),
        tags=tags,
        digest="",
        n_decisions=0,
        column_digests=tags,
        photo_ids=np.arange(n),
        judgements=Judgements() if looks is None else looks,
    )
