"""What must never happen, provoked: kills, a full disk, many writers, and a trace of what is synchronised when.

``python -m benchmarks.faults kills | trace | full-disk | processes | report``; the verifier is always another process
than the one that is disturbed.
"""
