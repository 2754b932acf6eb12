"""What a repository needs around the code: workflows, recipe, site, and the release checklist."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import deploy_docs
import draw_layers
import release

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.skipif(not WORKFLOWS, reason="the archive of sources has none")
def test_every_action_is_pinned_by_its_hash():
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    used = re.findall(r"uses: (.+)", text)
    assert len(used) > 10
    assert not [one for one in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", one)]
    versions = {}
    for one in used:  # one version of an action everywhere
        name, pinned = one.split("@")
        versions.setdefault("/".join(name.split("/")[:2]), set()).add(pinned)
    assert not {name for name, pinned in versions.items() if len(pinned) > 1}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_few_permissions_and_ends(path):
    workflow = pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 60 for job in workflow["jobs"].values())


def test_the_recipe_asks_for_what_the_project_asks_for():
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    asked = dict(re.findall(r"^    - ([a-z-]+) (>=\S+)$", text.split("  run:")[1], re.M))
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cli"]
    assert {name: set(bounds.split(",")) for name, bounds in asked.items()} == {
        one.name: set(str(one.specifier).split(",")) for one in map(Requirement, wanted)
    }


def test_the_recipe_asks_for_the_oldest_python_that_the_project_takes():
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    ((major, minor),) = re.findall(r"skip: true  # \[py<(\d)(\d+)\]", text)
    assert PROJECT["requires-python"] == f">={major}.{minor}"


def test_no_address_has_a_placeholder():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8").lower()
    assert not re.findall(r"https?://\S*(?:owner|your|example|placeholder|todo)\S*", text)


def test_files_that_answer_a_newcomer_are_there():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.split("| question | file |")[1].split("\n\n")[0]
    named = [ROOT / "src/labelance" / name for name in re.findall(r"`([\w/]+\.py)`", table)]
    assert len(named) > 10
    assert not [path for path in named if not path.is_file()]


def test_the_picture_of_the_layers_is_that_of_the_contract():
    layers = draw_layers.read_layers()
    assert layers[-1] == ["exceptions"]
    assert draw_layers.PICTURE.read_text(encoding="utf-8") == draw_layers.draw(layers)


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="this copy has no benchmarks")
def test_a_page_or_a_tool_names_every_benchmark():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/[!_]*/*.md"), *ROOT.glob("docs/*.md")]
    pages += ROOT.glob("tools/*.py")
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    named = set(re.findall(r"\w+", "\n".join(line for line in lines if "benchmarks" in line)))
    assert {path.stem for path in ROOT.glob("benchmarks/[!_]*.py")} <= named


# ------------------------------------------------------------------------------------ the site


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "index.html").write_text("hello")
    return folder


def test_the_site_has_a_folder_for_every_version(site, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for ref in ("v0.9.1", "main", "v0.10.0", "v0.9.2"):
        (site / "index.html").write_text(ref)
        assert deploy_docs.place_site(site, tree, ref)
    pages = {path.parent.name: path.read_text() for path in tree.glob("*/index.html")}
    assert pages == {"dev": "main", "0.9": "v0.9.2", "0.10": "v0.10.0", "stable": "v0.10.0"}
    menu = [one["version"] for one in json.loads((tree / "versions.json").read_text())]
    assert menu == ["stable", "dev", "0.10", "0.9"]
    assert "url=stable/" in (tree / "index.html").read_text()


def test_a_candidate_has_no_site_and_main_alone_is_the_front(site, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    assert not deploy_docs.place_site(site, tree, "v0.1.0rc1")
    assert not list(tree.iterdir())
    assert deploy_docs.place_site(site, tree, "main")
    assert "url=dev/" in (tree / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_branch_is_begun_and_then_continued(site, tmp_path, monkeypatch):
    origin = tmp_path / "origin"
    deploy_docs.git("init", "--bare", "--quiet", str(origin), folder=tmp_path)
    for number, ref in enumerate(("main", "v0.1.0", "v0.1.0")):
        checkout = tmp_path / f"checkout{number}"
        deploy_docs.git("clone", "--quiet", str(origin), str(checkout), folder=tmp_path)
        if not number:
            author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
            deploy_docs.git(*author, "commit", "--allow-empty", "-m", "First", folder=checkout)
            deploy_docs.git("push", "origin", "HEAD:main", folder=checkout)
            deploy_docs.git("symbolic-ref", "HEAD", "refs/heads/main", folder=origin)
        monkeypatch.chdir(checkout)
        monkeypatch.setattr("sys.argv", ["deploy_docs.py", str(site), ref])
        assert deploy_docs.main() == 0
    files = deploy_docs.git("ls-tree", "-r", "--name-only", "gh-pages", folder=origin).stdout
    assert {"dev/index.html", "0.1/index.html", "stable/index.html", "versions.json"} <= set(
        files.split()
    )
    commits = deploy_docs.git("log", "--format=%s", "gh-pages", folder=origin).stdout
    assert commits.splitlines() == ["Publish the site of v0.1.0", "Publish the site of main"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_site_that_another_run_overtakes_is_pushed_again(site, tmp_path, monkeypatch):
    git, author = deploy_docs.git, ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    origin = tmp_path / "origin"
    git("init", "--bare", "--quiet", "-b", "main", str(origin), folder=tmp_path)
    for name in ("first", "other"):
        git("clone", "--quiet", str(origin), str(tmp_path / name), folder=tmp_path)
        if name == "first":
            git(*author, "commit", "--allow-empty", "-m", "First", folder=tmp_path / name)
            git("push", "origin", "HEAD:main", folder=tmp_path / name)

    def overtaken(*words, folder):
        if words[0] == "push":
            monkeypatch.setattr(deploy_docs, "git", git)
            deploy_docs.publish(site, "v0.1.0", tmp_path / "other", push=True)
        return git(*words, folder=folder)

    monkeypatch.chdir(tmp_path / "first")
    monkeypatch.setattr(deploy_docs, "git", overtaken)
    monkeypatch.setattr("sys.argv", ["deploy_docs.py", str(site), "main"])
    assert deploy_docs.main() == 0
    commits = git("log", "--format=%s", "gh-pages", folder=origin).stdout
    assert commits.splitlines() == ["Publish the site of main", "Publish the site of v0.1.0"]


# ------------------------------------------------------------------------------- the checklist


@pytest.fixture
def sources(tmp_path):
    """The files that state a version."""
    for name in ("src/labelance/__init__.py", "CITATION.cff", "recipe/meta.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    # The project's own may have no unreleased changes, above all on the commit of a release.
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## [Unreleased]\n\n### Added\n\n- It.\n")
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "check_release.py").write_bytes(
        (ROOT / ".ci" / "check_release.py").read_bytes()
    )
    return tmp_path


@pytest.mark.slow
def test_the_checklist_states_the_version_and_takes_its_notes(sources):
    found = release.Release("9.8.0rc1", sources, sources)
    for _ in range(2):  # a second run changes nothing
        release.state_version(found)
        assert release.write_notes(found).endswith("lines in notes.md")
    assert (sources / "CHANGELOG.md").read_text().count("## [9.8.0rc1] - ") == 1
    assert "### Added" in (sources / "notes.md").read_text()
    assert '{% set version = "9.8.0rc1" %}' in (sources / "recipe" / "meta.yaml").read_text()


@pytest.fixture
def pages(tmp_path):
    """What strangers read first, and the metadata."""
    texts = {"pyproject.toml": "[project]\n\n[project.scripts]\n"}
    texts["README.md"] = """
