"""``tagloom status``: where the project stands, and what to do next."""

from tagloom.cli.console import print_json, print_line, print_table
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, command_here, moment, opened

__all__ = ["status"]


def status(
    project: ProjectOption = None, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Show the state of the project and what to do next. No photo is opened.

    Example: tagloom status
    """
    with opened(project, verbose=verbose) as found:
        now = found.status()
        command = command_here(found, now.command)
    if as_json:
        print_json(now.as_dict())
        return
    away = f" ({now.n_unwritten_missing} of missing photos)" if now.n_unwritten_missing else ""
    model = "none" if now.model is None else f"{now.model} ({now.method})"
    rows = [
        ("photos", f"{now.n_present}"),
        ("of these labelled", f"{now.n_labeled}"),
        ("of these not readable", f"{now.n_unreadable}"),
        ("missing", f"{now.n_missing}"),
        ("out of reach", f"{now.n_offline}"),
        ("last scan", moment(now.scanned)),
        ("tags", f"{now.n_tags}"),
        ("accepted, rejected", f"{now.n_yes}, {now.n_no}"),
        ("model", model),
        ("decisions since", f"{now.n_new_decisions}"),
        ("actions not written to sidecars", f"{now.n_unwritten}{away}"),
    ]
    print_table(f"{now.root}{'' if now.online else ' (offline)'}", ("", ""), rows)
    if not quiet:
        print_line(f"{now.next_step}")
        print_line(f"  {command}")
