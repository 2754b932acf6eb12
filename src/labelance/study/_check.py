"""All that can be wrong with a plan, found before any work is done."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from labelance.datasets import dataset_info, read_multilabel
from labelance.exceptions import StudyError
from labelance.study._design import DataSource, Learner, Method, content_of
from labelance.study._study import Study


def check(study: Study) -> None:
    """Raise for names that repeat, classes that are not there, and options that do not go."""
    for part in ("datasets", "learners", "methods"):
        refuse_repeated_names(part, getattr(study, part))
    if study.folds < 2 or study.repeats < 1:
        raise StudyError(
            "A study has at least two folds and one repetition",
            f"folds={study.folds}, repeats={study.repeats}",
            "Choose more",
        )
    for source in study.datasets:
        _check_source(source, study)
    for learner in study.learners:
        _check_learner(learner)
    for method in study.methods:
        _check_method(method)
        for name in method.learners:
            study.learner(name)


def refuse_repeated_names(part: str, items: Any) -> None:
    """Raise unless there are datasets, learners or methods, each with a name of its own."""
    if not items:
        raise StudyError(f"A study has {part}", "there are none", f"Name some {part}")
    name, count = Counter(item.name for item in items).most_common(1)[0]
    if count > 1 or not name:
        raise StudyError(
            f"The {part} of a study have names that differ", f"{name!r} comes {count} times",
            "Give each a name of its own",
        )  # fmt: skip


def _check_source(source: DataSource, study: Study) -> None:
    for path in filter(None, (source.path, source.folds)):
        if not Path(path).is_file():
            raise StudyError(
                f"The dataset {source.name} is read from a file",
                f"{path} is not there",
                "Check the path; it counts from the folder of the TOML file",
            )
    if source.content is not None and source.content != content_of(source):
        raise StudyError(
            f"The files of {source.name} are those that the plan was made for",
            "they say something else now",
            "Make the plan anew: it is then another dataset, with results of its own",
        )
    if source.path is not None:
        read_multilabel(source.path, labels=source.labels)  # says what is wrong with it, if so
    if source.make is not None:
        source.make.find()
    elif source.path is None:
        dataset_info(source.name)
    if source.folds is not None:
        _check_folds(source, study)


def _check_folds(source: DataSource, study: Study) -> None:
    header = Path(str(source.folds)).read_text().partition("\n")[0].split(",")
    if len(header) - 1 < study.repeats:
        raise StudyError(
            f"The folds of {source.name} have a column for each of {study.repeats} repetitions",
            f"{source.folds} has {len(header) - 1}",
            "Lower repeats, or give more columns",
        )


def _check_learner(learner: Learner) -> None:
    built = learner.component.build()
    if not (hasattr(built, "fit") and hasattr(built, "predict")):
        raise StudyError(
            f"The learner {learner.name} is a classifier with fit and predict",
            f"{learner.component.path} has no such methods",
            "Name a multi-label classifier",
        )
    if not (hasattr(built, "predict_proba") or hasattr(built, "decision_function")):
        raise StudyError(
            f"The learner {learner.name} gives scores, for AUC",
            f"{learner.component.path} has neither predict_proba nor decision_function",
            "Wrap it in a calibrated classifier",
        )


def _check_method(method: Method) -> None:
    if method.sampler is not None and not hasattr(method.sampler.build(), "fit_resample"):
        raise StudyError(
            f"The sampler of {method.name} has fit_resample",
            f"{method.sampler.path} has not",
            "Name a sampler of labelance or of a library like it",
        )
    refuse_wrong_values(method)
    wrong = _wrong_pair(method)
    if wrong:
        raise StudyError(f"The method {method.name} has options that go together", *wrong)


def refuse_wrong_values(method: Method) -> None:
    """Raise for options that a method cannot have, whatever its sampler is."""
    choices: dict[str, tuple[Any, ...]] = {
        "threshold": ("f1", "gmean", "balanced_accuracy", None),
        "threshold_search": ("exact", "grid", "grid_mulan"),
        "threshold_data": ("train", "oob", "cv"),
        "bootstrap": (False, True, "beside"),
        "balanced": (False, True),
    }
    wrong = next(
        (
            (f"{name} is {getattr(method, name)!r}", f"Choose one of {known}")
            for name, known in choices.items()
            if not _is_one_of(getattr(method, name), known)
        ),
        None,
    )
    number = method.n_estimators
    if isinstance(number, bool) or not isinstance(number, int):
        wrong = f"n_estimators is {number!r}", "Give a whole number"
    elif number < 1:
        wrong = f"n_estimators is {number}", "Choose at least 1"
    if wrong:
        raise StudyError(f"The method {method.name} has options that a method has", *wrong)


def _is_one_of(value: Any, known: tuple[Any, ...]) -> bool:
    """Say whether a value is among others; 1 equals True, but is not what the study looks for."""
    return any(type(value) is type(one) and value == one for one in known)


def _wrong_pair(method: Method) -> tuple[str, str] | None:
    if method.bootstrap == "beside" and method.sampler is None:
        return 'bootstrap = "beside" came without a sampler', "Add a sampler"
    if method.bootstrap == "beside" and not _only_adds(method):
        return 'bootstrap = "beside" came with a sampler that deletes or edits rows', (
            "Take one that only adds rows, or bootstrap = true"
        )
    if method.threshold_data == "oob" and method.bootstrap is not True:
        return 'threshold_data = "oob" came without bootstrap', "Set bootstrap = true"
    return None


def _only_adds(method: Method) -> bool:
    assert method.sampler is not None
    traits = getattr(method.sampler.build(), "traits", None)
    return traits is not None and traits.only_adds
