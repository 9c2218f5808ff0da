import dataclasses
import re
from pathlib import Path

import pytest
import typer.main
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.cli.app import app
from tagloom.exceptions import SettingsError
from tagloom.settings import ENVIRONMENT_PREFIX, Settings, load_settings, raises_limits, setting_names

FLAGS = {
    "method": "flag --method",
    "n_keywords": "flag --keywords",
    "n_neighbors": "flag --neighbors",
    "descriptors": "flag --groups",
    "encoder": "flag --encoder",
    "absent_means": "flag --absent-means",
    "n_workers": "flag --workers",
    "n_threads": "flag --threads",
}
DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference" / "settings.md"


@pytest.fixture
def project_file(tmp_path):
    def write(content):
        path = tmp_path / "tagloom.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_every_setting_is_documented_with_its_default_and_variable():
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| `(\w+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    defaults = {name: value for name, value, _ in Settings().rows()}
    assert {name: default for name, default, _ in rows} == defaults
    assert {name: variable for name, _, variable in rows} == {
        name: ENVIRONMENT_PREFIX + name.upper() for name in defaults
    }


def test_every_field_is_a_setting_with_a_docstring_entry():
    names = [field.name for field in dataclasses.fields(Settings) if field.name not in ("origins", "ignored")]
    assert list(setting_names()) == names
    for name in names:
        assert re.search(rf"^ *{name} : .*default=", Settings.__doc__, re.MULTILINE), name


def test_defaults_come_from_nowhere():
    settings = load_settings({}, {}, None)
    assert settings == Settings()
    assert {settings.origin(name) for name in setting_names()} == {"default"}


PLACES = st.sets(st.sampled_from(["flag", "variable", "file"]))


@given(PLACES)
@settings(deadline=None)
def test_precedence(tmp_path_factory, places):
    path = tmp_path_factory.mktemp("project") / "tagloom.toml"
    if "file" in places:
        path.write_text("n_keywords = 7\n")
    environ = {"TAGLOOM_N_KEYWORDS": "8" if "variable" in places else "", "OTHER": "1"}
    flags = {"n_keywords": 9 if "flag" in places else None}
    settings = load_settings(flags, environ, path)
    expected = next(
        (
            (value, origin)
            for place, value, origin in [
                ("flag", 9, "flag --keywords"),
                ("variable", 8, "environment variable TAGLOOM_N_KEYWORDS"),
                ("file", 7, f"in {path}"),
            ]
            if place in places
        ),
        (5, "default"),
    )
    assert (settings.n_keywords, settings.origin("n_keywords")) == expected
    assert settings.origin("n_neighbors") == "default"


def test_all_settings_in_a_file_and_the_same_in_variables(project_file, tmp_path):
    from_file = load_settings(
        project_file=project_file(
            'method = "ridge"\nn_keywords = 3\nn_neighbors = 9\ndescriptors = ["colour", "deep"]\n'
            "vocabulary_words = 50\nvocabulary_photos = 20\n"
            f"encoder = {str(tmp_path / 'net.onnx')!r}\nnetwork = 'Medium'\n"
            "absent_means = 'Unknown'\nn_workers = 2\nn_threads = 'auto'\n"
            "engine = 'dask://host:8786'\nshared_storage = 's3://bucket/chunks'\ndevice = 'CUDA'\n"
            "batch_size = 8\ndeadline_seconds = 5\nmemory_limit_mb = 1024\nmax_megapixels = 100\n"
            "report_photos = 0\nlog_level = 'debug'\nprecision = 0.8\nbudget_seconds = 60\nn_backups = 2\n"
            "sidecar_names = 'photo.xmp'\n[method_parameters.ridge]\nsmoothing = 0.2\n"
        )
    )
    environ = {ENVIRONMENT_PREFIX + name.upper(): value for name, value, _ in from_file.rows()}
    assert set(from_file.origins) == set(setting_names())
    assert load_settings(environ=environ) == from_file
    assert from_file.deadline_seconds == 5.0
    assert isinstance(from_file.deadline_seconds, float)
    assert (from_file.absent_means, from_file.log_level, from_file.n_threads) == ("unknown", "DEBUG", None)
    assert from_file.descriptors == ("colour", "deep")
    assert (from_file.engine, from_file.device) == ("dask://host:8786", "cuda")


def test_machines_to_talk_to_need_trust_and_sense():
    assert [raises_limits("engine", name) for name in ("local", "processes", "dask://host:1")] == [False, True, True]
    assert raises_limits("shared_storage", "/mnt/shared")
    assert not raises_limits("device", "cuda")
    for values in ({"engine": "ray"}, {"engine": "dask://host"}, {"shared_storage": "chunks"}, {"device": "tpu"}):
        with pytest.raises(SettingsError, match="must be"):
            load_settings(values)


def test_relative_path_in_the_file_is_below_its_folder(project_file, tmp_path):
    path = project_file('encoder = "nets/small.onnx"\n')
    assert load_settings(project_file=path).encoder == tmp_path / "nets" / "small.onnx"
    assert load_settings({"encoder": "small.onnx"}, {}, path).encoder == Path("small.onnx")
    assert load_settings({"encoder": "none"}, {}, path).encoder is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n_keywords", -1, "a whole number from 0 to 100000"),
        ("n_keywords", 2.0, "a whole number"),
        ("n_keywords", True, "a whole number"),
        ("n_keywords", "auto", "a whole number"),
        ("n_workers", "many", 'or "auto"'),
        ("deadline_seconds", 0, "above 0"),
        ("deadline_seconds", float("nan"), "a number"),
        ("deadline_seconds", float("inf"), "a number"),
        ("deadline_seconds", True, "a number"),
        ("memory_limit_mb", 100, "from 512"),
        ("absent_means", "perhaps", 'one of "no", "unknown"'),
        ("log_level", 10, "one of"),
        ("descriptors", [], "distinct names"),
        ("descriptors", ["a", "a"], "distinct names"),
        ("descriptors", ["a", 3], "distinct names"),
        ("descriptors", 3, "distinct names"),
        ("method", "two words", "without blanks"),
        ("method", "", "without blanks"),
        ("encoder", 3, "a path"),
    ],
)
def test_a_value_that_does_not_fit_says_so(name, value, expected):
    with pytest.raises(SettingsError, match=rf"{name} must be .*{expected}.*got {re.escape(repr(value))}"):
        Settings(**{name: value})
    with pytest.raises(SettingsError, match=re.escape(FLAGS.get(name, f"flags['{name}']"))):
        load_settings({name: value})


def test_flags_are_called_as_commands_know_them():
    commands = typer.main.get_command(app).commands.values()
    options = {name for command in commands for parameter in command.params for name in parameter.opts}
    assert {flag.removeprefix("flag ") for flag in FLAGS.values()} <= options
    for name, flag in FLAGS.items():
        assert load_settings({name: getattr(Settings(), name) or "1"}).origins[name] == flag


def test_the_message_names_file_and_variable(project_file):
    path = project_file("n_keywords = -1\n")
    with pytest.raises(SettingsError, match=rf"n_keywords \(in {re.escape(str(path))}\) must be"):
        load_settings(project_file=path)
    with pytest.raises(SettingsError, match=r"environment variable TAGLOOM_N_KEYWORDS\) must be .* got 'x'"):
        load_settings(environ={"TAGLOOM_N_KEYWORDS": "x"})
    assert load_settings({"n_keywords": 3}, {}, path).n_keywords == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("n_keyword = 5\n", "no setting 'n_keyword' .*did you mean n_keywords?"),
        ("n-keywords = 5\n", "did you mean n_keywords?"),
        ("[server]\nport = 1\n", "no setting 'server' .*known are method, "),
        ("n_keywords 5\n", "not valid TOML .*line 1"),
        (b"method = '\xe9'\n", "save it as UTF-8"),
        ("encoder = 5\n", "a path"),
    ],
)
def test_a_bad_file(project_file, content, message):
    path = project_file(content)
    with pytest.raises(SettingsError, match=message) as caught:
        load_settings(project_file=path)
    assert str(path) in str(caught.value)


def test_a_file_with_a_byte_order_mark(project_file):
    assert load_settings(project_file=project_file(b"\xef\xbb\xbfn_keywords = 3\r\n")).n_keywords == 3


def test_a_missing_file_is_no_file_but_a_folder_is_an_error(tmp_path):
    assert load_settings(project_file=tmp_path / "tagloom.toml") == Settings()
    with pytest.raises(SettingsError, match="expected a file"):
        load_settings(project_file=tmp_path)


def test_unknown_flags_and_names():
    with pytest.raises(SettingsError, match="did you mean n_keywords"):
        load_settings({"n_keyword": 3})
    with pytest.raises(SettingsError, match="no setting 'origins'"):
        load_settings({"origins": {}})
    with pytest.raises(SettingsError, match="no setting"):
        Settings().origin("colour_of_the_sky")
    assert load_settings(environ={"TAGLOOM_DATA": "/somewhere"}) == Settings()


def test_settings_do_not_change():
    settings = Settings(n_keywords=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.n_keywords = 4
    with pytest.raises(TypeError):
        settings.origins["n_keywords"] = "elsewhere"


def test_methods_have_tables_in_the_file(project_file):
    path = project_file(
        'n_keywords = 3\n[method]\nname = "nova"\n[method.nova]\npenalty = "scad"\ntol = 1e-3\n'
        "[method.sfss]\ntol = 1e-2\n"
    )
    found = load_settings(project_file=path)
    assert (found.method, found.n_keywords) == ("nova", 3)
    assert found.parameters_of("nova") == {"penalty": "scad", "tol": 1e-3}
    assert found.origin("method_parameters") == f"in {path}"


def test_parameters_of_methods_are_put_together_one_by_one(project_file):
    path = project_file('[method.nova]\npenalty = "scad"\ntol = 1e-3\nmax_iter = 9\n')
    environ = {"TAGLOOM_METHOD_PARAMETERS": '{"nova": {"tol": 0.5}}'}
    flags = {"method_parameters": ("max_iter=5", "nova.standardize=columns", "sfss.sparsity=auto")}
    found = load_settings(flags, environ, path)
    assert found.parameters_of("nova") == {"penalty": "scad", "tol": 0.5, "max_iter": 5, "standardize": "columns"}
    assert found.parameters_of("sfss") == {"sparsity": "auto", "max_iter": 5}
    assert found.origin("method_parameters") == "flag --set"
    assert load_settings({"method_parameters": ()}).origin("method_parameters") == "default"


@pytest.mark.parametrize("lines", [("tol",), ("=3",), ("tol=",), ("tol={a = 1}",), ("tol=1979-05-27",)])
def test_what_is_no_assignment_is_refused(lines):
    with pytest.raises(SettingsError, match=r"method_parameters \(flag --set\) must be plain values"):
        load_settings({"method_parameters": lines})


def test_a_table_of_methods_holds_no_other_settings(project_file):
    with pytest.raises(SettingsError, match=r"'tol' does not belong in \[method\]"):
        load_settings(project_file=project_file("[method]\ntol = 3\n"))


@pytest.mark.parametrize(("value", "raises"), [({"nova": {"max_iter": 10**9}}, True), ({}, False)])
def test_parameters_of_methods_may_raise_what_is_used(value, raises):
    assert raises_limits("method_parameters", value) is raises