<source srcset="docs/_static/front-dark.svg"> [guide](docs/user_guide/index.md) [x](https://x.org)
[own](docs/a.md#b) [law](LICENSE)
pip install ".[cli,report]" && labelance demo
pip install ".[docs]" && sphinx-build docs
pip install -e ".[test]" && pytest
"""
    texts["docs/install.md"] = "From a copy of the source:\npip install .   # the library\n"
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_pages_of_a_release_install_it_and_lead_to_the_repository(pages, monkeypatch):
    monkeypatch.setattr(release, "find_address", lambda _: "https://github.com/Some/one")
    for changed in (2, 0):  # a second run changes nothing
        found = release.state_pages(release.Release("9.8.0", pages, pages))
        assert found == f"{changed} pages; https://github.com/Some/one"
    assert (pages / "README.md").read_text().splitlines()[1:] == [
        '<source srcset="https://github.com/Some/one/raw/main/docs/_static/front-dark.svg"> '
        "[guide](https://some.github.io/one/stable/user_guide/index.html) "
        "[x](https://x.org)",
        "[own](https://some.github.io/one/stable/a.html#b) "
        "[law](https://github.com/Some/one/blob/main/LICENSE)",
        'pip install "labelance[cli,report]" && labelance demo',
        'pip install ".[docs]" && sphinx-build docs',  # these two need the source
        'pip install -e ".[test]" && pytest',
    ]
    assert (pages / "docs/install.md").read_text() == (
        "From the package index:\npip install labelance   # the library\n"
    )
    urls = tomllib.loads((pages / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Documentation"] == "https://some.github.io/one/stable/"


def test_an_unknown_address_is_left_out(pages, monkeypatch):
    monkeypatch.setattr(release, "find_address", lambda _: None)
    assert "stay relative" in release.state_pages(release.Release("9.8.0", pages, pages))
    assert "[guide](docs/user_guide/index.md)" in (pages / "README.md").read_text()
    assert "urls" not in (pages / "pyproject.toml").read_text()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("git@github.com:some/one.git", "https://github.com/some/one"),
        ("https://github.com/some/one", "https://github.com/some/one"),
        ("../elsewhere", None),
    ],
)
def test_the_address_is_that_of_the_origin(tmp_path, origin, address):
    deploy_docs.git("init", "--quiet", folder=tmp_path)
    deploy_docs.git("remote", "add", "origin", origin, folder=tmp_path)
    assert release.find_address(tmp_path) == address


@pytest.mark.slow
def test_a_version_takes_the_notes_of_its_candidates(sources):
    for version in ("9.8.0rc1", "9.8.0rc2", "9.8.0"):
        found = release.Release(version, sources, sources)
        release.state_version(found)
        release.write_notes(found)
        assert "- It." in (sources / "notes.md").read_text()
    assert (sources / "CHANGELOG.md").read_text().count("## [9.8.0") == 1


def test_the_checklist_stops_at_the_first_step_that_fails(sources, capsys, monkeypatch):
    (sources / "CITATION.cff").write_text("no version\n")
    monkeypatch.setitem(release.STEPS, "build", lambda _: pytest.fail("it went on"))
    assert not release.walk(release.Release("9.8.0", sources, sources))
    printed = capsys.readouterr().out
    assert printed.startswith("FAILED state the version")
    assert printed.count("\n") == 1


def test_a_final_version_needs_its_saved_models(sources):
    with pytest.raises(release.StepError, match=r"saved_models\.py"):
        release.check_saved(release.Release("9.8.0", sources, sources))
    assert "none" in release.check_saved(release.Release("9.8.0rc1", sources, sources))


def test_a_wrong_version_is_refused():
    with pytest.raises(SystemExit, match=r"Got v1\.0"):
        release.main(["v1.0"])
