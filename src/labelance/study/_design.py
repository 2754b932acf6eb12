"""The parts of a study, datasets, learners and methods: named by a plan, built if trusted."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field, fields
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from imblearn.base import SamplerMixin
from sklearn.base import ClassifierMixin

from labelance._utils._compat import parameter_names
from labelance._utils._messages import did_you_mean, unknown_name
from labelance._utils._random import set_random_states
from labelance._validation._arguments import is_integer
from labelance.datasets import MultiLabelDataset, read_multilabel
from labelance.datasets.formats._labels import find_label_file
from labelance.exceptions import StudyError
from labelance.learners import C45Classifier
from labelance.sampling import BaseMultiLabelSampler

PACKAGES = ("labelance", "sklearn", "imblearn")
_KINDS = (ClassifierMixin, SamplerMixin, BaseMultiLabelSampler)
_GENERATORS = ("labelance.datasets.make_", "sklearn.datasets.make_")
# Arguments of read_multilabel that a plan may give, next to path and labels.
READ_OPTIONS = tuple(inspect.signature(read_multilabel).parameters)[2:]
_NOT_FOR_USE = ("tests", "conftest", "externals")


# Learners of other libraries that presets compare: a module, and the package to install for it.
OPTIONAL_PACKAGES = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "mlrl": "mlrl-boomer",
}
# Where a bare name such as "MLSOL" is looked for.
_OURS = ("labelance.sampling", "labelance.learners", "labelance.decisions", "labelance.ensemble")


@dataclass(frozen=True)
class Component:
    """A class by its import path, and parameters of plain values.

    Parameters
    ----------
    path : str
        A name of ours such as ``"MLSOL"``, or an import path such as
        ``"my_package.samplers.Mine"``.
    params : mapping, default={}
        Parameters for the class. A value that is itself a mapping with the key ``class`` is
        a component too.
    trust : tuple of str, optional
        Modules whose code may be built, as well as the estimators of labelance, scikit-learn and
        imbalanced-learn. None, for what a user wrote, allows any; what is read from results
        has an empty tuple.

    Examples
    --------
    >>> from labelance.study import Component
    >>> Component("RHwRSMT", {"resampler": {"class": "MLSMOTE", "k_neighbors": 3}}).build()
    RHwRSMT(resampler=MLSMOTE(k_neighbors=3))
    """

    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    trust: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def build(self, **more: Any) -> Any:
        """Import the class and make one, with more parameters that are no plain values."""
        found = self.find()
        params = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.params.items()
        }
        params |= {name: part.build() for name, part in self.parts().items()} | more
        try:
            return found(**params)
        except TypeError as error:
            known = parameter_names(found) if hasattr(found, "_get_param_names") else []
            raise StudyError(
                f"{self.path} does not accept the parameters of the plan",
                f"{error}",
                f"Choose from {', '.join(known)}" if known else "Correct the plan",
            ) from error

    def find(self) -> Any:
        """Import the class, if it may be built."""
        return find_class(self.path, self.trust)

    def check(self) -> None:
        """Raise unless its class, and those of its parameters, are there and may be built."""
        self.find()
        for part in self.parts().values():
            part.check()

    def missing_package(self) -> str | None:
        """Return the optional package that it needs and that is not installed, if there is one."""
        module = self.path.partition(".")[0]
        if module in OPTIONAL_PACKAGES and find_spec(module) is None:
            return OPTIONAL_PACKAGES[module]
        return next(filter(None, (part.missing_package() for part in self.parts().values())), None)

    def parts(self) -> dict[str, Component]:
        """Return the parameters that are components themselves."""
        return {
            name: Component.of(value, trust=self.trust)
            for name, value in self.params.items()
            if isinstance(value, Mapping) and "class" in value
        }

    def document(self) -> dict[str, Any]:
        """Return it as plain values, equal for equal components."""
        return {"class": self.path, **json.loads(json.dumps(dict(self.params), sort_keys=True))}

    def __hash__(self) -> int:
        return hash(json.dumps(self.document(), sort_keys=True))

    @classmethod
    def of(cls, value: Any, *, trust: tuple[str, ...] | None = None) -> Component:
        """Read a name, a mapping with ``class``, or a component."""
        if isinstance(value, Component):
            return value
        if isinstance(value, str):
            return cls(value, trust=trust)
        if isinstance(value, Mapping) and isinstance(value.get("class"), str):
            return cls(value["class"], {k: v for k, v in value.items() if k != "class"}, trust)
        raise StudyError(
            "A sampler or learner must be a name, an import path, or a table with the key class",
            f"Got {value!r}",
            'Write for example sampler = "MLSOL" or sampler = {class = "MLSOL", k_neighbors = 7}',
        )


def _find(path: str) -> Any:
    module, _, name = path.rpartition(".")
    names = {one: package for package in _OURS for one in import_module(package).__all__}
    try:
        return getattr(import_module(module or names.get(name, "")), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise StudyError(
            f"There is no class {path!r}",
            f"{error}" if module else f"None of {', '.join(_OURS)} has it",
            f"{'' if module else did_you_mean(path, names)}Use an import path, such as "
            "my_package.MySampler; the command line also finds Python files in the current folder",
        ) from error


def find_class(path: str, trust: Trust) -> Any:
    """Import what a plan names; of a plan from outside only what is trusted, and nothing else.

    Without further trust that is: public classifiers and samplers of our packages, since making one
    only stores its parameters, and their generators of data. Pipelines, searches and clusterers
    are left out: some load pickles from a folder that a parameter names. What is found must be
    defined where its path begins: a module also has names that it imported, such as ``os``.
    """
    if trust is None:
        return _find(path)
    full = path if "." in path else f"labelance.{path}"
    module = full.rpartition(".")[0]
    package, *inner = module.split(".")
    named = _is_within(module, trust)
    public = package in PACKAGES and not any(
        part.startswith("_") or part in _NOT_FOR_USE for part in inner
    )
    found = _find(path) if named or public else None
    defined = getattr(found, "__module__", None) or ""
    if named:
        may_be_built = callable(found) and _is_within(defined, trust)
    elif inspect.isclass(found):
        may_be_built = issubclass(found, _KINDS) and _is_within(defined, [package])
    else:
        generator = full.startswith(_GENERATORS) and full.count(".") == 2
        may_be_built = inspect.isfunction(found) and generator and _is_within(defined, [package])
    if not may_be_built:
        raise StudyError(
            "Only classifiers, samplers and generators of labelance, scikit-learn and "
            "imbalanced-learn are trusted by default",
            f"The results name {path!r}",
            "If you trust this code, name its module: trust=[...] in Python, --trust MODULE on the "
            "command line",
        )
    return found


def _is_within(module: str, packages: Iterable[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in packages)


Objective = Literal["f1", "gmean", "balanced_accuracy"]
Bootstrap = Literal[False, True, "originals", "parents"]
_CHOICES: dict[str, tuple[Any, ...]] = {
    "objective": (*get_args(Objective), None),
    "threshold_search": ("exact", "grid"),
    "variant": ("paper", "mulan"),
    "tune_on": ("train", "oob", "cv"),
    "bootstrap": get_args(Bootstrap),
    "balanced": (False, True),
}
# Modules whose code may be built; None trusts all, since the user wrote the plan.
Trust = tuple[str, ...] | None


@dataclass(frozen=True)
class DataSource:
    """A dataset of the catalogue by name, a file, or what a function makes.

    Parameters
    ----------
    name : str
        How tables call it.
    path : str, optional
        A file that :func:`labelance.datasets.read_multilabel` reads; without it the name is
        looked up in the catalogue.
    labels : str, int or list, optional
        Which columns of the file are labels, as ``read_multilabel`` takes it.
    make : Component, optional
        A function by its import path, with arguments, that returns (X, Y) or a dataset.
    protocol : {"paper"} or None, default=None
        Reduce features and labels as the paper does (catalogue only).
    folds : str, optional
        A CSV file with the column ``row`` and one column ``rep0, rep1, …`` of fold numbers for
        each repetition, in place of our own splits.
    read_options : mapping, default={}
        Further arguments of ``read_multilabel``, such as ``missing_labels`` or ``ignore``; in a
        TOML file they are keys of the dataset like the others.
    content : str, optional
        A hash of the files, taken when they are first named: results belong to what a file
        says, not to where it lies.
    look : bool, default=True
        Whether files may be opened for that hash; False for a plan of others' results.
    """

    name: str
    path: str | None = None
    labels: Any = None
    make: Component | None = None
    protocol: str | None = None
    folds: str | None = None
    content: str | None = None
    read_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    look: InitVar[bool] = True

    def __post_init__(self, look: bool) -> None:
        check_no_other_keys(self.read_options, READ_OPTIONS, f"The file of {self.name}")
        if self.content is None and look:
            object.__setattr__(self, "content", content_of(self))

    @classmethod
    def of(cls, item: Any, *, folder: Path | None = None, trust: Trust = None) -> DataSource:
        """Read a table, or a dataset; names of files count from the folder."""
        if isinstance(item, DataSource):
            return item
        own = [one.name for one in fields(cls) if one.name != "read_options"]
        options = _table(item, "A dataset", [*own, *READ_OPTIONS])
        options["read_options"] = {key: options.pop(key) for key in READ_OPTIONS if key in options}
        for key in ("path", "folds", "content", "protocol"):
            require_text(options.get(key), f"{key} of {options['name']}")
        if folder is not None:
            # From the root, so that a plan means the same wherever it is read from.
            for key, name in files_of(options).items():
                options[key] = os.path.abspath(folder / name)
        if options.get("make") is not None:
            options["make"] = Component.of(options["make"], trust=trust)
        return cls(**options, look=trust is None)


@dataclass(frozen=True)
class Learner:
    """A multi-label classifier and its name."""

    name: str
    component: Component

    @classmethod
    def of(cls, item: Any, *, trust: Trust = None) -> Learner:
        """Read a table, or a learner."""
        if isinstance(item, Learner):
            return item
        options = _table(item, "A learner")
        return cls(options.pop("name"), Component.of(options, trust=trust))


@dataclass(frozen=True)
class Method:
    """What is done about imbalance around any learner.

    Parameters
    ----------
    name : str
        How tables call it.
    sampler : Component, optional
        Anything with ``fit_resample``; None leaves the rows as they are.
    n_estimators : int, default=1
        Members; their scores are averaged.
    bootstrap : bool, "originals" or "parents", default=False
        Whether members see rows drawn with replacement, as in :class:`labelance.ensemble.EMLS`.
    objective : {"f1", "gmean", "balanced_accuracy"} or None, default=None
        What the thresholds maximise. None keeps the learner's own rule, or 0.5 for the mean of
        several members.
    threshold_search, tune_on, variant
        As in :class:`labelance.ensemble.EMLS`.
    balanced : bool, default=False
        Weigh the classes of every label, where the base classifier of the learner can.
    learners : sequence of str, default=()
        The learners it is used with; all of the study unless given.
    without : sequence of str, default=()
        Learners it is not used with, such as those that find thresholds themselves.
    learner : Component, optional
        A classifier in place of the study's learner, for methods that are learners themselves.
        Then ``learners`` names the one that it is compared with, such as the one it resembles.
    stream : int, optional
        Which random numbers its sampler draws. Without it that follows from the class and the
        parameters of the sampler; the presets say it, so that a parameter can have a new name
        and the figures stay.
    ensemble : Component, optional
        A classifier with the parameter ``estimator``, such as
        :class:`labelance.ensemble.StackedBagging`, that is built around the learner, in place of
        the options above; ``stream`` says its random numbers too.
    """

    name: str
    sampler: Component | None = None
    n_estimators: int = 1
    bootstrap: Bootstrap = False
    objective: Objective | None = None
    threshold_search: Literal["exact", "grid"] = "exact"
    tune_on: Literal["train", "oob", "cv"] = "train"
    variant: Literal["paper", "mulan"] = "paper"
    balanced: bool = False
    learners: tuple[str, ...] = ()
    learner: Component | None = None
    stream: int | None = None
    ensemble: Component | None = None
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("learners", "without"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @classmethod
    def of(cls, item: Any, *, trust: Trust = None) -> Method:
        """Read a table, or a method."""
        if isinstance(item, Method):
            return item
        options = _table(item, "A method", [one.name for one in fields(cls)])
        for key in ("sampler", "learner", "ensemble"):
            if options.get(key) is not None:
                options[key] = Component.of(options[key], trust=trust)
        for key in ("learners", "without"):
            names = options.get(key, ())
            listed = isinstance(names, (list, tuple))
            if not listed or not all(isinstance(name, str) for name in names):
                problem = f"{key} of the method {item['name']} must be a list of learners"
                raise StudyError(problem, f"Got {names!r}")
        method = cls(**options)
        method.check_values()
        return method

    def check_values(self) -> None:
        """Raise for options that a method cannot have, whatever its sampler is."""
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            # 1 equals True, but is not what the study looks for.
            if not any(type(value) is type(one) and value == one for one in known):
                raise self._invalid(name, f"Choose one of {known}")
        if not is_integer(self.n_estimators) or self.n_estimators < 1:
            raise self._invalid("n_estimators", "Use an integer of at least 1")
        if self.stream is not None and not (is_integer(self.stream) and self.stream >= 0):
            raise self._invalid("stream", "Use an integer, or omit it")

    def _invalid(self, option: str, cure: str) -> StudyError:
        found = f"{option} is {getattr(self, option)!r}"
        return StudyError(f"The method {self.name} has an invalid option", found, cure)

    @property
    def family(self) -> Family:
        """Return what decides its training sets; methods of one family share members."""
        drawn = self.ensemble or self.sampler
        return Family(drawn, self.bootstrap, self.balanced, self.learner, self.stream)

    @property
    def shares_members(self) -> bool:
        """Say whether its scores, and those for its thresholds, are what the family has anyway."""
        if self.ensemble is not None:
            return False
        return self.objective is None or self.tune_on == "train"


@dataclass(frozen=True)
class Family:
    """Methods with the same training sets: a single model is the first member of its ensemble."""

    sampler: Component | None
    bootstrap: Bootstrap
    balanced: bool
    learner: Component | None = None
    stream: int | None = None

    @property
    def seed_key(self) -> int:
        """Return a number for the random streams, the same in every process and release."""
        key = [self.sampler and self.sampler.document(), self.bootstrap]
        return stable_hash(key) if self.stream is None else self.stream


def document(value: Any) -> dict[str, Any]:
    """Return a part of the design as plain values without what is left at its default."""
    if isinstance(value, Learner):
        return {"name": value.name, **value.component.document()}
    plain = asdict(value)
    for name, part in vars(value).items():
        if isinstance(part, Component):
            plain[name] = part.document()
    if isinstance(value, DataSource):
        plain |= plain.pop("read_options")
    usual = type(value)(value.name)
    return {
        key: item
        for key, item in plain.items()
        if key == "name" or item != getattr(usual, key, None)
    }


def identity(source: DataSource) -> dict[str, Any]:
    """Return what decides the figures on a dataset: of a file what it says, not its place.

    How much memory its reading may take decides nothing.
    """
    plain = document(source)
    files = () if source.content is None else files_of(plain)
    return {key: item for key, item in plain.items() if key not in {*files, "max_size"}}


def files_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a dataset names; labels may also be names of columns or a number."""
    named = {key: options.get(key) for key in ("path", "folds", "labels")}
    return {
        key: name
        for key, name in named.items()
        if isinstance(name, str) and (key != "labels" or name.endswith(".xml"))
    }


