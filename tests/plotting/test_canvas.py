"""What all figures share, and what they promise to everybody: no global state, a clear word without matplotlib."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from tagloom import plotting
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError, TagloomError
from tagloom.plotting._canvas import PALETTE, add_legend, axes_for, ink_on, line_look

GROUPS = FeatureGroups(["colour", "edge"], [2, 1])
# How a colour is seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1), in linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
DRAWINGS = {
    "plot_selected_groups": lambda **more: plotting.plot_selected_groups(
        [True, False, True], GROUPS, scores=[1, 2, 3], **more
    ),
    "plot_paths": lambda **more: plotting.plot_paths(
        [1.0, 0.1], [[0, 0, 0], [1, 2, 3]], GROUPS, truth=[1, 2, 0], chosen=0.5, **more
    ),
    "plot_tag_groups": lambda **more: plotting.plot_tag_groups(np.eye(3), GROUPS, ["a", "b", "c"], **more),
    "plot_surface": lambda **more: plotting.plot_surface(
        [[1, 2]], [1, 10], [1], x_name="μ", y_name="γ", metric_name="MAP", **more
    ),
    "plot_embedding_classes": lambda **more: plotting.plot_embedding_classes(
        [[0, 0], [1, 1]], [0, 1], boundary=lambda grid: grid[:, 0] > 0.5, resolution=5, **more
    ),
    "plot_curves": lambda **more: plotting.plot_curves(
        [1, 2], {"one": ([1, 2], [0.1, 0.1])}, x_name="x", y_name="y", log_x=True, **more
    ),
    "plot_learning_curve": lambda **more: plotting.plot_learning_curve(
        [10, 20], [0.2, 0.3], [0.1, 0.2], [0.3, 0.4], forecast=([20, 40], [0.3, 0.4]), **more
    ),
    "plot_reliability": lambda **more: plotting.plot_reliability([0.2, 0.8], [0.3, 0.7], [10, 10], **more),
    "plot_tag_figures": lambda **more: plotting.plot_tag_figures(
        ["a", "b"], [0.2, 0.8], [0.1, 0.7], [0.3, 0.9], **more
    ),
}


def linear(rgb):
    rgb = np.asarray(rgb)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(rgb):
    return float(linear(rgb) @ [0.2126, 0.7152, 0.0722])


def lab(rgb):
    """CIELAB of linear RGB."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.asarray(to_xyz) @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_public_figure_is_among_these():
    assert sorted(DRAWINGS) == sorted(plotting.__all__)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_drawn_into_the_axes_given_or_into_its_own(name, matplotlib):
    figure = matplotlib.figure.Figure()
    first, second = figure.subplots(1, 2)
    assert DRAWINGS[name](ax=second) is second
    assert second.has_data()
    assert not first.has_data()
    own = DRAWINGS[name]()
    assert own.figure is not figure
    assert own.get_label().endswith(".")
    own.figure.draw_without_rendering()


@pytest.mark.parametrize("name", DRAWINGS)
def test_nothing_global_changes(name, matplotlib):
    before, maps = dict(matplotlib.rcParams), list(matplotlib.colormaps)
    DRAWINGS[name]().figure.draw_without_rendering()
    assert dict(matplotlib.rcParams) == before
    assert list(matplotlib.colormaps) == maps
    assert not matplotlib._pylab_helpers.Gcf.figs, "pyplot knows of a figure"


def test_pyplot_is_not_imported_and_matplotlib_only_to_draw():
    script = (
        "import sys, tagloom, tagloom.plotting as plotting\n"
        "assert 'matplotlib' not in sys.modules\n"
        "series = {'one': ([1, 2], None)}\n"
        "ax = plotting.plot_curves([1, 2], series, x_name='x', y_name='y')\n"
        "ax.figure.savefig(sys.stderr.buffer, format='png')\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert done.stderr.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", DRAWINGS)
def test_without_matplotlib_the_error_says_what_to_install(name, monkeypatch):
    for module in [key for key in sys.modules if key.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TagloomError, match=r'cannot be imported .*pip install "tagloom\[plot\]"') as caught:
        DRAWINGS[name]()
    assert isinstance(caught.value.__cause__, ImportError)


def test_what_is_no_axes_is_refused(matplotlib):
    with pytest.raises(InvalidInputError, match="ax must be a matplotlib Axes or None, got Figure"):
        axes_for(matplotlib.figure.Figure(), (1, 1))


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colours_differ_with_every_kind_of_colour_vision(kind, matplotlib):
    seen = [lab(np.asarray(BLINDNESS[kind]) @ linear(matplotlib.colors.to_rgb(color))) for color in PALETTE]
    distances = [np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)]
    assert min(distances) > 15


def test_colours_stand_out_from_white(matplotlib):
    assert min(1.05 / (luminance(matplotlib.colors.to_rgb(color)) + 0.05) for color in PALETTE) >= 3


def test_the_first_twenty_lines_look_different():
    assert len({str(line_look(index)) for index in range(20)}) == 20


@pytest.mark.parametrize("name", ["cividis", "cividis_r", "gray"])
def test_ink_reads_better_than_the_other_ink(name, matplotlib):
    for color in matplotlib.colormaps[name](np.linspace(0, 1, 41)):
        shade = luminance(color[:3])
        contrasts = {"white": 1.05 / (shade + 0.05), "black": (shade + 0.05) / 0.05}
        assert contrasts[ink_on(color)] == max(contrasts.values()) >= 4.5


def test_legends_show_names_as_they_are():
    ax = axes_for(None, (3, 2))
    names = ["_hidden", "$5 and $6", "plain"]
    add_legend(ax, [ax.plot([1, 2])[0] for _ in names], names)
    ax.figure.draw_without_rendering()
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == names
    assert not any(text.get_parse_math() for text in texts)
