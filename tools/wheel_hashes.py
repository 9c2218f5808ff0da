"""Print the SHA-256 of all wheels of some releases, as the configured package index tells them to pip.

Usage: ``python tools/wheel_hashes.py < RELEASES``, where RELEASES is JSON: {name: [version, …]}; the answer is JSON:
{name: {version: [digest, …]}}. pip has no command for this; its own reader of index pages is used, so that whatever
index, proxy and certificate pip is set up with is asked, and none is named here. Run it with a recent pip.
"""

import json
import re
import sys

from pip._internal.commands.install import InstallCommand
from pip._internal.index.collector import parse_links
from pip._vendor.packaging.utils import InvalidWheelFilename, parse_wheel_filename
from pip._vendor.packaging.version import InvalidVersion

# Wheels of other Pythons are left out: each of these would only make the file longer.
OURS = re.compile(r"py3|py2\.py3|py31\d|cp31[1-4]")


def version_of(filename: str) -> str:
    """Return the version of a wheel for a supported Python, or the next, whatever the platform; empty for all else."""
    try:
        _, version, _, tags = parse_wheel_filename(filename)
    except (InvalidVersion, InvalidWheelFilename):
        return ""  # not a wheel, or an old one that is named as none may be today
    return str(version) if any(OURS.fullmatch(tag.interpreter) or tag.abi == "abi3" for tag in tags) else ""


def digests(finder, name: str) -> dict[str, list[str]]:
    """Return {version: [digest, …]} of all releases of a package on the first index that has it."""
    found: dict[str, list[str]] = {}
    for source in finder._link_collector.collect_sources(name, candidates_from_page=lambda _: []).index_urls:
        page = None if source is None or source.link is None else finder._link_collector.fetch_response(source.link)
        for link in () if page is None else parse_links(page):
            version = version_of(link.filename)
            if version and "sha256" in link._hashes:
                found.setdefault(version, []).append(link._hashes["sha256"])
        if found:
            break
    return found


def main() -> None:
    """Answer for all releases asked for."""
    wanted = json.load(sys.stdin)
    command = InstallCommand("install", "")
    options, _ = command.parse_args([])
    answer = {}
    with command.main_context():
        finder = command._build_package_finder(options, command.get_default_session(options))
        for name, versions in wanted.items():
            known = digests(finder, name)
            answer[name] = {version: sorted(known.get(version, ())) for version in versions}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
