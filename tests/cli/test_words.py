"""The command line speaks of what one types: flags and names, never of Python."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from labelance import _progress
from labelance._utils._messages import did_you_mean
from labelance.cli import _console, main
from labelance.cli._resample import _parse_value
from labelance.datasets import dataset_info, read_multilabel
from labelance.exceptions import DownloadError, InputError
from labelance.metrics import get_label_scorer
from labelance.neighbors import _find
from labelance.study import load_study

READING = (
    "--labels", "--format", "--encoding", "--categorical", "--present", "--missing-labels",
    "--multi-class", "--label-separator", "--ignore", "--max-size",
)  # fmt: skip


@pytest.fixture
def call(monkeypatch, capfdbinary):
    """Run a command, with some bytes as its input; return its exit code and what it wrote."""

    def run(*words, input=b""):
        monkeypatch.setattr(sys, "argv", ["labelance", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input)))
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def make_songs():
    """Return the text of a CSV file: whole tempo, real loudness, two labels."""
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.integers(60, 200)},{round(rng.uniform(-60, 0), 3)},{int(t % 2)},{int(t % 10 == 0)}"
        for t in range(60)
    ]
    return "\n".join(["tempo,loud,happy,sad", *rows, ""])


@pytest.fixture
def songs(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text(make_songs())
    return path


def test_what_all_parts_of_a_split_lose_is_said_once(call, songs):
    parts = ",".join(str(songs.parent / name) for name in ("train.csv", "test.csv"))
    words = "--labels", "-2", "--categorical", "tempo", "-o", parts
    code, _, err = call("split", songs, *words)
    assert code == 0
    assert err.count("read the file with --categorical tempo") == 1


CLASHING = "max_size,per_row,loud,happy\n1,x,2,0\n2,y,3,1\n3,z,5,0\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["describe", "{data}", "--labels", "sad"], "Columns: max_size, per_row, loud, happy."),
        (["describe", "{data}", "--labels", "x*"], "Columns: max_size, per_row, loud, happy."),
        (["describe", "{data}", "--labels", "happy", "--ignore", "low"], "max_size, per_row"),
        (["describe", "{data}", "--labels", "max_size"], "Label 'max_size' must be 0 or 1"),
        (["describe", "{data}", "--labels", "max_size"], "--categorical max_size and then"),
        (["decide", "{data}", "--per-row", "1", "--id", "loud"], "'per_row' has 'x'"),
        (["decide", "{data}", "--per-row", "1", "--id", "loud"], "add --id per_row if"),
        (["decide", "{data}", "--per-row", "1", "--id", "no"], "Columns: max_size, per_row"),
    ],
)
def test_columns_with_the_names_of_flags_keep_them(call, tmp_path, words, said):
    (tmp_path / "data.csv").write_text(CLASHING)
    code, _, err = call(*(word.format(data=tmp_path / "data.csv") for word in words))
    assert code == 1
    assert said in err
    assert "--max-size, " not in err
    assert "'--per-row'" not in err


# What is typed, and what errors say of data that are called like parameters and numbers.
ALIKE = [
    (["describe", "{folder}/max_size.csv", "--labels", "x"], "{folder}/max_size.csv: "),
    (
        ["resample", "{folder}/max_size.csv", "--labels", "-2", "-o", "-",
         "--set", 'sampling_strategy={{"x": 9}}'],
        "--set sampling_strategy: there is no label 'x'. Labels: k_neighbors, label 1.",
    ),
    (["resample", "{folder}/max_size.csv", "--labels", "-2", "-o", "-"], "balance: 'label 1'."),
]  # fmt: skip


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(("words", "said"), ALIKE)
def test_data_that_are_called_like_parameters_keep_their_names(call, tmp_path, words, said):
    rows = [f"{t % 7},{t % 5},{int(t % 4 == 0)},0" for t in range(40)]
    text = "\n".join(["per_row,loud,k_neighbors,label 1", *rows, ""])
    (tmp_path / "max_size.csv").write_text(text)
    _, _, err = call(*(word.format(folder=tmp_path) for word in words))
    assert said.format(folder=tmp_path) in err


def test_an_error_about_a_parameter_names_its_flag(call, songs, tmp_path):
    np.save(tmp_path / "scores.npy", np.linspace(0, 1, 60).reshape(20, 3))
    np.save(tmp_path / "truth.npy", np.eye(3)[np.arange(20) % 3])
    scores = ("decide", tmp_path / "scores.npy", "--truth", tmp_path / "truth.npy")
    for words, said in (
        (("advise", songs, "--labels", "-2", "--budget", 0), "--budget must be a number of"),
        ((*scores, "--recall", 2), "--recall must be a number between 0 and 1"),
        ((*scores, "--per-row", 4), "--per-row must be an integer from 1 to 3"),
        (("describe", songs, "--labels", "-2", "-k", 60), "--n-neighbors of profile must be"),
        (("split", songs, "--labels", "-2", "--sizes", ".5,.7", "-o", "a,b", "--to", "csv"),
         "Got --sizes 0.5,0.7"),
        (("describe", songs, "--labels", "-2", "--present", "a b", "--label-separator", ";"),
         "--label-separator and --present exclude each other. Got --present 'a b', too."),
    ):  # fmt: skip
        code, _, err = call(*words)
        assert code == 1
        assert said in err


def test_a_parameter_without_a_flag_stays_as_python_writes_it(call, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "songs.parquet"
    days = pandas.to_datetime(["2020-01-01", "2020-01-02"])
    pandas.DataFrame({"ignore": days, "happy": [0.5, 1]}).to_parquet(path)
    _, _, err = call("describe", path, "--labels", "happy")
    assert "'ignore' is of type timestamp" in err
    assert "Drop it with --ignore ignore" in err
    _, _, err = call("decide", path, "--per-row", 1)  # which has no --ignore
    assert "Drop it with ignore=['ignore']" in err


RESAMPLE = ["resample", "{songs}", "--labels", "-2", "-o", "-", "--set"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["describe", "{songs}"], "--labels 'TAG_*'"),
        (["describe", "{songs}", "--labels", "99"], "Got --labels 99"),
        (["describe", "{songs}", "--labels", "sda"], "Did you mean 'sad'?"),
        (["describe", "{songs}", "--labels", "sda"], "Every label in --labels … must be a column"),
        (["describe", "{songs}", "--labels", "-2", "--encoding", "utf-99"], "--encoding utf-99"),
        (["describe", "{songs}", "--labels", "-2", "--max-size", "100"], "--max-size 4GB"),
        (["describe", "{songs}", "--labels", "-2", "--categorical", "temp"], "mean 'tempo'?"),
        (["convert", "{songs}", "{folder}/x.odd", "--labels", "-2"], "--to csv"),
        (["describe", "{folder}/songs.odd"], "--format csv"),
        (["describe", "{songs}", "--labels", "A,Z"], "Columns: tempo, loud, happy, sad"),
        (["describe", "{songs}", "--labels", "A_*"], "Columns: tempo, loud, happy, sad"),
        (["describe", "{songs}", "--labels", "sad", "--ignore", "sad"], "one of them"),
        (["convert", "{songs}", "{folder}/x.xlsx", "--labels", "-2"], "Use CSV"),
        (
            [*RESAMPLE, "k_neighbours=3"],
            "Parameters: algorithm, categorical_",
        ),
        ([*RESAMPLE, "k_neighbors=many"], "'k_neighbors' parameter of MLSOL must be an int"),
        (
            [*RESAMPLE, 'sampling_strategy={{"sda": 9}}'],
            "Labels: happy, sad. Did you mean 'sad'?",
        ),
        ([*RESAMPLE, "scale=minmax"], "The 'scale' parameter of MLSOL must be"),
        (
            ["split", "{songs}", "--labels", "-2", "--sizes", ".5,.7", "-o", "a,b", "--to", "csv"],
            "--sizes must be shares",
        ),
    ],
)
def test_errors_of_files_name_flags(call, songs, words, said):
    (songs.parent / "songs.odd").write_text(make_songs())
    code, _, err = call(*(word.format(songs=songs, folder=songs.parent) for word in words))
    assert code == 1
    assert said in err
    assert not any(python in err for python in ("labels=", "encoding=", "format=", "memory="))


TAGS = "id,tempo,tags\na,90,rock;pop\nb,120,pop\nc,60,\nd,70,jazz;rock\n"
LISTS = """id,tags\na,"['rock', 'pop']"\nb,['pop']\nc,"['rock', 'jazz']"\n"""
DECIMAL = "tempo;loud;happy\n90;0,5;1\n120;0,25;0\n"

# A file, what is typed after "describe FILE", and the words that say what is wrong, where, and
# what to do.
MISTAKES = [
    ("tags.csv", TAGS, "--labels tags", "'tags' has several labels per cell", "jazz;rock",
     "--label-separator ';'"),
    ("tags.csv", TAGS, "--labels rock,pop", "2 are not", "'rock'", "Columns: id, tempo, tags"),
    ("tags.csv", TAGS, "--labels tags* --label-separator ; --ignore ids", "no column 'ids'",
     "--ignore", "Did you mean 'id'?"),
    ("tags.csv", TAGS, "--labels tempo --label-separator ;", "'tempo' has numbers", "tags.csv",
     "Leave it out of the labels"),
    ("tags.csv", TAGS, "--labels tags* --label-separator ; --multi-class reduce",
     "--multi-class reduce", "--label-separator", "Remove one of the two"),
    ("songs.csv", DECIMAL, "--labels happy", "'loud' has '0,25'", "songs.csv", "decimal=','"),
    ("songs.csv", DECIMAL, "--labels sad", "no column 'sad'", "--labels", "Columns: tempo, loud"),
    ("songs.xlsx", "PK", "--labels sad", "is a spreadsheet", "songs.xlsx", "Use CSV"),
    ("songs.json", "[]", "--labels sad", "is JSON", "songs.json", "pandas.read_json('"),
    ("tags.csv", TAGS.replace(";", " ") + "e,70,jazz\n", "--labels tags",
     "'tags' has several labels per cell", "jazz rock", "--label-separator ' '"),
    ("tags.csv", LISTS, "--labels tags", "'tags' has several labels per cell", "tags.csv",
     "frame['tags'].str.replace("),
    ("songs.csv", DECIMAL.replace("0,5", "1.000,5"), "--labels happy", "'loud' has '0,25'",
     "songs.csv", "sep=';', decimal=',', thousands='.')"),
    ("songs.csv", 'loud,happy\n"1,500",1\n"12,250",0\n', "--labels happy", "'loud' has '1,500'",
     "songs.csv", "sep=',', thousands=',')"),
    ("songs.csv", "90,0,0\n80,0,1\n", "--labels -1", "'0' is repeated", "line 1", "Add a header"),
    ("songs.csv", "loud,happy\n5,1\n6,2\n", "--labels happy", "Got 2", "line 3",
     "--categorical happy and then --present 2"),
    ("songs.csv", "loud,happy\n5,1\n6,-1\n", "--labels happy", "Got -1", "line 3",
     "--categorical happy, which takes -1 for absent"),
    ("songs.csv", "loud,happy\n5,1\n6,0.5\n", "--labels happy", "Got 0.5", "line 3",
     "make it 0 and 1"),
    ("songs.csv", "loud,happy\n5,1\n6,\n", "--labels happy", "A value is missing", "line 3",
     "--missing-labels keep, --missing-labels negative or --missing-labels drop"),
    ("songs.csv", "loud,happy\n5,x\n6,\n", "--labels happy", "Got {x}", "'happy'",
     "--present …"),
    ("songs.csv", "loud,happy\n5,x\n6,y\n7,z\n", "--labels happy --present x,y",
     "--present … must name one value", "'happy'", "--multi-class reduce"),
    ("songs.csv", "loud,loud,happy\n5,1,1\n", "--labels happy", "'loud' is repeated", "line 1",
     "Rename one of them"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text", "words", "wrong", "where", "cure"),
    [pytest.param(*mistake, id=f"{mistake[0]} {mistake[2]}") for mistake in MISTAKES],
)
def test_mistakes_name_what_is_wrong_where_and_what_to_do(
    call, tmp_path, file, text, words, wrong, where, cure
):
    path = tmp_path / file
    path.write_text(text)
    code, _, err = call("describe", path, *words.split(" "))
    assert code == 1
    assert all(said in err for said in (wrong, where, cure)), err
    assert not any(python in err for python in ("label_separator", "labels=", "ignore="))


# What is typed that is no command, and the words that say how it is typed.
TYPING_ERRORS = [
    ("describe {songs} --labels happy sad", "--labels happy,sad"),
    ("describe {songs} --labels happy --labels sad", "separated by commas: --labels first,second"),
    ("describe {songs} --labels=happy --labels=sad", "--labels is given 2 times"),
    ("describe {songs} -k 3 -k 4", "-k is given 2 times. Give it once."),
    ("describe --labels happy sad {songs}", "quote values with blanks or *."),
    ("describe {songs} --label happy", "--labels"),
    ("describe {songs} --max-memory 1GB", "--max-size"),
    ("describ {songs}", "'describe'"),
    ("resample {songs} --labels -2 -o - --set sampling_ratio 0.5", "--set name=value"),
    ("split {songs} --labels -2 --sizes .8 .2 -o a.csv,b.csv", "Several values go by commas"),
]


@pytest.mark.parametrize(("words", "said"), TYPING_ERRORS)
def test_typing_errors_show_what_to_type(call, songs, words, said):
    code, _, err = call(*(word.format(songs=songs) for word in words.split()))
    assert code == 2
    assert said in " ".join(err.replace("│", " ").split())


@pytest.mark.slow
def test_several_settings_repeat_the_flag(call, songs):
    read = ["resample", songs, "--labels", "-2", "-o", "-", "--set"]
    code, _, err = call(*read, "k_neighbors=4,sampling_ratio=.5")
    assert (code, "--set k_neighbors=4 --set sampling_ratio=.5." in err) == (1, True)
    code, out, _ = call(*read, "k_neighbors=4", "--set", "sampling_ratio=.5", "--set", "scale=None")
    assert (code, len(out.splitlines())) == (0, 1 + 60 + 30)


VALUES = [
    ("[true, null]", [True, None]), ('{"a": false}', {"a": False}), ("Infinity", float("inf")),
    ("5.", 5.0), ("None", None), ("{'a': 1}", {"a": 1}), ("True", True),
    *((text, text) for text in ("{[]:1}", "1if", "mlsol", "[" * 100_000, "1" * 5000)),
]  # fmt: skip


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(("text", "value"), VALUES, ids=lambda one: str(one)[:12])
def test_a_setting_is_json_or_python_or_a_word(recwarn, text, value):
    assert repr(_parse_value(text)) == repr(value)
    assert not recwarn.list


@pytest.mark.filterwarnings("always")
def test_constant_labels_are_left_out_by_the_flag(call, tmp_path):
    path = tmp_path / "songs.csv"
    head, *rows = make_songs().split()
    path.write_text("\n".join([f"{head},all", *(f"{row},1" for row in rows), ""]))
    code, _, err = call("resample", path, "--labels", "-3", "-o", "-")
    assert (code, "'all'" in err, "leave them out of --labels" in err) == (0, True, True), err


@pytest.mark.parametrize("output", ["page.pdf", "-"])
def test_a_page_is_html(call, songs, output):
    code, _, err = call("profile", songs, "--labels", "-2", "-o", output)
    assert (code, f"Got -o {output}" in err, "Use -o page.html" in err) == (1, True, True)


def test_too_many_neighbors_name_their_flag(call, songs):
    code, _, err = call("describe", songs, "--labels", "-2", "-k", "90")
    assert (code, "Lower --n-neighbors to at most 59" in err) == (1, True)


def test_an_advice_that_is_interrupted_early_says_so(call, songs, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("labelance.advise", stop, raising=False)
    code, _, err = call("advise", songs, "--labels", "-2")
    assert (code, "before two folds" in err) == (130, True)


@pytest.mark.slow
def test_compare_reads_what_resample_wrote(call, tmp_path):
    path, out = tmp_path / "tags.csv", tmp_path / "more.csv"
    path.write_text(TAGS)
    read = ("--labels", "tags", "--label-separator", ";", "--ignore", "id")
    assert call("resample", path, *read, "--method", "mlros", "-o", out)[0] == 0
    code, _, err = call("compare", path, out, *read, "-k", "0", "-o", tmp_path / "both.html")
    assert code == 0, err
    code, _, err = call("compare", path, path, "--labels", "tag", "-o", tmp_path / "no.html")
    assert (code, "Did you mean 'tags'?" in err) == (1, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")
def test_a_pipe_is_read_from_standard_input(call, tmp_path):
    path = tmp_path / "songs.csv"
    os.mkfifo(path)
    code, _, err = call("describe", path, "--labels", "-1")
    assert (code, "is a pipe" in err, "describe - --format csv" in err) == (1, True, True)


@pytest.mark.slow
def test_labels_of_one_column_are_read_by_every_command(call, tmp_path):
    path, out = tmp_path / "tags.csv", tmp_path / "more.csv"
    path.write_text(TAGS)
    read = (path, "--labels", "tags", "--label-separator", ";", "--ignore", "id")
    code, written, _ = call("convert", *read[:1], "-", *read[1:])
    assert (code, written.splitlines()[:2]) == (0, ["tempo,jazz,pop,rock", "90,0,1,1"])
    code, _, err = call("resample", *read, "--method", "mlros", "-o", out)
    assert (code, out.read_text().splitlines()[0]) == (0, "tempo,jazz,pop,rock"), err
    code, written, _ = call("describe", *read, "-k", "0", "--json")
    assert (code, json.loads(written)["n_labels"]) == (0, 3)


@pytest.mark.filterwarnings("always")
def test_warnings_name_flags_too(call, tmp_path):
    path = tmp_path / "tags.csv"
    path.write_text(TAGS)
    words = ("--labels", "tags", "--multi-class", "reduce", "--missing-labels", "negative")
    code, _, err = call("describe", path, *words, "-k", "0")
    assert code == 0
    assert "--label-separator ';' for the labels jazz, pop, rock" in err
    assert "label_separator" not in err


@pytest.mark.slow
def test_labels_that_are_missing_or_in_other_words_ask_for_their_flags(call, tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("tempo,happy,sad\n90,ja,nein\n120,,ja\n60,nein,ja\n")
    read = ("convert", path, "-", "--labels", "-2")
    _, _, err = call(*read, "--present", "ja")
    assert "--missing-labels negative" in err
    assert "missing_labels=" not in err
    _, _, err = call(*read, "--missing-labels", "drop")
    assert "--present" in err
    assert "present=" not in err
    _, out, _ = call(*read, "--present", "ja", "--missing-labels", "negative")
    assert out.split() == ["tempo,happy,sad", "90,1,0", "120,0,1", "60,0,1"]
    _, out, _ = call(*read, "--present", "ja,yes", "--missing-labels", "drop")
    assert out.split() == ["tempo,happy,sad", "90,1,0", "60,0,1"]


@pytest.mark.slow
def test_a_wrong_encoding_asks_for_the_flag_that_mends_it(call, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("città,happy\n1,1\n2,0\n".encode("latin-1"))
    code, _, err = call("describe", path, "--labels", "-1")
    assert (code, "--encoding cp1252" in err) == (1, True)
    assert call("describe", path, "--labels", "-1", "-k", "0", "--encoding", "cp1252")[0] == 0


@pytest.mark.slow
def test_errors_of_samplers_name_columns_and_settings(call, songs, tmp_path):
    first, row, *rest = songs.read_text().split("\n")
    songs.write_text("\n".join([first, row[row.index(",") :], *rest]))
    command = ["resample", songs, "--labels", "-2", "-o", tmp_path / "out.csv"]
    code, _, err = call(*command)
    assert code == 1
    assert "columns 'tempo'" in err
    assert "--set missing=distance" in err
    assert call(*command, "--set", "missing=distance")[0] == 0
    _, _, err = call(*command, "--force", "--set", "k_neighbors=0")
    assert "The 'k_neighbors' parameter of" in err
    _, _, err = call(*command, "--force", "--set", 'sampling_strategy=["sda"]')
    assert "Did you mean 'sad'?" in err


@pytest.mark.parametrize(
    "command",
    ["describe", "profile", "compare", "advise", "play", "resample", "split", "convert"],
)
def test_every_command_that_reads_data_says_how(call, command):
    _, out, _ = call(command, "--help")
    assert all(flag in out for flag in READING)


@pytest.mark.parametrize(
    "command", [["--help"], ["describe", "--help"], ["study", "run", "--help"]]
)
def test_help_shows_flags_alone(call, command):
    code, out, _ = call(*command, "--help")
    assert code == 0
    assert "--help" in out
    assert "bool" not in out.lower()


def test_categorical_columns_of_numbers_stay_so(call, songs, tmp_path):
    out = tmp_path / "out.arff"
    words = ["--labels", "-2", "--categorical", "tempo", "--method", "mlsmote"]
    assert call("resample", songs, *words, "-o", out)[0] == 0
    assert read_multilabel(out).categories[0] is not None


@pytest.mark.slow
def test_data_come_and_go_by_streams(call, songs):
    text = songs.read_bytes()
    code, out, err = call("convert", "-", "-", "--format", "csv", "--labels", "-2", input=text)
    assert (code, out) == (0, text.decode())
    assert "60 rows" in err
    code, out, _ = call("describe", "-", "--format", "csv", "--labels", "-2", "--json", input=text)
    assert (code, json.loads(out)["n_samples"]) == (0, 60)
    code, out, err = call("resample", songs, "--labels", "-2", "-o", "-", "--json")
    assert (code, len(out.splitlines())) == (0, 61 + 18)
    assert json.loads(err)["rows_after"] == 78


@pytest.mark.slow
def test_standard_input_has_no_name(call):
    code, _, err = call("describe", "-", input=b"x")
    assert (code, "--format csv" in err) == (1, True)
    code, _, err = call("describe", "-", "--format", "csv", "--labels", "-1", input=b"a,b\n1\n")
    assert (code, "standard input, line 2" in err) == (1, True)


def test_whole_numbers_of_a_csv_stay_whole(call, songs, tmp_path):
    out = tmp_path / "out.csv"
    assert call("resample", songs, "--labels", "-2", "-o", out)[0] == 0
    X = read_multilabel(out).X
    assert (X[:, 0] == np.rint(X[:, 0])).all()
    assert (X[60:, 1] != np.rint(X[60:, 1])).any()


def test_the_number_of_neighbors_is_named_as_one_types_it(call, songs):
    code, _, said = call("describe", songs, "--labels", "happy,sad", "-k", 1000)
    assert (code, "--n-neighbors of profile must be < n_samples. Got 1000" in said) == (1, True), (
        said
    )


def test_errors_of_other_libraries_kinds_keep_their_three_parts(call, monkeypatch):
    """DownloadError is an OSError too, whose ``args`` are not the three parts."""

    def refuse(*_, **__):
        raise DownloadError("bibtex is downloaded", "there is no network", "Check the connection")

    monkeypatch.setattr("labelance.datasets.load_dataset", refuse)
    code, _, said = call("describe", "bibtex")
    assert code != 0
    assert "Check the connection." in said


def test_a_folder_is_called_one(call, songs):
    code, _, err = call("describe", songs.parent)
    assert code == 1
    assert "is a folder" in err
    assert str(songs) in err


def test_a_terminal_shows_what_a_command_is_at(monkeypatch):
    monkeypatch.setattr(_progress, "is_interactive", lambda **where: True)
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", out := io.StringIO())
    with _console.long_work("Reading") as tell, _progress.loop("Counting", 9, "sheep") as progress:
        progress.advance(4)
        tell("Writing")
    for line in ("Reading [00:00]", "Counting: ", "Writing [00:00]"):
        assert line in out.getvalue()


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    ("command", "cure"),
    [("resample", "--set algorithm=approx"), ("describe", "--subsample 50000")],
)
def test_long_searches_name_flags(call, songs, monkeypatch, command, cure):
    run = _find.run_exact

    def warn_and_run(search):
        _find._warn_of_long_search(search)
        return run(search)

    monkeypatch.setattr(_find, "_LONG", 0)
    monkeypatch.setattr(_find, "suits_cells", lambda search: True)
    monkeypatch.setattr(_find, "run_exact", warn_and_run)
    out = ["-o", songs.parent / "out.csv"] if command == "resample" else []
    code, _, err = call(command, songs, "--labels", "-2", *out)
    assert (code, cure in err) == (0, True), err
    assert "find_neighbors" not in err
    assert " algorithm=" not in err or "--set algorithm=" in err
    assert "torch" not in err


@pytest.mark.slow
def test_a_target_that_is_steered_and_not_met_is_said_once(call, songs):
    command = ["resample", songs, "--labels", "-2", "-o", "-", "--set"]
    code, _, err = call(*command, 'sampling_strategy={"sad": 10}')
    assert code == 0
    assert err.count("10 asked") == 1
    assert "sad 10 asked, " in err
    _, _, err = call(*command, 'sampling_strategy={"sad": 10}', "--method", "mlros")
    assert "asked" not in err
    _, _, err = call(*command, "sampling_ratio=0.1")
    assert "asked" not in err


def test_convert_names_the_label_file(call, songs, tmp_path):
    _, out, _ = call("convert", songs, tmp_path / "new.arff", "--labels", "-2")
    assert "new.xml" in out
    _, out, _ = call("convert", songs, tmp_path / "new.npz", "--labels", "-2")
    assert "xml" not in out


@pytest.mark.slow
def test_convert_says_which_categories_csv_loses(call, tmp_path):
    arff, csv = tmp_path / "flags.arff", tmp_path / "flags.csv"
    head = "@relation flags\n@attribute zone {1,2,3}\n@attribute side {n,s}\n@attribute red {0,1}\n"
    arff.write_text(f"{head}@data\n1,n,0\n2,s,1\n3,n,1\n")
    code, _, err = call("convert", arff, csv, "--labels", "-1")
    assert (code, "--categorical zone" in err) == (0, True)
    back = read_multilabel(csv, categorical=["zone"])
    assert back.same_as(read_multilabel(arff, labels=-1))
    arff.write_text(f"{head.replace('n,s', 's,n,w')}@data\n1,n,0\n2,s,1\n3,n,1\n")
    _, _, err = call("convert", arff, csv, "--labels", "-1", "--force")
    assert "that no row has" in err


def test_options_of_files_do_not_go_with_the_catalogue(call):
    code, _, err = call("describe", "yeast", "--labels", "-3")
    assert (code, "--labels describes how a file is read" in err) == (1, True)


@pytest.mark.slow
def test_python_runs_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "labelance", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("labelance ")


@pytest.mark.slow
def test_what_needs_no_data_imports_no_library_of_numbers():
    program = (
        "import sys; from labelance.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'sklearn', 'scipy', 'pandas'} & sys.modules.keys()))"
    )
    for words, code in [(["--help"], 0), (["resampel"], 2)]:
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "[]")


def test_near_names_are_asked_for(tmp_path):
    assert did_you_mean("mlsmoet", ["MLSMOTE", "MLUL"]) == "Did you mean 'MLSMOTE'? "
    assert did_you_mean("zzz", ["MLSMOTE", "MLUL"]) == ""
    with pytest.raises(InputError, match="Did you mean 'macro_f1'"):
        get_label_scorer("macro_f")
    plan = tmp_path / "plan.toml"
    plan.write_text('repeat = 2\ndatasets = ["flags"]\nlearners = ["BR"]\nmethods = ["MLSOL"]\n')
    with pytest.raises(InputError, match="Did you mean 'repeats'"):
        load_study(plan)
    with pytest.raises(InputError, match="Did you mean 'MLkNN'"):
        load_study("quick").only(learners=["MLKNN"])
    with pytest.raises(InputError, match="Did you mean 'quick'"):
        load_study("quick1")
    with pytest.raises(InputError, match="Did you mean 'yeast'"):
        dataset_info("yaest")


@pytest.mark.slow
def test_a_part_of_a_study_that_is_not_there_names_its_flag(call, tmp_path):
    command = ("study", "run", "quick", "--store", tmp_path / "quick.store")
    for part, name in (("methods", "MLSLO"), ("learners", "BRR"), ("datasets", "flag")):
        code, _, said = call(*command, f"--{part}", name)
        assert code == 1
        assert f"--{part}" in said
        assert "Did you mean" in said


@pytest.mark.slow
def test_methods_lists_learners_too(call):
    code, out, _ = call("methods", "--json")
    kinds = {row["method"]: row["kind"] for row in json.loads(out)}
    assert code == 0
    assert {kinds[name] for name in ("IRUS", "MCE", "PerLabel", "EMLS")} == {"learner"}
    assert kinds["MLSOL"] == "sampler"
    assert "inverse random" in call("methods", "irus")[1].lower()
    assert "Learners" in call("methods")[1]
