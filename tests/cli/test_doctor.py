from tagloom import __version__


def test_json_says_what_the_tables_say(tagloom):
    sections = tagloom("doctor", "--json").json["sections"]
    assert {"name": "version", "value": __version__} in sections[0]["rows"]
    shown = tagloom("doctor").out
    for section in sections:
        assert section["title"] in shown
        assert all(row["name"] in shown for row in section["rows"])
    assert {"Packages", "Network", "Feature groups", "Methods"} <= {section["title"] for section in sections}
