"""Which descriptors there are, built in or installed, and which of them gives which feature group."""

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module, metadata
from typing import Any

from tagloom.core import missing_attributes
from tagloom.exceptions import InvalidInputError
from tagloom.features.descriptor import Descriptor

__all__ = [
    "DEFAULT_DESCRIPTORS",
    "ENTRY_POINT_GROUP",
    "available_descriptors",
    "available_groups",
    "get_descriptor",
    "resolve_descriptors",
]

ENTRY_POINT_GROUP = "tagloom.descriptors"
DEFAULT_DESCRIPTORS = ("deep", "color", "edges")
_BUILT_IN = {
    "deep": "tagloom.features.network.deep:DeepDescriptor",
    "color": "tagloom.features.classic.color:ColorDescriptor",
    "edges": "tagloom.features.classic.edges:EdgeDescriptor",
    "correlogram": "tagloom.features.classic.correlogram:CorrelogramDescriptor",
    "rgb": "tagloom.features.classic.rgb:RgbDescriptor",
    "edge_blocks": "tagloom.features.classic.edges:EdgeBlockDescriptor",
    "wavelet": "tagloom.features.classic.wavelet:WaveletDescriptor",
    "cooccurrence": "tagloom.features.classic.cooccurrence:CooccurrenceDescriptor",
    "gabor": "tagloom.features.classic.gabor:GaborDescriptor",
    "gist": "tagloom.features.classic.gist:GistDescriptor",
    "gradients": "tagloom.features.classic.gradients:GradientDescriptor",
    "phash": "tagloom.features.classic.phash:PerceptualHashDescriptor",
    "context": "tagloom.features.classic.context:ContextDescriptor",
    "faces": "tagloom.features.network.faces:FacesDescriptor",
    "audio": "tagloom.features.audio.mfcc:MfccDescriptor",
}


def available_descriptors() -> tuple[str, ...]:
    """Return the names of all descriptors: the built-in ones, then installed ones in alphabetical order."""
    return (*_BUILT_IN, *sorted(set(_entry_points()) - set(_BUILT_IN)))


def available_groups() -> dict[str, str]:
    """Return ``{feature group: descriptor}`` of all descriptors with their default parameters.

    A group that two descriptors give belongs to the first in the order of `available_descriptors`. An installed
    descriptor that cannot be made without parameters, or not at all, is left out; `get_descriptor` says why.
    """
    found: dict[str, str] = {}
    for name in available_descriptors():
        for group in _groups_of(name):
            found.setdefault(group, name)
    return found


def get_descriptor(name: str, **parameters: Any) -> Descriptor:
    """Make a descriptor by name.

    Parameters
    ----------
    name : str
        One of `available_descriptors`.
    **parameters
        Passed to the descriptor's constructor.

    Raises
    ------
    InvalidInputError
        If there is no such descriptor, it cannot be loaded, or it does not know a parameter.
    """
    factory = _factory(name)
    try:
        descriptor = factory(**parameters)
    except TypeError as error:
        raise InvalidInputError(f"descriptor {name!r} cannot be made with {sorted(parameters)}: {error}") from error
    missing = missing_attributes(descriptor, Descriptor)
    if missing:
        raise InvalidInputError(
            f"the entry point {name!r} of {ENTRY_POINT_GROUP} gives a {type(descriptor).__name__}, which lacks "
            f"{', '.join(missing)} of tagloom.features.Descriptor"
        )
    found: Descriptor = descriptor
    return found


def resolve_descriptors(wanted: Iterable[str | Descriptor] | None) -> tuple[list[Descriptor], list[str]]:
    """Turn names of groups or descriptors into descriptors to run and groups to keep.

    Parameters
    ----------
    wanted : iterable of str or Descriptor, or None
        A name is looked up among the groups first (that group is kept), then among the descriptors (all its groups are
        kept); None is the default set with all its groups.

    Returns
    -------
    descriptors : list of Descriptor
        Each once.
    groups : list of str
        In the order asked for, each once.
    """
    if isinstance(wanted, str):
        wanted = [wanted]
    descriptors: dict[str, Descriptor] = {}
    providers: dict[str, str] = {}
    for item in [get_descriptor(name) for name in DEFAULT_DESCRIPTORS] if wanted is None else wanted:
        descriptor, groups = (item, list(item.outputs)) if not isinstance(item, str) else _look_up(item)
        descriptors.setdefault(descriptor.key, descriptor)
        for group in groups:
            other = providers.setdefault(group, descriptor.key)
            if other != descriptor.key:
                raise InvalidInputError(
                    f"feature group {group!r} would come from two descriptors, {other!r} and {descriptor.key!r}; "
                    f"ask for one"
                )
    return list(descriptors.values()), list(providers)


def _look_up(name: str) -> tuple[Descriptor, list[str]]:
    groups = available_groups()
    if name in groups:
        return get_descriptor(groups[name]), [name]
    if name in available_descriptors():
        descriptor = get_descriptor(name)
        return descriptor, list(descriptor.outputs)
    raise InvalidInputError(
        f"no feature group or descriptor {name!r}; groups: {', '.join(groups)}; "
        f"descriptors: {', '.join(available_descriptors())}"
    )


def _groups_of(name: str) -> tuple[str, ...]:
    try:
        return tuple(get_descriptor(name).outputs)
    except Exception:
        if name in _BUILT_IN:
            raise
        return ()  # one broken package must not keep the others from being found


def _factory(name: str) -> Callable[..., Any]:
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), attribute)
        return factory
    entry_points = _entry_points()
    if name not in entry_points:
        raise InvalidInputError(f"no descriptor {name!r}; there are {', '.join(available_descriptors())}")
    try:
        factory = entry_points[name].load()
    except Exception as error:  # whatever another package does when it is imported
        raise InvalidInputError(
            f"descriptor {name!r} ({entry_points[name].value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return factory


@functools.cache
def _entry_points() -> Mapping[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=ENTRY_POINT_GROUP)}
