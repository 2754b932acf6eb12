"""What files may say, and how labels are chosen."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.datasets.formats._labels import matches_pattern
from labelance.exceptions import DataFileError, InputError, LabelanceWarning

MUSIC = r"""% A comment, then a blank line

@RELATION 'music: -C 2 -split-percentage 66'
@Attribute 'it\'s sad' {0, 1}      % trailing comments, too
@attribute "say \"hi\"" {NO,YES}
@ATTRIBUTE tempo	REAL
@attribute beat\n integer [0, 200]
@attribute 'new\nline' NUMERIC
@attribute key{'C sharp', "D", E,'?'}
@DATA
% rows
0, YES, 1.5, 90,-1e3, 'C sharp'
1,NO ,?,?, ? , ?
 1 , YES ,.5,+7,1.,"?" % ends here

'0',"NO",0,0,0,E
"""


@pytest.fixture
def music(tmp_path):
    path = tmp_path / "music.arff"
    path.write_text(MUSIC)
    return path


def test_quotes_comments_and_cases_of_arff(music):
    data = read_multilabel(music)
    assert data.name == "music"
    assert data.label_names == ("it's sad", 'say "hi"')
    assert data.feature_names == ("tempo", r"beat\n", "new\nline", "key")
    assert data.categories == (None, None, None, ("C sharp", "D", "E", "?"))
    nan = np.nan
    X = [[1.5, 90, -1000, 0], [nan, nan, nan, nan], [0.5, 7, 1, 3], [0, 0, 0, 2]]
    np.testing.assert_array_equal(data.values, X)
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [1, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_do_not_matter(music, line_end, bom):
    data = read_multilabel(music)
    music.write_bytes(bom + MUSIC.replace("\n", line_end).encode())
    assert read_multilabel(music).same_as(data)


def test_a_last_line_needs_no_end(music):
    data = read_multilabel(music)
    music.write_text(MUSIC.rstrip())
    assert read_multilabel(music).same_as(data)


def test_gzip_of_several_members(music, tmp_path):
    data, half = read_multilabel(music), len(MUSIC) // 2
    parts = MUSIC[:half].encode(), MUSIC[half:].encode()
    path = tmp_path / "parts.arff"  # gzip is told by its bytes, not by the name
    path.write_bytes(b"".join(map(gzip.compress, parts)) + bytes(100))
    assert read_multilabel(path).same_as(data)


def test_other_encodings(tmp_path):
    path = tmp_path / "a.arff"
    text = "@relation '-C 1'\n@attribute é {0,1}\n@attribute b {ü,'\\344'}\n@data\n1,ü\n0,ä\n"
    path.write_bytes(text.encode("latin-1"))
    data = read_multilabel(path, encoding="latin-1")
    assert (data.label_names, data.categories) == (("é",), (("ü", "ä"),))
    np.testing.assert_array_equal(data.values, [[0], [1]])


SPARSE = r"""@relation s
@attribute n numeric
@attribute c {red,'deep blue',"it's"}
@attribute yes_first {YES,NO}
@attribute zero_first {0,1}
@attribute number numeric
@data
{}
{0 2.5, 1 'deep blue',2 NO ,3 1,4 1}
{	0 ?,1 "it\'s" } % comment
{0 0,1 red,2 YES,3 0,4 0}
"""


@pytest.fixture
def sparse(tmp_path):
    path = tmp_path / "sparse.arff"
    path.write_text(SPARSE)
    return path


def test_what_a_sparse_row_leaves_out_is_zero_or_the_first_value(sparse):
    data = read_multilabel(sparse, labels=-3)
    assert issparse(data.values)
    np.testing.assert_array_equal(data.values.toarray(), [[0, 0], [2.5, 1], [np.nan, 2], [0, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 0], [0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert data.values.nnz == 4
    assert data.Y.nnz == 5


def test_dense_and_sparse_forms_agree(sparse, tmp_path):
    data = read_multilabel(sparse, labels=-3)
    dense = MultiLabelDataset(
        data.values.toarray(), data.Y, data.feature_names, data.label_names, None, data.categories
    )
    back = read_multilabel(write_multilabel(dense, tmp_path / "dense.arff"))
    assert back.same_as(dense)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (-2, ("zero_first", "number")),
        ("*_first", ("yes_first", "zero_first")),
        ("zero_*", ("zero_first",)),
        ("number", ("number",)),
        (["number", "yes_first"], ("yes_first", "number")),
    ],
)
def test_labels_by_number_pattern_and_names(sparse, labels, names):
    assert read_multilabel(sparse, labels=labels).label_names == names


def test_labels_from_the_front(music):
    assert read_multilabel(music, labels=1).label_names == ("it's sad",)


def test_labels_by_xml_come_in_the_order_of_the_data(sparse):
    xml = '<labels xmlns="m"><label name="number"><label name="yes_first"/></label></labels>'
    sparse.with_suffix(".xml").write_text(xml)
    assert read_multilabel(sparse).label_names == ("yes_first", "number")
    other = sparse.with_name("other.xml")
    other.write_text('<?xml version="1.0"?><labels><label name="zero_first"/></labels>')
    assert read_multilabel(sparse, labels=other).label_names == ("zero_first",)
    assert read_multilabel(sparse, labels=str(other)).label_names == ("zero_first",)


@pytest.mark.parametrize("part", ["-train", "_test", "-Train"])
def test_parts_of_a_split_share_a_label_file(sparse, part):
    path = sparse.rename(sparse.with_name(f"genes{part}.arff"))
    sparse.with_name("genes.xml").write_text('<labels><label name="number"/></labels>')
    assert read_multilabel(path).label_names == ("number",)
    path.with_suffix(".xml").write_text('<labels><label name="zero_first"/></labels>')
    assert read_multilabel(path).label_names == ("zero_first",)


@pytest.mark.parametrize("labels", [0, 6, -6])
def test_numbers_of_labels_have_limits(sparse, labels):
    with pytest.raises(InputError, match="from 1 to 5"):
        read_multilabel(sparse, labels=labels)


@pytest.mark.parametrize(
    "values", ["0,1", "1,0", "NO,YES", "YES,NO", "false,TRUE", "n,y", "-1,+1", "off,on", "0.0,1.0"]
)
def test_words_for_present_and_absent(tmp_path, values):
    path = tmp_path / "a.arff"
    first, second = values.split(",")
    head = f"@relation '-C 1'\n@attribute l {{{values}}}\n@attribute x real\n@data\n"
    path.write_text(f"{head}{first},1\n{second},2")
    present = [first.upper() in {"1", "YES", "Y"}, second.upper() not in {"0", "NO", "N"}]
    np.testing.assert_array_equal(read_multilabel(path).Y.toarray().ravel(), present)


def test_present_names_the_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,l\n1,ham\n2,spam\n")
    with pytest.raises(DataFileError, match="present="):
        read_multilabel(path, labels=-1)
    Y = read_multilabel(path, labels=-1, present="spam").Y
    np.testing.assert_array_equal(Y.toarray(), [[0], [1]])


def test_present_settles_columns_of_more_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,l\n1,no\n2,yes\n3,maybe\n")
    Y = read_multilabel(path, labels=-1, present="maybe").Y
    np.testing.assert_array_equal(Y.toarray(), [[0], [0], [1]])


def test_blanks_beyond_ascii_belong_to_names(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation '-C 1'\n@attribute l\xa0x {n,y}\n@attribute x\u2003y real\n@data\ny,1"
    )
    data = read_multilabel(path)
    assert data.label_names + data.feature_names == ("l\xa0x", "x\u2003y")


def test_label_files_say_their_encoding(tmp_path):
    xml = '<?xml version="1.0" encoding="iso-8859-1"?><labels><label name="é"/></labels>'
    (tmp_path / "a.xml").write_bytes(xml.encode("latin-1"))
    (tmp_path / "a.csv").write_text("x,é\n1,1\n", encoding="utf-8")
    assert read_multilabel(tmp_path / "a.csv").label_names == ("é",)


TEXTS = """@relation '-C 1'
@attribute l {0,1}
@attribute words string
@attribute day DATE "yyyy-MM-dd"
@attribute x real
@data
"""


def test_text_columns_are_kept_as_nominal_or_dropped(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(TEXTS + "1,'b c',2020-01-02,1\n0,a,?,2\n1,'b c',2020-01-01,3\n")
    data = read_multilabel(path, text="nominal")
    assert data.categories == (("a", "b c"), ("2020-01-01", "2020-01-02"), None)
    np.testing.assert_array_equal(data.values[:, 0], [1, 0, 1])
    np.testing.assert_array_equal(data.values[:, 1], [1, np.nan, 0])
    assert read_multilabel(path, text="drop").feature_names == ("x",)


def test_text_that_a_sparse_row_leaves_out_is_empty(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(TEXTS + "{0 1}\n{1 b,2 d}\n{1 a,3 1}\n")
    data = read_multilabel(path, text="nominal")
    assert data.categories == (("", "a", "b"), ("", "d"), None)
    np.testing.assert_array_equal(data.values.toarray(), [[0, 0, 0], [2, 1, 0], [1, 0, 1]])
    assert read_multilabel(path, text="drop").feature_names == ("x",)


@pytest.mark.parametrize("word_at", [0, 15, 39, None])
def test_one_word_anywhere_makes_a_csv_column_nominal(tmp_path, word_at):
    cells = [str(i % 3) for i in range(40)]
    if word_at is not None:
        cells[word_at] = "red"
    path = tmp_path / "a.csv"
    path.write_text("a,b,l\n" + "".join(f"{cell},{i}.5,{i % 2}\n" for i, cell in enumerate(cells)))
    data = read_multilabel(path, labels=["l"])
    if word_at is None:
        assert data.categories == (None, None)
        assert data.values[:, 0].tolist() == [float(cell) for cell in cells]
    else:
        assert data.categories == (("0", "1", "2", "red"), None)
        assert [data.categories[0][int(code)] for code in data.values[:, 0]] == cells
    assert data.values[:, 1].tolist() == [i + 0.5 for i in range(40)]


CSV = """id,"a ""quoted"", name",empty,mixed,n,l
1, x ,,1, 2.5 ,0
2,"x
y",NA,a,?,1

