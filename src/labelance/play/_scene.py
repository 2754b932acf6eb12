"""Scenes of the playground: the paper's figures, and a map of a user's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._utils._messages import unknown_name
from labelance.datasets import MultiLabelDataset, make_figure1, make_figure2
from labelance.model_selection import multilabel_train_test_split

MOST_POINTS = 1000
FIGURES = ("figure-1-a", "figure-1-b", "figure-2")


@dataclass(frozen=True, eq=False)
class Scene:
    """Rows that the playground shows as points of a plane.

    Attributes
    ----------
    title : str
        What the page calls it.
    X : array of shape (n, d)
        The rows, in the space in which neighbors are found and rows are made.
    y : csr_array of shape (n, q)
        Their labels.
    label_names : tuple of str
        The names of the labels.
    project : callable
        Takes rows to points of the plane.
    editable : bool
        Whether points are rows themselves, so that they can be dragged.
    categorical : ndarray of bool of shape (d,)
        Which features are nominal.
    n_total : int
        Of how many rows these are some.
    marks : mapping
        Names of some rows, such as r1.
    """

    title: str
    X: Any
    y: csr_array
    label_names: tuple[str, ...]
    project: Callable[[Any], NDArray[np.float64]] = field(default_factory=lambda: np.asarray)
    editable: bool = True
    categorical: NDArray[np.bool_] | None = None
    n_total: int = 0
    marks: Mapping[int, str] = field(default_factory=dict)


def make_scene(name: str) -> Scene:
    """Return a figure of the paper as a scene.

    Parameters
    ----------
    name : {"figure-1-a", "figure-1-b", "figure-2"}
        Which one.

    Examples
    --------
    >>> from labelance.play import make_scene
    >>> make_scene("figure-2").X.shape
    (32, 2)
    """
    if name not in FIGURES:
        raise unknown_name("scene", name, FIGURES)
    if name == "figure-2":
        figure = make_figure2()
        marks = {figure.seed: "s", **{int(row): f"r{row}" for row in figure.references}}
        names = ("first", "second", "third")
        return Scene("Figure 2", figure.X, csr_array(figure.Y), names, marks=marks)
    X, y = make_figure1("a" if name.endswith("a") else "b", n_samples=160, random_state=0)
    kind = "apart" if name.endswith("a") else "mixed"
    title = f"Figure 1 ({name[-1]}), {kind}"
    return Scene(title, X, csr_array(y), ("triangle", "borderless", "red"))


def map_dataset(dataset: MultiLabelDataset, *, title: str = "") -> Scene:
    """Return a map of a dataset: the first two principal components of its features.

    Neighbors are found and rows are made in the space of all features; only the picture has two
    dimensions. Of more than 1,000 rows a stratified sample of about 1,000 is shown.

    Parameters
    ----------
    dataset : MultiLabelDataset
        The data.
    title : str, optional
        What the page calls it; the name of the dataset unless given.

    Examples
    --------
    >>> from labelance.datasets import load_dataset
    >>> from labelance.play import map_dataset
    >>> scene = map_dataset(load_dataset("flags"))
    >>> scene.project(scene.X).shape
    (194, 2)
    """
    n_total, rows = dataset.n_samples, np.arange(dataset.n_samples)
    if n_total > MOST_POINTS:
        sizes = (MOST_POINTS, n_total - MOST_POINTS)
        rows = multilabel_train_test_split(rows, dataset.Y, sizes=sizes, random_state=0)[0]
    part = dataset.take(np.sort(rows))
    return Scene(
        title or dataset.name or "data",
        part.values,
        part.Y,
        part.label_names,
        project=_principal_components(part),
        editable=False,
        categorical=part.categorical_features,
        n_total=n_total,
    )


def _principal_components(dataset: MultiLabelDataset) -> Callable[[Any], NDArray[np.float64]]:
    """Return what takes rows to the first two components; a missing one is zero."""
    from sklearn.compose import make_column_transformer
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    nominal = dataset.categorical_features
    if dataset.is_sparse:
        plane: Any = TruncatedSVD(min(2, dataset.n_features - 1) or 1, random_state=0)
    else:
        words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        table = make_column_transformer(
            (words, np.flatnonzero(nominal)), (numbers, np.flatnonzero(~nominal))
        )
        width = table.fit_transform(dataset.values).shape[1]
        plane = make_pipeline(table, PCA(min(2, width, dataset.n_samples), random_state=0))
    plane.fit(dataset.values)

    def project(X: Any) -> NDArray[np.float64]:
        if not X.shape[0]:
            return np.empty((0, 2))
        points = plane.transform(X)
        return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))

    return project
