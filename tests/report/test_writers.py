"""Reports in all formats: nothing breaks out, nothing is fetched, the same bytes every time."""

import csv
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from labelance.exceptions import InputError
from labelance.report import study_tables, write_report
from labelance.study.statistics import compare

METRICS = ("F-measure", "AUC-ROC", "AUCPR")
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Page(HTMLParser):
    """What a page consists of: its elements, checked to be closed in order, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


@pytest.fixture(scope="module")
def hostile_files(hostile_results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    names = sorted(set(hostile_results["dataset"]))
    datasets = pd.DataFrame({"dataset": names, "n": range(len(names))})
    for name in ("report.html", "report.md", "report.tex", "report.csv", "tables"):
        write_report(
            hostile_results,
            folder / name,
            title=names[0],
            datasets=datasets,
            about={names[0]: names[1]},
        )
    return folder


@pytest.mark.slow
def test_html_holds_only_our_own_elements(hostile_files, hostile):
    text = (hostile_files / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 1
    assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & set(tags)
    assert not [name for _, attributes in page.elements for name in attributes if name[:2] == "on"]
    words = " ".join(page.words)
    assert hostile[0] in words
    assert hostile[1] in words


def test_html_needs_nothing_from_elsewhere(hostile_files):
    text = (hostile_files / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    links = [value for _, found in Page(text).elements for name, value in found.items()
             if name in ("src", "href")]  # fmt: skip
    assert links
    assert all(link.startswith("#") for link in links)


def test_without_a_script_all_is_shown_but_the_chooser(hostile_files):
    found = Page((hostile_files / "report.html").read_text(encoding="utf-8")).elements
    assert [attributes["id"] for _, attributes in found if "hidden" in attributes] == ["chooser"]


def test_html_ids_are_unique_and_links_lead_somewhere(hostile_files):
    found = Page((hostile_files / "report.html").read_text(encoding="utf-8")).elements
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in found:
        assert attributes.get("href", "#")[1:] in {"", *ids}


def test_figures_are_whole_and_have_words(hostile_files):
    text = (hostile_files / "report.html").read_text(encoding="utf-8")
    figures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(figures) == 2 * 3 * 2 + 2
    for figure in figures:
        root = ET.fromstring(figure)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert root.find("title").text
        assert root.find("desc").text


def test_figures_have_the_colors_of_the_page(hostile_files):
    text = (hostile_files / "report.html").read_text(encoding="utf-8")
    known = set(re.findall(r"(--\w+): #", text))
    for figure in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        used = re.findall(r"(?:fill|stroke): ([^;\"]*)", figure)
        assert {color for color in used if color != "none"}
        for color in used:
            variable = re.fullmatch(r"none|var\((--\w+), #[0-9a-f]{6}\)", color)
            assert variable, color
            assert variable[1] is None or variable[1] in known


def test_every_table_has_a_caption_and_equal_rows(hostile_files):
    text = (hostile_files / "report.html").read_text(encoding="utf-8")
    for table in re.findall(r"<table.*?</table>", text, flags=re.DOTALL):
        assert "<caption>" in table
        widths = {len(re.findall("<t[hd][ >]", row)) for row in table.split("<tr")[1:]}
        assert len(widths) == 1


def test_markdown_rows_have_equally_many_cells(hostile_files):
    text = (hostile_files / "report.md").read_text(encoding="utf-8")
    assert "<script" not in text.replace(r"\<", "")
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


def test_latex_is_balanced_and_escaped(hostile_files):
    text = (hostile_files / "report.tex").read_text(encoding="utf-8")
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    bare = text.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"(?<!\\)[%#_~]", text.partition(r"\begin{document}")[2])
    for table in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, flags=re.DOTALL):
        rows = [row for row in table.splitlines() if row.endswith(r"\\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(results, hostile_results, tmp_path):
    ascii_only = hostile_results[hostile_results["dataset"].map(str.isascii)]
    ascii_only = ascii_only[~ascii_only["dataset"].str.contains("\0", regex=False)]
    for name, frame in (("plain", results), ("hostile", ascii_only)):
        write_report(frame, tmp_path / f"{name}.tex", title="a_b & c")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"],
            cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:]


def test_csv_rows_are_whole_and_no_cell_is_a_formula(hostile_files):
    files = [hostile_files / "report.csv", *(hostile_files / "tables").iterdir()]
    assert len(files) > 10
    for file in files:
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
        assert len({len(row) for row in rows}) == 1
        assert not [cell for row in rows for cell in row if cell[:1] in tuple("=+@")]


@pytest.mark.slow
def test_csv_scores_come_back_as_numbers(results, tmp_path):
    path = write_report(results, tmp_path / "scores.csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(path),
        study_tables(results)["scores"].reset_index(drop=True),
        check_dtype=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.html", "report.md", "report.tex", "report.csv"])
def test_the_same_results_give_the_same_bytes(results, tmp_path, name):
    # One measure: every one has pictures of its own, and their order is not that of rows.
    results = results.drop(columns=["macro_auc_roc", "macro_auc_pr"])
    one = write_report(results, tmp_path / "one" / name)
    other = write_report(results.sample(frac=1, random_state=3), tmp_path / "other" / name)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_what_is_missing_stands_at_the_top(results, tmp_path):
    gone = (results["dataset"] == "c") & (results["learner"] == "BR")
    short = results[~(gone & (results["method"] == "MLSOL"))]
    text = write_report(short, tmp_path / "report.md").read_text(encoding="utf-8")
    assert "188 of 192 cells are finished." in text
    assert "not ranked under BR: c (MLSOL has 0 of 4 folds)" in text


@pytest.mark.slow
def test_too_few_datasets_are_said_at_the_top(results_of, tmp_path):
    path = write_report(results_of(datasets="abc"), tmp_path / "report.md")
    assert "no pair of 3 methods can be significant" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_best_ranks_are_bold(results, tmp_path):
    markdown = write_report(results, tmp_path / "r.md").read_text(encoding="utf-8")
    latex = write_report(results, tmp_path / "r.tex").read_text(encoding="utf-8")
    row = next(line for line in markdown.splitlines() if line.startswith("| F-measure | BR"))
    ranks = [float(cell.strip("* ").split()[0]) for cell in row.strip("| ").split("|")[2:]]
    bold = [cell.strip().startswith("**") for cell in row.strip("| ").split("|")[2:]]
    assert bold == [rank == min(ranks) for rank in ranks]
    assert rf"\textbf{{{min(ranks):.2f} (" in latex


@pytest.mark.slow
def test_nothing_is_bold_where_most_methods_are_as_good(results_of, tmp_path):
    same = results_of(datasets="abcdefgh").assign(macro_f1=0.5)
    text = write_report(same, tmp_path / "r.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith(("| F-measure |", "| a |"))]
    assert not [row for row in rows if row.startswith("| F-measure |") and "**" in row]


def verdict_of(results, tmp_path):
    text = write_report(results, tmp_path / "r.md").read_text(encoding="utf-8")
    return text.split("\n\n")[1]


@pytest.mark.slow
def test_the_verdict_says_who_wins_by_how_much_and_whether_it_is_significant(results_of, tmp_path):
    results = results_of(datasets=[f"d{number:02}" for number in range(14)])
    verdict = verdict_of(results, tmp_path)
    assert len(re.findall(r"\.(?= [A-Z]|$)", verdict)) == 3
    tables = study_tables(results)
    ranks = tables["ranks"].groupby("method")["average_rank"].mean()
    assert verdict.startswith(
        f"EMLSOL has the best average rank of 3 methods, {ranks['EMLSOL']:.2f}, over 3 measures "
        f"and 2 learners; MLSOL follows with {ranks['MLSOL']:.2f}."
    )
    means = tables["scores"].pivot_table("mean", ["metric", "learner", "dataset"], "method")
    gain = (means["EMLSOL"] - means["Default"]).groupby("metric").mean()
    for metric in METRICS:
        assert f"{gain[metric]:+.3f} in {metric}" in verdict
    ranked = [
        compare(scores.droplevel([0, 1])) for _, scores in means.groupby(["metric", "learner"])
    ]
    count = sum(bool(one.significant.loc["EMLSOL", "Default"]) for one in ranked)
    assert f"significant over Default in {count}" in verdict
    assert "of 6 comparisons (Wilcoxon signed ranks, Bergmann-Hommel, 5%)." in verdict


@pytest.mark.slow
def test_a_verdict_is_honest(results_of, tmp_path):
    few = verdict_of(results_of(datasets="abc"), tmp_path)
    assert "None of this can be significant with so few datasets" in few
    noise = results_of(datasets=[f"d{number:02}" for number in range(12)])
    rng = np.random.default_rng(0)
    for metric in ("macro_f1", "macro_auc_roc", "macro_auc_pr"):
        noise[metric] = rng.normal(0.5, 0.1, len(noise))
    assert "it may be chance" in verdict_of(noise, tmp_path)
    assert "share the best average rank" in verdict_of(
        results_of(datasets="abcdefgh").assign(macro_f1=1, macro_auc_roc=1, macro_auc_pr=1),
        tmp_path,
    )
    assert verdict_of(results_of(datasets="a"), tmp_path).startswith("Nothing can be ranked yet")
    other = results_of(learners=["BR"], methods=["Default", "MLSOL"])
    apart = pd.concat([other, results_of(learners=["MLkNN"], methods=["EMLSOL", "mine"])])
    assert "no two methods in common" in verdict_of(apart, tmp_path)


@pytest.mark.slow
def test_an_unknown_ending_is_refused(results, tmp_path):
    with pytest.raises(InputError, match=r"\.docx"):
        write_report(results, tmp_path / "report.docx")
    path = write_report(results, tmp_path / "report.txt", format="markdown")
    assert path.read_text(encoding="utf-8").startswith("# Study")


def test_nothing_half_written_remains(results, tmp_path):
    target = tmp_path / "report.md"
    target.write_text("before")
    with pytest.raises(InputError):
        write_report(results.drop(columns="fold"), target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