3,"NA",null,"",nan,1
"""


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_quotes_and_missing_cells_of_csv(tmp_path, separator):
    path = tmp_path / "a.csv"
    text = CSV.replace(",", separator).replace(f'"{separator}', f'"{separator}')
    path.write_text(text)
    data = read_multilabel(path, labels=["l"], separator=separator)
    assert data.feature_names[1] == f'a "quoted"{separator} name'
    assert data.categories == (None, ("NA", "x", "x\ny"), None, ("", "1", "a"), None)
    nan = np.nan
    X = [[1, 1, nan, 1, 2.5], [2, 2, nan, 2, nan], [3, 0, nan, 0, nan]]
    np.testing.assert_array_equal(data.values, X)


def test_columns_of_csv_can_be_called_categorical(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("code\tl\n10\t0\n9\t1\n10\t1\n")
    assert read_multilabel(path, labels="l").categories == (None,)
    data = read_multilabel(path, labels="l", categorical=["code"])
    assert data.categories == (("10", "9"),)
    np.testing.assert_array_equal(data.values.ravel(), [0, 1, 0])


def test_libsvm_as_it_comes(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("0,2 1:0.5 3:1e-3 # a comment\n\n 2:1\n2:7\n1\n")
    data = read_multilabel(path)
    np.testing.assert_array_equal(
        data.values.toarray(), [[0.5, 0, 0.001], [0, 1, 0], [0, 7, 0], [0] * 3]
    )
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 0]])
    told = read_multilabel(path, first_feature=0, n_features=9, n_labels=5)
    assert (told.n_features, told.n_labels) == (9, 5)
    assert told.values[0, 1] == 0.5


def test_extreme_classification_counts_from_zero(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("2 5 4\n3 1:2\n 2:1 1:3\n")
    data = read_multilabel(path)
    np.testing.assert_array_equal(data.values.toarray(), [[0, 2, 0, 0, 0], [0, 3, 1, 0, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 0, 0, 1], [0, 0, 0, 0]])


def test_options_of_other_formats_are_refused(tmp_path, sparse):
    with pytest.raises(
        InputError, match="format arff has the options ignore, label_separator, labels"
    ):
        read_multilabel(sparse, separator=";")
    with pytest.raises(InputError, match="one of arff, csv"):
        read_multilabel(tmp_path / "a.doc")


def test_foreign_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    frame = pandas.DataFrame(
        {
            "x": [1, 2, 3],
            "word": ["b", None, "a"],
            "size": pandas.Categorical(["s", "l", None], categories=["s", "m", "l"]),
            "flag": [True, False, True],
            "l": [0, 1, 1],
        }
    )
    frame.to_parquet(path)
    data = read_multilabel(path, labels=["l"])
    assert data.categories[1] == ("a", "b")
    assert [data.categories[2][int(code)] for code in data.values[:2, 2]] == ["s", "l"]
    np.testing.assert_array_equal(data.values[:, [0, 1, 3]], [[1, 1, 1], [2, np.nan, 0], [3, 0, 1]])
    np.testing.assert_array_equal(data.Y.toarray().ravel(), [0, 1, 1])


@pytest.mark.data
def test_traps_of_the_real_files(data_file):
    """Labels are chosen by name; genbase says YES first; names hold backslashes."""
    genbase = read_multilabel(data_file("genbase"))
    assert genbase.categories[1] == ("YES", "NO")
    assert len(genbase.categories[0]) == 662
    assert r"TAG_m\'usica" in read_multilabel(data_file("delicious")).label_names
    assert "Swainson's Thrush" in read_multilabel(data_file("birds")).label_names
    # The relation of medical has a -C that is no longer true; the label file wins.
    assert read_multilabel(data_file("medical")).label_names[0].startswith("Class-0")


@pytest.mark.data
@pytest.mark.parametrize("name", ["verbframes", "medical"])
def test_sparse_real_data_agrees_with_another_parser(data_file, name):
    arff = pytest.importorskip("arff", reason="the other parser is liac-arff")
    path = data_file(name)
    data = read_multilabel(path)
    with gzip.open(path, "rt") as stream:
        theirs = arff.load(stream, return_type=arff.COO)
    names = [name for name, _ in theirs["attributes"]]
    values, rows, columns = theirs["data"]
    cells = np.zeros((data.n_samples, len(names)))
    cells[rows, columns] = list(map(float, values))
    X = cells[:, [names.index(name) for name in data.feature_names]]
    Y = cells[:, [names.index(name) for name in data.label_names]]
    assert (csr_array(X) != data.values).nnz == 0
    np.testing.assert_array_equal(Y, data.Y.toarray())


def slow_match(name, pattern):
    """Say what a pattern means: a star is any characters."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(slow_match(name[i:], pattern[1:]) for i in range(len(name) + 1))
    return name[:1] == pattern[0] and slow_match(name[1:], pattern[1:])


