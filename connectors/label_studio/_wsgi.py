"""A Label Studio ML backend over a tagloom project; run: ``label-studio-ml start connectors/label_studio``.

label-studio-ml has the routes. What it would do for each event, a process and a folder of its own, is replaced by one
thread that takes them in turn: all state is in the project.
"""

import argparse
import logging
import queue
import sys
import threading
from pathlib import Path
from typing import Any

from flask import abort, request
from label_studio_ml.api import init_app
from label_studio_ml.model import JobManager, LabelStudioMLBase, LabelStudioMLManager

sys.path.insert(0, str(Path(__file__).parent))
from backend import Backend

BACKEND = Backend.from_environment()


class Tagloom(LabelStudioMLBase):  # type: ignore[misc]
    """What label-studio-ml makes for each labelling configuration."""

    def predict(self, tasks: list[dict[str, Any]], **_: Any) -> list[dict[str, Any]]:
        """Return a prediction for each task."""
        return BACKEND.predict(tasks, self.label_config)


class InTurn(JobManager):  # type: ignore[misc]
    """Takes one event after another."""

    def __init__(self) -> None:
        self._events: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def run_job(self, model_class: type, args: tuple[str, dict[str, Any], str]) -> None:  # noqa: ARG002
        """Put an event behind the others."""
        event, data, _ = args
        self._events.put((event, data))

    def get_result(self, model_version: str | None = None) -> dict[str, str]:  # noqa: ARG002
        """Return the version of the project's model."""
        return {"job_id": BACKEND.version()}

    def _work(self) -> None:
        while True:
            event, data = self._events.get()
            try:
                BACKEND.event(event, data)
            except Exception:
                logging.exception("%s was not taken in", event)


JOBS = InTurn()
LabelStudioMLManager.get_job_manager = staticmethod(lambda: JOBS)
app = init_app(Tagloom)
HOSTS = {"127.0.0.1", "localhost"}


@app.before_request
def only_known_hosts() -> None:
    """Refuse what a web page asks for under a name of its own."""
    if request.host.rpartition(":")[0] not in HOSTS:
        abort(403)


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="label-studio-ml start connectors/label_studio", description=__doc__)
    parser.add_argument("-p", "--port", type=int, default=9090)
    parser.add_argument("--host", default="127.0.0.1", help="anybody who reaches it can label and train")
    parser.add_argument("--name", action="append", default=[], help="a name under which Label Studio reaches it")
    arguments = parser.parse_args()
    HOSTS.update(arguments.name)
    logging.basicConfig(level=logging.INFO)
    app.run(host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()
