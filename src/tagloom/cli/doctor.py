"""``tagloom doctor``: whether everything is in place."""

__all__ = ["doctor"]


def doctor() -> None:
    """Show versions, threads, the network, learning methods and optional tools."""
    from tagloom.cli.console import print_table
    from tagloom.workflow.doctor import examine

    for section in examine():
        print_table(section.title, ("", ""), section.rows, n_left=2)