@given(st.text("ab", max_size=7), st.text("ab*", max_size=6))
def test_patterns_mean_what_they_say(name, pattern):
    assert matches_pattern(name, pattern) == slow_match(name, pattern)


def test_no_pattern_takes_forever(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a" * 200 + ",x\n1,0\n")
    with pytest.raises(DataFileError, match="No column matches"):
        read_multilabel(path, labels="*a" * 14 + "*b")


DENSE_UNKNOWN = """@relation r
@attribute x numeric
@attribute a {no,yes}
@attribute b numeric
@data
1,yes,?
2,no,1
3,?,0
4,yes,1
"""
# What a sparse row leaves out is the first value: here that means present.
SPARSE_UNKNOWN = """@relation r
@attribute x numeric
@attribute a {yes,no}
@attribute b {0,1}
@data
{0 1, 2 ?}
{0 2, 1 no, 2 1}
{0 3, 1 ?}
{0 4, 2 1}
"""
CSV_UNKNOWN = "x,a,b\n1,yes,\n2,no,1\n3,?,0\n4,yes,1\n"


@pytest.mark.parametrize(
    ("ending", "text"),
    [("arff", DENSE_UNKNOWN), ("arff", SPARSE_UNKNOWN), ("csv", CSV_UNKNOWN)],
    ids=["dense", "sparse", "csv"],
)
def test_missing_labels_are_refused_absent_or_dropped(tmp_path, ending, text):
    path = tmp_path / f"unknown.{ending}"
    path.write_text(text)
    with pytest.raises(DataFileError, match="missing_labels='negative' or missing_labels='drop'"):
        read_multilabel(path, labels=["a", "b"])
    absent = read_multilabel(path, labels=["a", "b"], missing_labels="negative")
    assert absent.Y.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [1, 1]]
    known = read_multilabel(path, labels=["a", "b"], missing_labels="drop")
    assert known.Y.toarray().tolist() == [[0, 1], [1, 1]]
    X = known.values.toarray() if issparse(known.values) else known.values
    assert X.ravel().tolist() == [2, 4]


