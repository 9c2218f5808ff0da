"""exiftool and exiv2: they show and set fields, and know no tags of their own."""

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.interop.cases import Keywords, Path_, normal
from benchmarks.interop.desktop import missing

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
_HIERARCHY = "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject"


def combined(flat: Iterable[str], paths: Iterable[str]) -> set[Path_]:
    """Return the keywords of a photo with these values of dc:subject and lr:hierarchicalSubject."""
    found = {normal(path.split("|")) for path in paths}
    levels = {level for path in found for level in path}
    return found | {normal([name]) for name in flat if normal([name])[0] not in levels}


def levels_of(keywords: Iterable[Path_]) -> set[str]:
    """Return every level of every keyword."""
    return {level for keyword in keywords for level in keyword}


class Exiftool:
    """exiftool on sidecars."""

    name = "exiftool"

    def why_not(self) -> str:
        """Return why it cannot be used; empty if it can."""
        return missing("exiftool")

    def version(self) -> str:
        """Return its version."""
        return _output(["exiftool", "-ver"]).strip()

    def read(self, folder: Path, names: Iterable[str], *, embedded: bool = False) -> Keywords:
        """Return the keywords of sidecars, or of the photos themselves."""
        files = {name: folder / (name if embedded else f"{name}.xmp") for name in names}
        return {name: self._fields(path) for name, path in files.items() if path.is_file()}

    def iptc(self, folder: Path, names: Iterable[str]) -> dict[str, set[str]]:
        """Return the IPTC keywords inside photos."""
        return {name: {normal([each])[0] for each in self._json(folder / name, "IPTC:Keywords")} for name in names}

    def write(self, folder: Path, keywords: Keywords) -> None:
        """Make sidecars with dc:subject and lr:hierarchicalSubject."""
        for name, several in keywords.items():
            lines = [f"-XMP-dc:Subject={level}" for level in sorted(levels_of(several))]
            lines += [f"-XMP-lr:HierarchicalSubject={'|'.join(each)}" for each in several if not _has_bar(each)]
            lines += ["-overwrite_original", f"{folder / name}.xmp"]
            _output(["exiftool", "-config", "", "-@", "-"], "\n".join(lines))

    def _fields(self, path: Path) -> set[Path_]:
        return combined(self._json(path, "XMP-dc:Subject"), self._json(path, "XMP-lr:HierarchicalSubject"))

    def _json(self, path: Path, field: str) -> list[str]:
        # Numbers stay as they are written: the values are text whatever they look like.
        lines = ["-json", "-struct", "-charset", "iptc=UTF8", f"-{field}", str(path)]
        (found,) = json.loads(_output(["exiftool", "-config", "", "-@", "-"], "\n".join(lines)), parse_int=str)
        value = found.get(field.split(":")[1], [])
        return [str(each) for each in (value if isinstance(value, list) else [value])]


class Exiv2:
    """exiv2: the library inside darktable and digiKam; writes into the photos."""

    name = "exiv2"
    formats = (".jpg", ".png", ".tif", ".webp")

    def why_not(self) -> str:
        """Return why it cannot be used; empty if it can."""
        return missing("exiv2")

    def version(self) -> str:
        """Return its version."""
        found = re.search(r"exiv2 ([0-9.]+)", _output(["exiv2", "--version"]))
        return found[1] if found else ""

    def read(self, folder: Path, names: Iterable[str], *, embedded: bool = False) -> Keywords:
        """Return the keywords of sidecars, or of the photos themselves."""
        found = {}
        for name in names:
            path = folder / (name if embedded else f"{name}.xmp")
            if path.is_file():
                found[name] = packet_keywords(_output(["exiv2", "-eX-", str(path)]))
        return found

    def write(self, folder: Path, keywords: Keywords) -> None:
        """Write dc:subject and lr:hierarchicalSubject into photos."""
        for name, several in keywords.items():
            # Each line adds to the list; the quotes around a value go.
            lines = [f'set Xmp.dc.subject XmpBag "{level}"' for level in sorted(levels_of(several))]
            paths = ["|".join(each) for each in sorted(several) if not _has_bar(each)]
            lines += [f'set Xmp.lr.hierarchicalSubject XmpBag "{path}"' for path in paths]
            commands = folder.parent / "commands.txt"
            commands.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            _output(["exiv2", "-m", str(commands), str(folder / name)])


def packet_keywords(text: str) -> set[Path_]:
    """Return the keywords of an XMP packet by its fields dc:subject and lr:hierarchicalSubject."""
    text = text[text.find("<x:xmpmeta") : text.rfind("</x:xmpmeta>") + len("</x:xmpmeta>")]
    if not text.startswith("<x:xmpmeta"):
        return set()
    root = ElementTree.fromstring(text)

    def values(field: str) -> list[str]:
        return [item.text or "" for node in root.iter(field) for item in node.iter(f"{_RDF}li")]

    return combined(values(_SUBJECT), values(_HIERARCHY))


def _has_bar(keyword: Path_) -> bool:
    return any("|" in level for level in keyword)


def _output(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=120)
    if done.returncode not in (0, 253):  # 253: exiv2 has nothing to show
        raise RuntimeError(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout.decode(errors="replace")