def content_of(source: DataSource) -> str | None:
    """Return a hash of what the files of a dataset say now, a label file next to them included."""
    names = list(files_of(vars(source)).values())
    # Not Path.is_file, which raises for a name that is longer than names may be.
    if not names or not all(map(os.path.isfile, names)):
        return None
    if source.path is not None and source.labels is None:
        beside = find_label_file(Path(source.path))
        names += [str(beside)] if beside.is_file() else []
    return digest([hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in names])


def read_file_of(source: DataSource) -> MultiLabelDataset:
    """Read the file that a dataset names."""
    assert source.path is not None
    return read_multilabel(source.path, labels=source.labels, **source.read_options)


def digest(value: Any) -> str:
    """Return twelve hexadecimal digits that stand for plain values."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stable_hash(value: Any) -> int:
    """Return a number below 2**32 that is the same in every process."""
    return int(digest(value)[:8], 16)


def _table(item: Any, what: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise StudyError(f"{what} must be a name, or a table with a name", f"Got {item!r}")
    if keys is not None:
        check_no_other_keys(item, keys, f"{what} ({item['name']})")
    return dict(item)


def check_no_other_keys(item: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    """Raise for a key that a table of a plan does not have."""
    for key in item:
        if key not in keys:
            raise unknown_name("key", key, keys, what, StudyError)


def require_text(value: Any, what: str) -> str | None:
    """Return a value of a plan if it is text, or not given."""
    if value is not None and not isinstance(value, str):
        raise StudyError(f"The {what} must be text", f"Got {value!r}")
    return value


_MASK = "categorical_features"


def prepare(estimator: Any, nominal: np.ndarray) -> Any:
    """Tell an estimator, and those inside it, which features are nominal unless it knows."""
    if not nominal.any() or not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params(deep=True)
    masks = (name for name in params if name.rpartition("__")[2] == _MASK)
    unset = [name for name in masks if params[name] is None]
    return estimator.set_params(**dict.fromkeys(unset, nominal))


def search_of(estimator: Any, nominal: np.ndarray) -> tuple[int, dict[str, Any]] | None:
    """Return how many neighbors it looks for and in which space, if it can take them ready.

    One with other categorical features than the dataset has lives in another space.
    """
    k = getattr(estimator, "k_neighbors", getattr(estimator, "n_neighbors", None))
    names = ("metric", "scale", "missing")
    if not isinstance(k, Integral) or not all(hasattr(estimator, name) for name in names):
        return None
    mask = getattr(estimator, _MASK, None)
    if mask is not nominal and (mask is not None or nominal.any()):
        return None
    space = {name: getattr(estimator, name) for name in names}
    # A learner may leave missing values to the search; then none may be there.
    if space["missing"] not in ("error", "distance") or not isinstance(space["metric"], str):
        return None
    return int(k), space


def build_learner(
    component: Component, nominal: np.ndarray, *, balanced: bool = False, seed: int = 0
) -> Any:
    """Make a learner for data with these categorical features.

    One whose ``random_state`` the plan leaves open takes the study's seed, so that its figures
    can be computed again.
    """
    built = component.build()
    if balanced:
        _balance(built)
    return prepare(set_random_states(built, seed, only_unset=True), nominal)


def takes_weights(component: Component) -> bool:
    """Say whether the base classifier of a learner can weigh classes."""
    return _balance(component.build())


def _balance(built: Any) -> bool:
    params = built.get_params(deep=True) if hasattr(built, "get_params") else {}
    if "estimator" in params and params["estimator"] is None:
        built.set_params(estimator=C45Classifier(class_weight="balanced"))
        return True
    weighing = [name for name in params if name.endswith("class_weight")]
    built.set_params(**dict.fromkeys(weighing, "balanced"))
    return bool(weighing)


_PRESETS = Path(__file__).with_name("presets")
PRESETS = tuple(sorted(path.stem for path in _PRESETS.glob("*.toml")))


def read_preset(name: str) -> dict[str, Any]:
    """Return the plan of a preset as plain values."""
    return tomllib.loads((_PRESETS / f"{name}.toml").read_text(encoding="utf-8"))


def paper_part(kind: str, name: str) -> Any:
    """Return a learner or method of the paper by its name."""
    parts = _paper_parts()[kind]
    if name in parts:
        return parts[name]
    one = kind.removesuffix("s")
    raise StudyError(
        f"A {one} given by name only must be one of the paper's: {', '.join(parts)}",
        f"Got {name!r}",
        f'{did_you_mean(name, parts)}Or write a table: {{name = "{name}", ...}}',
    )


@cache
def _paper_parts() -> dict[str, dict[str, Any]]:
    plan, kinds = read_preset("paper"), dict[str, Any](learners=Learner, methods=Method)
    return {
        kind: {one["name"]: found.of(one) for one in plan[kind]} for kind, found in kinds.items()
    }