def test_a_wrong_label_is_refused_beside_missing_ones_and_its_line_is_named(tmp_path):
    path = tmp_path / "unknown.csv"
    path.write_text("x,a\n1,\n2,1\n3,7\n")
    for policy in ("negative", "drop"):
        with pytest.raises(DataFileError, match=r"line 4.*Got 7") as error:
            read_multilabel(path, labels=["a"], missing_labels=policy)
        assert "missing_labels" not in error.value.cure


def test_what_missing_labels_cannot_do(tmp_path):
    path = tmp_path / "unknown.csv"
    path.write_text("x,a\n1,\n2,?\n")
    with pytest.raises(DataFileError, match="Every row has a missing label"):
        read_multilabel(path, labels=["a"], missing_labels="drop")
    with pytest.raises(InputError, match="missing_labels"):
        read_multilabel(path, labels=["a"], missing_labels="ignore")
    write_multilabel(([[1.0]], [[1]]), tmp_path / "known.npz")
    with pytest.raises(InputError, match="format npz has the options"):
        read_multilabel(tmp_path / "known.npz", missing_labels="drop")


@pytest.mark.parametrize("separator", ";\t,")
def test_the_header_tells_what_separates_cells(tmp_path, separator):
    rows = ['beat,"a,b",is_sad', "120,x,0", "90.5,y,1"]
    path = tmp_path / "songs.csv"
    path.write_text("\n".join(rows).replace(",", separator))
    data = read_multilabel(path, labels=-1)
    assert data.feature_names == ("beat", f"a{separator}b")
    assert data.values.tolist() == [[120, 0], [90.5, 1]]


