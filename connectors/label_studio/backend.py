"""What a Label Studio ML backend does with a tagloom project: suggestions out, annotations in.

Nothing here needs Label Studio; `_wsgi.py` puts it behind label-studio-ml. All state is in the project, which
``tagloom serve`` serves.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import tagloom
from tagloom.exceptions import InvalidInputError, RemoteError

log = logging.getLogger("tagloom")

N_ORDERED = 1_000
#: Seconds for which an order of photos to label next is used again: Label Studio asks for one task at a time.
ORDER_SECONDS = 5.0


@dataclass(frozen=True)
class Control:
    """The choices of a labelling configuration, and the image that they are about."""

    name: str
    image: str
    data_key: str
    tags: tuple[str, ...]
    is_single: bool

    @classmethod
    def of(cls, label_config: str) -> "Control":
        """Find the first ``Choices`` over an ``Image``.

        Parameters
        ----------
        label_config : str
            The configuration of a Label Studio project, as XML.

        Raises
        ------
        InvalidInputError
            If there is none.
        """
        try:
            root = ElementTree.fromstring(label_config)  # noqa: S314 - expat bounds what entities may become
        except ElementTree.ParseError as error:
            raise InvalidInputError(f"the labelling configuration is no XML: {error}") from error
        images = {one.get("name"): one.get("value", "").removeprefix("$") for one in root.iter("Image")}
        for choices in root.iter("Choices"):
            image = choices.get("toName", "")
            tags = tuple(one.get("value", "") for one in choices.iter("Choice") if one.get("value"))
            if image in images and tags:
                is_single = not choices.get("choice", "single").startswith("multiple")
                return cls(choices.get("name", ""), image, images[image] or "", tags, is_single)
        raise InvalidInputError("the labelling configuration has no <Choices> over an <Image>; add one")


class Backend:
    """Answers Label Studio with what a project knows.

    Parameters
    ----------
    connect : callable
        Returns the project, as `tagloom.connect` does.
    folder : str
        Where the folder of photos is below Label Studio's document root; default: it is the document root.
    train_every : int
        How many newly labelled photos start a training; 0: Label Studio's button alone.
    """

    def __init__(
        self, connect: Callable[[], AbstractContextManager[Any]], *, folder: str = "", train_every: int = 10
    ) -> None:
        self._connect = connect
        self._folder = folder.strip("/")
        self._train_every = train_every
        self._n_new = 0
        self._order: tuple[float, dict[int, float]] = (float("-inf"), {})

    @classmethod
    def from_environment(cls) -> "Backend":
        """Make one as ``TAGLOOM_URL``, ``TAGLOOM_TOKEN_FILE``, ``TAGLOOM_FOLDER`` and ``TAGLOOM_TRAIN_EVERY`` say."""
        url = os.environ.get("TAGLOOM_URL", "http://127.0.0.1:8765")
        try:
            token = Path(os.environ["TAGLOOM_TOKEN_FILE"]).read_text(encoding="ascii").strip()
        except (KeyError, OSError, ValueError) as error:
            raise InvalidInputError(
                f"no token ({error}); run: tagloom serve user add label-studio --role owner > token,"
                " and set TAGLOOM_TOKEN_FILE=token"
            ) from error
        return cls(
            lambda: tagloom.connect(url, token),
            folder=os.environ.get("TAGLOOM_FOLDER", ""),
            train_every=int(os.environ.get("TAGLOOM_TRAIN_EVERY", "10")),
        )

    def version(self) -> str:
        """Return the version of the model: it changes with each training."""
        with self._connect() as project:
            return _version(project.status())

    def predict(self, tasks: Iterable[dict[str, Any]], label_config: str) -> list[dict[str, Any]]:
        """Return a prediction for each task.

        Parameters
        ----------
        tasks : iterable of dict
            Tasks of Label Studio.
        label_config : str
            The labelling configuration.

        Returns
        -------
        list of dict
            The choices are the tags that are accepted or suggested. ``score`` of the choices is the probability of the
            least certain one, where there are probabilities; ``meta`` has the probability or score of each. ``score``
            of the prediction is the photo's place in the order of what to label next, from 0 (label this first) to 1:
            Label Studio's *Uncertainty sampling* shows low scores first.
        """
        control = Control.of(label_config)
        with self._connect() as project:
            status = project.status()
            order = self._ordered(project)
            return [self._prediction(project, control, status, order, task) for task in tasks]

    def _prediction(
        self, project: Any, control: Control, status: Any, order: dict[int, float], task: dict[str, Any]
    ) -> dict[str, Any]:
        found = {"model_version": _version(status), "score": 1.0, "result": []}
        try:
            photo = project.photo(self._path(control, task))
        except InvalidInputError as error:
            log.warning("task %s: %s", task.get("id"), error)
            return found
        suggested = {tag for tag, _ in photo["suggested"]}
        chosen = {
            tag["text"]: 1.0 if tag["state"] == 1 else tag["p"]
            for tag in photo["tags"]
            if tag["text"] in control.tags and (tag["state"] == 1 or (tag["state"] is None and tag["id"] in suggested))
        }
        if control.is_single:
            chosen = dict(sorted(chosen.items(), key=lambda item: -_known(item[1]))[:1])
        found["score"] = order.get(photo["id"], 1.0)
        if chosen:
            result = {
                "from_name": control.name,
                "to_name": control.image,
                "type": "choices",
                "value": {"choices": sorted(chosen)},
                "meta": {"kind": status["kind"], "values": chosen},
            }
            values = [value for value in chosen.values() if value is not None]  # others proposed the rest
            if values and status["kind"] == "probability":
                result["score"] = min(values)
            found["result"] = [result]
        return found

    def event(self, action: str, data: dict[str, Any]) -> None:
        """Take in an event of Label Studio: what somebody annotated, or the wish to train.

        Chosen tags are accepted and all others of the choices are rejected: whoever submits has seen them. What
        somebody only skips says nothing.

        Parameters
        ----------
        action : str
            Such as ``ANNOTATION_CREATED``.
        data : dict
            What came with it.
        """
        with self._connect() as project:
            if action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
                self._n_new += self._labelled(project, data)
            if action == "START_TRAINING" or 0 < self._train_every <= self._n_new:
                self._n_new = 0
                self._train(project)

    def _labelled(self, project: Any, data: dict[str, Any]) -> bool:
        annotation = data["annotation"]
        control = Control.of(data["project"]["label_config"])
        if annotation.get("was_cancelled"):
            return False
        chosen = {
            tag
            for item in annotation["result"]
            if item.get("type") == "choices" and item.get("from_name") == control.name
            for tag in item["value"]["choices"]
        }
        path = self._path(control, data["task"])
        project.label((), add=control.tags)  # makes the tags: one that nobody chose yet can be rejected, too
        rejected = [tag for tag in control.tags if tag not in chosen]
        project.label(path, add=[tag for tag in control.tags if tag in chosen], remove=rejected)
        return True

    def _train(self, project: Any) -> None:
        try:
            project.train()
        except RemoteError as error:
            # Too few labels yet, or somebody trains already: the next labels ask again.
            log.warning("not trained: %s", error)
        self._order = (float("-inf"), {})

    def _ordered(self, project: Any) -> dict[int, float]:
        at, order = self._order
        if time.monotonic() - at > ORDER_SECONDS:
            ids = project.next_photos(N_ORDERED)["ids"]
            order = {photo: round(rank / max(len(ids), 1), 6) for rank, photo in enumerate(ids)}
            self._order = (time.monotonic(), order)
        return order

    def _path(self, control: Control, task: dict[str, Any]) -> str:
        """Return the photo of a task, as a path below the folder of photos."""
        data = task.get("data", {})
        if isinstance(data.get("file"), str):  # `tagloom export --format label-studio` wrote it
            return str(data["file"])
        address = urlsplit(str(data.get(control.data_key, "")))
        given = parse_qs(address.query).get("d", [""])[0].strip("/")
        folder = f"{self._folder}/" if self._folder else ""
        if not address.path.endswith("/data/local-files/") or not given.startswith(folder) or not given:
            raise InvalidInputError(f"{str(data)[:200]} names no local file below {folder or 'the document root'!r}")
        return given.removeprefix(folder)


def _version(status: Any) -> str:
    model = status["model"]
    return "none" if model is None else f"{model['method']} {model['id']}"


def _known(value: float | None) -> float:
    return float("-inf") if value is None else value
