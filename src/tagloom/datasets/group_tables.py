"""MSRA-MM 2.0 and Kodak's consumer videos, of which the numbers are documented and the files are not.

What is published of both sets are the feature groups with their dimensions, the number of images and the number of
concepts. The names and the format of the distributed files are documented nowhere public that could be found (the
report on the Kodak set describes annotation and lexicon). The loaders therefore ask for what is documented and nothing
else: one text file of numbers for each group, one row per image in the same order everywhere, one file of label states
and one of concept names. Where the files on disk are called otherwise, ``files`` says so.
"""

import os
from collections.abc import Mapping

from tagloom.core.groups import FeatureGroups
from tagloom.core.vocabulary import TagVocabulary
from tagloom.datasets._tables import AnnotatedImages, check_choice, find_file
from tagloom.datasets._text_tables import read_names, read_numbers, read_states

__all__ = ["load_kodak", "load_msra_mm"]

_MSRA_MM = {
    "correlogram": 144,
    "edge_blocks": 75,
    "faces": 7,
    "color": 64,
    "moments": 225,
    "rgb": 256,
    "wavelet": 128,
}
_KODAK = {
    "correlogram": 144,
    "cooccurrence": 16,
    "edges": 73,
    "faces": 7,
    "color": 64,
    "moments": 225,
    "wavelet": 128,
}


def load_msra_mm(folder: str | os.PathLike[str], *, files: Mapping[str, str] | None = None) -> AnnotatedImages:
    """Load MSRA-MM 2.0 (Li, Wang, Hua 2009): web images with 100 concepts and seven feature groups, 899 columns.

    The names of the distributed files are not documented publicly; see the module. Rows and columns are.

    Parameters
    ----------
    folder : path
        Holds ``concepts.txt`` (a name a line), ``labels.txt`` (a row of 1, 0 or -1 per image, a column per concept) and
        for each group ``<group>.txt``: correlogram (144), edge_blocks (75, the edge direction histogram), faces (7),
        color (64), moments (225), rgb (256) and wavelet (128); numbers parted by blanks or commas.
    files : mapping of str to str, optional
        Other names for some of these, such as ``{"labels": "annotation.dat", "rgb": "RGB256.dat"}``.

    Returns
    -------
    AnnotatedImages
        Without photos and without a split: none is published. Paper 004 has 42,266 images with two labels or more.
    """
    return _load("MSRA-MM 2.0", folder, _MSRA_MM, files)


def load_kodak(folder: str | os.PathLike[str], *, files: Mapping[str, str] | None = None) -> AnnotatedImages:
    """Load key frames of Kodak's consumer videos (Loui et al. 2007): seven feature groups, 657 columns.

    The names of the distributed files are not documented publicly; see the module. Rows and columns are those that
    paper 004 describes.

    Parameters
    ----------
    folder : path
        Holds ``concepts.txt`` (a name a line), ``labels.txt`` (a row of 1, 0 or -1 per image, a column per concept) and
        for each group ``<group>.txt``: correlogram (144), cooccurrence (16), edges (73), faces (7), color (64), moments
        (225) and wavelet (128); numbers parted by blanks or commas.
    files : mapping of str to str, optional
        Other names for some of these, such as ``{"labels": "annotation.dat"}``.

    Returns
    -------
    AnnotatedImages
        Without photos and without a split: none is published. Paper 004 has 3,590 images and 22 concepts.
    """
    return _load("Kodak consumer videos", folder, _KODAK, files)


def _load(
    source: str, folder: str | os.PathLike[str], sizes: Mapping[str, int], files: Mapping[str, str] | None
) -> AnnotatedImages:
    names = {name: f"{name}.txt" for name in ("concepts", "labels", *sizes)}
    for name in files or ():
        check_choice("the keys of files", name, tuple(names))
    paths = {name: find_file(folder, file, source) for name, file in (names | dict(files or {})).items()}
    concepts = read_names(paths["concepts"])
    Y = read_states(paths["labels"], len(concepts))
    groups = FeatureGroups.from_mapping(sizes)
    return AnnotatedImages(
        name=source,
        tags=TagVocabulary(concepts),
        Y=Y,
        X=groups.join({name: read_numbers(paths[name], size, len(Y)) for name, size in sizes.items()}),
        groups=groups,
    )
