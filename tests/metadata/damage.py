"""Sidecars damaged at random, by a seed: some beyond repair, some still well-formed but strange."""

import random

SCRAPS = (
    *(
        b"<",
        b">",
        b"&",
        b'"',
        b"'",
        b"/",
        b"\0",
        b"]]>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"&#x41;",
        b"&#0;",
        b"<!-- -->",
    ),
    *(b"<rdf:li>", b"</rdf:li>", b"<rdf:Bag/>", b"<rdf:li/>", b"<rdf:li>new</rdf:li>", b" xmlns:dc='urn:x'", b"<?pi?>"),
)


def damaged(original: bytes, generator: random.Random) -> bytes:
    """Return a sidecar with one or two mutations."""
    data = bytearray(original)
    for _ in range(generator.randint(1, 2)):
        start = generator.randrange(len(data))
        kind = generator.randrange(6)
        if kind == 0:
            data[start] = generator.randrange(256)
        elif kind == 1:
            del data[start : start + generator.randint(1, 12)]
        elif kind == 2:
            data[start:start] = generator.choice(SCRAPS)
        elif kind == 3:
            data[start : start + 1] = generator.choice([b" ", b"\n", b"\r\n", b"e"])
        else:
            lines = bytes(data).splitlines(keepends=True)
            row = generator.randrange(len(lines))
            lines[row : row + 1] = generator.choice([[], 2 * [lines[row]], [lines[row], generator.choice(SCRAPS)]])
            data = bytearray(b"".join(lines)) or bytearray(b"\n")
    return bytes(data)
