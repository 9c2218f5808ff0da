"""The errors of the harness."""


class BenchmarkError(Exception):
    """A description, a command or a result that the harness cannot use; the message says what to do."""


class DataMissingError(BenchmarkError):
    """A dataset is not on this machine; its cells get the status "data missing" with this reason."""
