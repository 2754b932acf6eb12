"""MLRkNNOS: oversampling every label between reverse nearest neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.utils._param_validation import HasMethods, Interval

from labelance._arrays import interpolate_rows
from labelance._utils import draw_seeds
from labelance._validation import Data, MissingPolicy
from labelance.exceptions import NothingToSampleError, TooManyRowsError
from labelance.imbalance import minority_matrix, minority_values
from labelance.neighbors import Scale, search_neighbors, single_threaded_blas, thread_count
from labelance.sampling._budget import refuse_too_many_rows
from labelance.sampling._labeller import Labelling
from labelance.sampling._neighbors import NeighborSampler
from labelance.sampling._numbers import Numbers
from labelance.sampling._plan import Draw
from labelance.sampling._reverse import ReverseNeighbors
from labelance.sampling._strategy import (
    STRATEGY_CONSTRAINTS,
    SamplingStrategy,
    every_label,
    resolve_strategy,
)
from labelance.sampling._traits import SamplerTraits


@dataclass(frozen=True, eq=False)
class MLRkNNOSPlan:
    """What every draw shares: the labels to balance, by how many rows, and between whom."""

    minority_value: np.ndarray
    labels: np.ndarray
    n_new: np.ndarray
    reverse: list[ReverseNeighbors]
    numbers: Numbers


class MLRkNNOS(NeighborSampler):
    """Multi-Label Reverse k-Nearest Neighbor OverSampling.

    Every label gets its own synthetic minority rows until its two classes are equally many:
    each lies between a minority row and one of the minority rows that have it among their
    nearest. The other labels of such a row are predicted by classifiers, one for each label,
    trained on the original rows and that label's own synthetic ones.

    It helps when labels are few and a good classifier for them is at hand. It hurts when
    labels are many: up to n rows are added for each, most of them labelled by prediction,
    so that the classifiers' errors outnumber what was observed.

    Parameters
    ----------
    sampling_strategy : str, float, list, dict or callable, default="auto"
        The labels to balance: "auto" and "all" mean every label, "minority" those with IRLbl
        above its mean, "imbalanced" those with ImR above its mean; or names, numbers or a
        mask of labels. Instead of balance, a float asks for that ratio of minority to
        majority, and a dict from labels for a ratio (float) or a number of minority rows
        (int). A function of Y may return any of these.
    k_neighbors : int, default=5
        Neighbors inside the minority class of a label; fewer where it has not more rows.
    labeller : classifier, optional
        Says which other labels a synthetic row has; any scikit-learn classifier. None is a
        support vector machine with an RBF kernel. It sees nominal features as columns of zeros
        and ones, and a missing value as the feature's mean.
    max_samples : int or None, default=100_000
        The largest number of synthetic rows; if there would be more, an error says how many.
        None sets no limit.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation: within the
        minority rows for the search, and over all rows for the labeller.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Nominal features: distance 0 or 1, and a coin instead of interpolation. A data
        frame's categorical columns are always nominal.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it; then a
        synthetic value is NaN where a parent's is.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from, those of a labeller with an open ``random_state``
        included. The same int gives the same rows for any ``n_jobs`` and any container.
    n_jobs : int, optional
        Threads; each works on one label at a time.
    verbose : int, default=0
        Above 0, prints what is made.

    Attributes
    ----------
    seed_indices_, reference_indices_ : ndarray of shape (n_new,)
        The parents of every synthetic row, as row numbers of X.
    label_indices_ : ndarray of shape (n_new,)
        The label that every synthetic row was made for.
    constant_labels_ : ndarray
        Labels present in no row or in all; they stay constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X came as a data frame with string names.

    See Also
    --------
    MLSOL : Makes rows for all labels together, as many as asked for.

    Notes
    -----
    For a label with b minority rows, n - 2 b rows are made; none if b is 0 or 1. These
    rows have that label's minority value, while their other labels are predicted. With q
    labels that is up to q n rows in all, hence ``max_samples``. Cost: O(b² d) for the
    searches, q classifiers trained on up to 2 n rows, and q predictions for all synthetic
    rows, which dominate. This is a reconstruction from the abstract and from the R package
    mldr.resampling, which takes 3 neighbors; here labels are balanced exactly, nominal
    features are never interpolated, and the labeller is a choice.

    References
    ----------
    P. Sadhukhan, S. Palit (2019): Reverse-nearest neighborhood based oversampling for
    imbalanced, multi-label datasets. Pattern Recognition Letters 125, 813-820.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLRkNNOS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 2))
    >>> Y = (X > [0.8, 0.9]).astype(int)
    >>> Y.sum(axis=0)
    array([28, 18])
    >>> sampler = MLRkNNOS(random_state=0)
    >>> X_new, Y_new = sampler.fit_resample(X, Y)
    >>> np.bincount(sampler.label_indices_)  # 100 - 2 * 28 and 100 - 2 * 18
    array([44, 64])
    """

    k_neighbors: int

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, interpolates=True, label_order_free=False
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        "sampling_strategy": STRATEGY_CONSTRAINTS,
        "k_neighbors": [Interval(Integral, 1, None, closed="left")],
        "labeller": [HasMethods(["fit", "predict"]), None],
        "max_samples": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        sampling_strategy: SamplingStrategy = "auto",
        k_neighbors: int = 5,
        labeller: Any = None,
        max_samples: int | None = 100_000,
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_strategy = sampling_strategy
        self.k_neighbors = k_neighbors
        self.labeller = labeller
        self.max_samples = max_samples
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> MLRkNNOSPlan:
        values = minority_values(data.Y)
        by_label = minority_matrix(data.Y, values).tocsc()
        sizes = np.diff(by_label.indptr)
        n_new = self._rows_to_make(data)
        labels = np.flatnonzero((sizes > 1) & (n_new > 0))
        self._refuse_too_few_or_many(n_new[labels])
        refuse_too_many_rows(sum(n_new[labels].tolist()), data, who="MLRkNNOS")
        bags = np.split(by_label.indices.astype(np.int64), by_label.indptr[1:-1])
        reverse = self._for_each(self._reverse_neighbors, [(data, bags[label]) for label in labels])
        width = self._feature_metric(data.X, data.categorical).compiled.width
        numbers = Numbers.of(data.X, data.categorical, width)
        return MLRkNNOSPlan(values, labels, n_new[labels], reverse, numbers)

    def _draw(self, data: Data, plan: MLRkNNOSPlan, rng: np.random.Generator) -> Draw:
        pairs = [near.draw(size, rng) for near, size in zip(plan.reverse, plan.n_new)]
        seeds, references = (np.concatenate(parents) for parents in zip(*pairs))
        X_new = interpolate_rows(data.X, seeds, references, data.categorical, rng)
        if self.verbose:
            print(f"[MLRkNNOS] {len(seeds)} rows for {len(plan.labels)} labels")
        return Draw(
            X_new=X_new,
            Y_new=self._label(data, plan, X_new, rng),
            provenance={
                "seed_indices_": seeds,
                "reference_indices_": references,
                "label_indices_": np.repeat(plan.labels, plan.n_new),
            },
        )

    def _rows_to_make(self, data: Data) -> np.ndarray:
        """Return how many rows each label lacks to its target, or else to balance."""
        strategy = resolve_strategy(self.sampling_strategy, data, every_label)
        to_balance = np.where(strategy.labels, data.n_samples - 2 * strategy.present, 0)
        lacking = to_balance if strategy.targets is None else strategy.lacking
        return lacking.astype(np.int64)

    def _refuse_too_few_or_many(self, n_new: np.ndarray) -> None:
        if len(n_new) == 0:
            raise NothingToSampleError(
                "MLRkNNOS needs a label that has two minority rows or more and lacks some",
                "no label of sampling_strategy is such",
                "Check Y with labelance.profile(X, Y), or leave sampling out",
            )
        if self.max_samples is not None and n_new.sum() > self.max_samples:
            raise TooManyRowsError(
                f"MLRkNNOS makes at most max_samples={self.max_samples} rows",
                f"balancing {len(n_new)} labels one by one would make {n_new.sum()}",
                "Raise max_samples if there is memory and time for them, or use a sampler that "
                "makes rows for all labels together, such as MLSOL",
            )

    def _reverse_neighbors(self, data: Data, bag: np.ndarray) -> ReverseNeighbors:
        metric = self._feature_metric(data.X, data.categorical, rows=bag)
        k = min(self.k_neighbors, len(bag) - 1)
        return ReverseNeighbors.of(search_neighbors(data.X, k, metric, among=bag, n_jobs=1), bag)

    def _label(
        self, data: Data, plan: MLRkNNOSPlan, X_new: Any, rng: np.random.Generator
    ) -> sp.csr_array:
        """Return the labels of the new rows: their own is known, the others are predicted."""
        q = data.Y.shape[1]
        made = np.zeros(q, dtype=np.int64)
        made[plan.labels] = plan.n_new
        labelling = Labelling(
            labeller=self.labeller,
            X=plan.numbers.read(data.X),
            X_new=plan.numbers.read(X_new),
            Y_columns=data.Y.tocsc(),
            minority_value=plan.minority_value,
            bounds=np.concatenate(([0], np.cumsum(made))),
        )
        seeds = draw_seeds(rng, q)
        return _join_columns(
            self._for_each(labelling.column, list(enumerate(seeds))), X_new.shape[0]
        )

    def _for_each(self, work: Any, tasks: list[Any]) -> list[Any]:
        """Call ``work`` for every label, in as many threads as there may be."""
        with single_threaded_blas():
            return Parallel(n_jobs=thread_count(self.n_jobs), prefer="threads")(
                delayed(work)(*task) for task in tasks
            )


def _join_columns(columns: list[np.ndarray], n_rows: int) -> sp.csr_array:
    """Return labels of which the rows are known, label by label."""
    indptr = np.concatenate(([0], np.cumsum([len(rows) for rows in columns])))
    rows = np.concatenate(columns)
    cells = (np.ones(len(rows), dtype=np.int8), rows, indptr)
    return sp.csc_array(cells, shape=(n_rows, len(columns))).tocsr()
