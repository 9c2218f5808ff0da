"""The page's state, outbox and numbers, without a browser: the tests of ``tests/web/js`` in node."""

import subprocess
from pathlib import Path

TESTS = Path(__file__).parent / "js"


def test_state_outbox_and_numbers(node):
    ran = subprocess.run([node, "--test", str(TESTS)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "# pass 0" not in ran.stdout