def test_blanks_around_cells_of_the_header_are_none_of_names(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text(' beat ,"key" ,\t" sad " , "a ""b""", happy\t\n120,3,1,0,1\n')
    data = read_multilabel(path, labels=["happy"])
    assert data.feature_names == ("beat", "key", " sad ", 'a "b"')
    path.write_text(" a , b \n120,1\n90,0\n")
    assert read_multilabel(path, labels=["b"]).feature_names == ("a",)


def test_numbers_with_a_decimal_comma_are_no_categories(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("beat;key;is_sad\n120;C;0\n90,5;a;1\n")
    with pytest.raises(DataFileError, match=r"decimal point\. Column 'beat' has.*decimal=','"):
        read_multilabel(path, labels=-1)
    data = read_multilabel(path, labels=-1, categorical=["beat"])
    assert data.categories == (("120", "90,5"), ("C", "a"))


def test_a_header_alone_is_no_table(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("beat,is_sad\n")
    with pytest.raises(DataFileError, match="Rows must follow the header"):
        read_multilabel(path, labels=-1)


def test_a_plain_file_with_the_name_of_a_compressed_one_is_read_with_a_warning(tmp_path):
    path = tmp_path / "songs.csv.gz"
    path.write_text("beat,is_sad\n120,0\n90,1\n")
    with pytest.warns(LabelanceWarning, match=r"not compressed.*Rename it to songs\.csv,"):
        assert read_multilabel(path, labels=-1).n_samples == 2


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_words_that_are_others_in_every_row_are_warned_of(tmp_path, ending):
    path = tmp_path / f"songs.{ending}"

    def write(n_rows, word):
        rows = [f"{word(t)},{t % 7},{'ab'[t % 2]},{t % 2}" for t in range(n_rows)]
        text = "\n".join(["title,beat,key,sad", *rows, ""])
        path.write_text(text.replace(",", "\t") if ending == "tsv" else text)

    write(20, lambda t: f"the song {t}")
    with pytest.warns(LabelanceWarning, match=r"text of their own in 'title', .*page Text"):
        data = read_multilabel(path, labels=-1)
    assert data.X["title"].tolist() == [f"the song {t}" for t in range(20)]
    write(20, lambda t: f"song-{t}")
    with pytest.warns(LabelanceWarning, match=r"of their own in 'title', .* ids") as caught:
        data = read_multilabel(path, labels=-1)
    assert caught[0].filename == __file__
    assert data.feature_names == ("title", "beat", "key")
    read_multilabel(path, labels=-1, categorical=["title"])  # here a warning is an error
    for n_rows, word in ((19, lambda t: f"song {t}"), (40, lambda t: f"song {t // 2}")):
        write(n_rows, word)
        read_multilabel(path, labels=-1)


TAGS = ["rock;pop", "pop", "", "jazz ; rock;rock", "pop;jazz", "rock"]


def write_tags(path, texts, kind):
    """Write a number and a text of labels for every row, with a column of ids that differ."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [f"s{i}" for i in range(len(texts))], "tempo": range(len(texts))}
    )
    frame["tags"] = [text or None for text in texts]
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")


@pytest.mark.parametrize("separator", ";|,")
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_labels_listed_in_one_column(tmp_path, kind, separator):
    path = tmp_path / f"songs.{kind}"
    write_tags(path, [text.replace(";", separator) for text in TAGS], kind)
    with pytest.raises(DataFileError, match=re.escape(f"label_separator='{separator}'") + ".*jazz"):
        read_multilabel(path, labels=["tags"], ignore=["id"])
    data = read_multilabel(path, labels=["tags"], label_separator=separator, ignore=["id"])
    assert data.label_names == ("jazz", "pop", "rock")
    assert data.feature_names == ("tempo",)
    sets = [{name.strip() for name in text.split(";")} - {""} for text in TAGS]
    expected = [[name in labels for name in data.label_names] for labels in sets]
    np.testing.assert_array_equal(data.Y.toarray(), expected)
    kept = read_multilabel(
        path, labels=["tags"], label_separator=separator, missing_labels="drop", ignore=["id"]
    )
    np.testing.assert_array_equal(kept.Y.toarray(), [row for row in expected if any(row)])


def test_texts_of_labels_are_not_reduced_silently(tmp_path):
    path = tmp_path / "songs.csv"
    write_tags(path, [text or "rock" for text in TAGS], "csv")
    options = {"labels": ["tags"], "multi_class": "reduce"}
    with pytest.warns(
        LabelanceWarning, match=r"each of 5 texts.*label_separator=';'.*jazz, pop, rock"
    ):
        assert read_multilabel(path, **options).n_labels == 5
    with pytest.raises(InputError, match=r"label_separator.*multi_class='reduce'"):
        read_multilabel(path, **options, label_separator=";")
    with pytest.raises(DataFileError, match=r"label_separator.*'tempo' has numbers"):
        read_multilabel(path, labels=["tempo"], label_separator=";")
    with pytest.raises(
        DataFileError, match=r"',' must occur between.*'tags' does not have it.*label_separator=';'"
    ):
        read_multilabel(path, labels=["tags"], label_separator=",")
    with pytest.raises(InputError, match="label_separator must be"):
        read_multilabel(path, labels=["tags"], label_separator="")


def test_values_with_commas_are_no_lists(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text('tempo,mood\n90,"so, so"\n120,good\n60,bad\n')
    data = read_multilabel(path, labels=["mood"], multi_class="reduce")
    assert data.label_names == ("mood=bad", "mood=good", "mood=so, so")


@pytest.mark.parametrize("ending", ["arff", "csv", "tsv", "parquet", "npz"])
def test_ignored_columns_are_as_if_the_file_had_none(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    values = np.array([[0.0, 5.0, 1.0], [1.0, 6.0, 0.0], [0.0, 7.0, 1.0]])
    words = (("x", "y"), None, ("u", "v"))
    names = ("id", "tempo", "day")
    whole = MultiLabelDataset(values, [[1], [0], [1]], names, ("sad",), categories=words)
    part = MultiLabelDataset(values[:, 1:2], [[1], [0], [1]], ("tempo",), ("sad",))
    path = write_multilabel(whole, tmp_path / f"songs.{ending}")
    assert read_multilabel(path, ignore=["day", "id"]).same_as(part)
    with pytest.raises(DataFileError, match=r"ignore.*Did you mean 'day'.*Columns: id, tempo, day"):
        read_multilabel(path, ignore=["days"])


def test_one_name_to_ignore_is_a_name_and_no_list_of_letters(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("ab,x,a\nu,1,0\nu,2,1\n")
    assert read_multilabel(path, labels=["a"], ignore="ab").feature_names == ("x",)
    for labels in ("a", ["a"], ("a",)):
        with pytest.raises(InputError, match="labels and ignore both name 'a'"):
            read_multilabel(path, labels=labels, ignore="a")


def test_what_is_ignored_may_hold_anything(tmp_path):
    arff = tmp_path / "songs.arff"
    head = "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute at date\n@attribute x real\n@data\n"
    arff.write_text(f"{head}1,2020-01-02,3\n0,2020-01-03,4\n")
    assert read_multilabel(arff, ignore=["at"]).values.tolist() == [[3], [4]]
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [1.0, 2.0], "x.y": [[1], [2, 3]], "l": [0, 1]})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "songs.parquet")
    data = read_multilabel(tmp_path / "songs.parquet", labels=["l"], ignore=["x.y"])
    assert data.values.tolist() == [[1], [2]]


def test_a_comma_in_the_header_does_not_hide_the_semicolon(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("beat;loud (dB, mean);key;sad\n120;0.5;C;0\n90;0.25;a;1\n")
    data = read_multilabel(path, labels=-1)
    assert data.feature_names == ("beat", "loud (dB, mean)", "key")


@pytest.mark.parametrize("separator", ",;\t")
def test_decimal_commas_name_their_cure_whatever_separates_cells(tmp_path, separator):
    path = tmp_path / "songs.csv"
    path.write_text(separator.join(["beat", "day", "sad\n"]))
    with path.open("a") as file:
        file.write(separator.join(["120", "12.05.2020", "0\n"]))
        file.write(separator.join(['"90,5"', "13.05.2020", "1\n"]))
    for choice in (None, separator):
        with pytest.raises(DataFileError, match=r"'beat' has '90,5'.*decimal=','"):
            read_multilabel(path, labels=-1, separator=choice)
    assert read_multilabel(path, labels=-1, ignore=["beat"]).feature_names == ("day",)
    with pytest.raises(DataFileError, match=r"sep=.*, encoding='cp1252', decimal=','"):
        read_multilabel(path, labels=-1, encoding="cp1252")


@pytest.mark.parametrize("ending", ["xlsx", "xls", "ods"])
def test_spreadsheets_name_the_way_to_csv(tmp_path, ending):
    path = tmp_path / f"songs.{ending}"
    path.write_text("PK")
    with pytest.raises(InputError, match=r"is a spreadsheet.*CSV.*pandas\.read_excel"):
        read_multilabel(path)
    with pytest.raises(InputError, match=r"Use CSV, such as more\.csv"):
        write_multilabel((np.eye(3), np.eye(3)), tmp_path / f"more.{ending}")


def test_header_cells_may_be_blank(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("tempo,sad,,\n90,1,,\n80,0,,\n")  # as spreadsheets write unused columns
    assert read_multilabel(path, labels=["sad"]).feature_names == ("tempo",)
    path.write_text(',"",,sad\n7,1,x,1\n5,2,,0\n')
    with pytest.raises(DataFileError, match="'' is repeated"):
        read_multilabel(path, labels=["sad"])
    path.write_text(",tempo, ,sad\n7,1,x,1\n5,2,,0\n")
    data = read_multilabel(path, labels=["sad"])
    assert data.feature_names == ("", "tempo", "column 3")
    assert data.categories == (None, None, ("x",))
    path.write_text('"",sad\n,1\n,0\n')  # a name that is empty, not a blank
    assert read_multilabel(path, labels=["sad"]).feature_names == ("",)


def test_bars_and_blanks_after_commas_separate_cells(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text("beat|key|sad\n120|C|0\n90|a|1\n")
    assert read_multilabel(path, labels=["sad"]).feature_names == ("beat", "key")
    path.write_text('beat, key, " low", sad\n120, C, 1, 0\n90, a, 2, 1\n')
    data = read_multilabel(path, labels=["sad"])
    assert (data.feature_names, data.categories[1]) == (("beat", "key", " low"), ("C", "a"))


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_the_rows_warns(tmp_path, first):
    path = tmp_path / "songs.csv"
    rows = [f"{row + first},{row * 7 % 5},{row % 2}" for row in range(10)]
    path.write_text("\n".join(["number,beat,sad", *rows, ""]))
    with pytest.warns(LabelanceWarning, match=r"^'number' counts.*ignore=\['number'\]"):
        read_multilabel(path, labels=["sad"])
    read_multilabel(path, labels=["sad"], ignore=["number"])
    read_multilabel(path, labels=["sad"], categorical=["number", "beat"])


def test_a_column_of_parquet_that_counts_the_rows_is_warned_of(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "songs.parquet"
    frame = {"number": range(20), "beat": [i * 7 % 5 for i in range(20)], "sad": [0, 1] * 10}
    pd.DataFrame(frame).to_parquet(path)
    with pytest.warns(LabelanceWarning, match="^'number' counts") as caught:
        read_multilabel(path, labels=["sad"])
    assert caught[0].filename == __file__
    read_multilabel(path, labels=["sad"], ignore=["number"])


def test_columns_that_count_again_and_again_are_no_ids(tmp_path):
    path = tmp_path / "minutes.csv"
    minutes = pd.DataFrame({"minute": np.tile(np.arange(1100), 2), "l": [0, 1] * 1100})
    minutes.to_csv(path, index=False)
    assert read_multilabel(path, labels=["l"]).feature_names == ("minute",)


def test_files_of_our_own_are_not_searched_for_ids(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "own.parquet"
    X, y = np.arange(40.0).reshape(20, 2)[:, ::-1] // 2, np.eye(20, 2)
    write_multilabel((X, y), path)
    assert read_multilabel(path).n_features == 2


def test_the_index_of_pandas_is_no_feature(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "songs.parquet"
    pd.DataFrame({"x": [1, 2, 3], "l": [0, 1, 0]}).loc[[2, 0]].to_parquet(path)
    assert read_multilabel(path, labels=["l"]).feature_names == ("x",)
    assert read_multilabel(path, labels=-1).label_names == ("l",)


def test_the_index_of_dask_is_no_feature(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": [3, 1, 2], "l": [0, 1, 0]}).set_index(pd.Index([5, 6, 7]))
    dd.from_pandas(frame, npartitions=1).to_parquet(tmp_path / "songs")
    (path,) = (tmp_path / "songs").glob("*.parquet")
    written = pytest.importorskip("pyarrow.parquet").read_schema(path).names
    assert "__null_dask_index__" in written
    assert read_multilabel(path, labels=["l"]).feature_names == ("x",)


def test_lists_and_dates_of_parquet_name_their_cure(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "songs.parquet"
    write = pytest.importorskip("pyarrow.parquet").write_table
    write(pa.table({"tags": [["a"], ["a", "b"]], "l": [0, 1]}), path)
    with pytest.raises(DataFileError, match=r"ignore=\['tags'\].*str\.join.*label_separator"):
        read_multilabel(path, labels=["l"])
    write(pa.table({"at": pa.array([1, 2], pa.timestamp("us")), "l": [0, 1]}), path)
    with pytest.raises(DataFileError, match=r"ignore=\['at'\].*MLROS"):
        read_multilabel(path, labels=["l"])
