"""The front page: what ``import labelance`` costs, touches and offers."""

import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import labelance
from labelance.exceptions import MissingDependencyError
from labelance.sampling import all_samplers

HEAVY = {"pandas", "polars", "matplotlib", "sklearn", "imblearn", "scipy", "numpy"}

# Every file opened to write, folder made, socket used or process started while importing.
WATCHED_IMPORT = """
import os, sys, json
seen = []

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seen.append([event, str(path)])
    elif event in {"os.mkdir", "os.rename", "os.remove"} or event.startswith(
        ("socket.", "subprocess.", "urllib.")
    ):
        seen.append([event, repr(args)])

sys.addaudithook(watch)
import labelance
print(json.dumps({"seen": seen, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """One import in a fresh process with an empty home, and everything it did."""
    folder = tmp_path_factory.mktemp("import")
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    env = os.environ | {"HOME": str(home), "USERPROFILE": str(home), "TMPDIR": str(work)}
    for name in [name for name in env if name.startswith(("XDG_", "PYTEST", "COV"))]:
        del env[name]
    # -B: Python's own byte code is not what this is about.
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED_IMPORT],
        cwd=work,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    left = [str(path) for path in folder.rglob("*") if path not in {home, work}]
    return json.loads(done.stdout) | {"left": left, "stderr": done.stderr}


def test_import_pulls_no_heavy_and_no_optional_package(watched):
    optional = {
        name.replace("-", "_").lower() for name in labelance.show_versions(as_dict=True)["optional"]
    }
    loaded = {name.partition(".")[0].lower() for name in watched["modules"]}
    assert not loaded & (HEAVY | optional)


def test_import_writes_and_downloads_nothing(watched):
    assert watched["seen"] == []
    assert watched["left"] == []
    assert watched["stderr"] == ""


def test_every_name_of_the_front_page_opens(case):
    for name in labelance.__all__:
        with case(name):
            assert getattr(labelance, name) is not None
            assert name in dir(labelance)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'MLSOLL'"):
        _ = labelance.MLSOLL


def test_front_page_names_live_in_their_packages():
    assert labelance.MLSOL is labelance.sampling.MLSOL
    assert labelance.profile is labelance.imbalance.profile


def test_version_has_a_single_source():
    assert metadata.version("labelance") == labelance.__version__


def test_show_versions_prints_what_as_dict_returns(capsys):
    facts = labelance.show_versions(as_dict=True)
    assert capsys.readouterr().out == ""
    assert labelance.show_versions() is None
    printed = capsys.readouterr().out
    for part in ("core", "optional"):
        for name, version in facts[part].items():
            assert f"{name}: {version}" in printed
    assert "narwhals" in facts["core"]
    assert facts["threadpools"]


def test_show_versions_lists_the_packages_of_the_project_file():
    path = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    wanted = {line.partition(">")[0] for line in project["dependencies"]}
    facts = labelance.show_versions(as_dict=True)
    assert set(facts["core"]) == wanted | {"labelance"}
    extras = project["optional-dependencies"].values()
    optional = {Requirement(line).name for lines in extras for line in lines} - {"labelance"}
    assert {name for name in optional if is_installed(name)} == set(facts["optional"])


def is_installed(name):
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def test_citation_names_this_version_or_the_last_release():
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    version = re.search(r"^version: (.+)$", citation, re.M)[1]
    now = Version(labelance.__version__)
    assert Version(version) <= now if now.is_devrelease else version == labelance.__version__


def test_every_error_and_warning_is_public():
    classes = {
        name for name, value in vars(labelance.exceptions).items() if isinstance(value, type)
    }
    assert classes == set(labelance.exceptions.__all__)


# Words with a second meaning, or a second word for one meaning, and what is said instead.
OLD_WORDS = {
    "threshold_data": "tune_on",
    "calibration_data": "tune_on",
    "min_rows": "min_class_count",
    "min_positives": "min_class_count",
    "share_train": "train_prior",
    "share_true": "target_prior",
    "neighbor_method": "algorithm",
    "k_border": "m_neighbors",
}
# Words with one meaning in the packages named here, which no other package uses.
ONLY_IN = {
    "k": ("labelance.metrics",),
    "method": (
        "labelance.decisions.LabelCalibration",
        "labelance.decisions.find_calibration",
        "labelance.study",
    ),
    "strategy": ("labelance.metrics",),
    "mode": ("labelance.sampling.MLTL",),
    "threshold": ("labelance.learners.ECC", "labelance.report.ThresholdDisplay"),
    "sampling_ratio": ("labelance.sampling",),
    "max_samples": ("labelance.learners",),
}
# Rows of data, which no sampler counts its new rows by.
SAMPLERS_OWN = {"n_samples": "n_synthetic", "max_samples": "max_synthetic"}


def public_callables():
    for module in pkgutil.iter_modules(labelance.__path__, "labelance."):
        if not module.name.startswith(("labelance._", "labelance.exceptions")):
            try:
                package = import_module(module.name)
            except MissingDependencyError:  # labelance.torch
                continue
            for name in getattr(package, "__all__", ()):
                found = getattr(package, name)
                if callable(found):
                    yield f"{module.name}.{name}", found


def parameters_of(found):
    try:
        return set(inspect.signature(found).parameters)
    except ValueError:  # a class that is compiled
        return set()


def test_a_parameter_has_one_word():
    public = {name: parameters_of(found) for name, found in public_callables()}
    assert "tune_on" in public["labelance.ensemble.EMLS"]
    found = {
        f"{name}({word}=)": f"call it {new}"
        for name, parameters in public.items()
        for word, new in OLD_WORDS.items()
        if word in parameters
    }
    assert not found


def test_a_word_has_one_meaning():
    found = [
        f"{name}({word}=)"
        for name, callable_ in public_callables()
        for word in parameters_of(callable_) & ONLY_IN.keys()
        if not name.startswith(ONLY_IN[word])
    ]
    assert not found
    samplers = [parameters_of(one) for one in all_samplers().values()]
    assert not [own for own in samplers if own & SAMPLERS_OWN.keys()]
