"""What the program tells the shell when it ends, and how the help of every command says so."""

__all__ = ["EPILOG", "EXIT_CODES", "EXIT_ERROR", "EXIT_INTERRUPTED", "INTERRUPTED"]

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
INTERRUPTED = "interrupted; what was finished is kept. Run the same command again to go on"
EXIT_CODES = (
    "Exit codes: 0 done, 1 an error that one line explains, 2 wrong usage, 130 interrupted; run again to go on."
)
EPILOG = f"--debug shows the traceback of an error. {EXIT_CODES}"
