def test_rows_and_table(tagloom, project):
    rows = tagloom("suggest", "--json", "-n", 2).json["suggestions"]
    assert len(rows) == 2 * 10
    assert [row["rank"] for row in rows[:4]] == [1, 2, 1, 2]
    first = rows[0]
    table = tagloom("suggest", first["photo"])
    assert f"{first['tag']} {first['value']:.2f}" in table.out
    assert "1 photos" in table.out


def test_thresholds(tagloom, project):
    assert "nothing to suggest" in tagloom("suggest", "--threshold", 1e9, "--above-only").out
    above = tagloom("suggest", "--threshold", -1e9, "--remember", "--json", "-n", 0).json["suggestions"]
    assert all(row["is_above"] for row in above)
    kept = tagloom("suggest", "--json", "-n", 0).json["suggestions"]
    assert all(row["is_above"] for row in kept)
    tagloom("suggest", "--remember")
    assert not all(row["is_above"] for row in tagloom("suggest", "--json", "-n", 0).json["suggestions"])


def test_errors(tagloom, project):
    assert tagloom("suggest", "nowhere.jpg").code == 1
    assert tagloom("suggest", "-n", -1).code == 2
