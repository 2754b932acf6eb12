"""MCE: members that learn from each other's out-of-bag scores, on sparse random projections."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._columns import fill_missing
from labelance._progress import track
from labelance._utils._compat import Interval, StrOptions
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, Labels, Schema, count_known, take_labels, take_unknown
from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.exceptions import InputError
from labelance.learners._base import LearnerWithEstimator, Models, Rows, make_trainer, split_labels
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._per_label import NumericEncoder

Floats = NDArray[np.float64]

_EDGE = 1e-9  # thresholds nearer to 0 or 1 would leave scores undefined


class ProjectedModels(NamedTuple):
    """The projection of features and confidences, and a classifier for every label."""

    projection: sp.csr_array
    models: Models


class MCE(LearnerWithEstimator):
    """Meta-confidence ensemble (a reconstruction): labels learn from earlier members' confidences.

    Members are fitted one after the other, each to a part of the rows. What a member thinks of the
    rows that it left out is added up, and these confidences of all labels are features for the
    members after it: so they see which labels come together, without the true labels of other
    labels, which no new row has. Each member sees features and confidences through a sparse random
    projection, and a label's threshold is the one with the largest G-mean on the confidences.

    It helps where labels explain each other and are imbalanced. It hurts where single features
    mean much, since projections blend them; and members cannot be fitted side by side.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`.
    n_estimators : int, default=30
        Number of members; the authors' program has 100.
    max_samples : float, default=0.8
        The paper's r: the share of rows that a member learns from.
    projection_ratio : float, default=1.0
        The paper's mu: projected features for each feature and label.
    projection_density : float, default=3.0
        The paper's lambda: how many features are blended in a projected one, on average.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before they are
        projected.
    categorical_features : None, mask, column numbers or names, default=None
        Nominal columns of X, which are projected as columns of zeros and ones. A data frame's
        categorical columns are nominal in any case.
    random_state : int, RandomState, Generator or None, default=None
        Draws rows and projections, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of labels fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : list of members
        Each has ``projection``, of features and labels to projected features, and ``models``, a
        classifier for every label.
    oob_scores_ : ndarray of shape (n_samples, n_labels)
        Mean scores of the training rows by the members that left them out; NaN for rows that none
        left out.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where the mean score of the members is at least this.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    See Also
    --------
    ECC : Labels as features in chains.

    Notes
    -----
    Scores are calibrated: the mean s of the members becomes (s / t) / (s / t + (1 - s) / (1 - t))
    with the label's threshold t, so that 0.5 is where a label is predicted.

    A reconstruction: from the paper's summary and what its authors' program does, not from its
    text. From there: 0.8 of the rows drawn without replacement;
    confidences that begin at 0.5, as if a member had said so; projected features that blend few
    features each, confidences the more often the later the member, with weights of a normal
    distribution; prediction that walks through the members as training did; G-mean; and the
    calibration. Ours are: a classifier for every label, where the program has one tree for all;
    numbers of blended features by a Poisson distribution, at least one; thresholds that are
    searched exactly, on means without the 0.5 at the beginning; and that a missing number is
    the mean of its feature and a missing category the first one.

    Where cells of y are unknown (NaN), a label is learned and its threshold found in the rows in
    which it is known; confidences are scores of members, and so are never unknown. A member of
    whose rows none knows a label gets all rows that know it, too.

    Cost: members times labels fits, one member after the other.

    References
    ----------
    .. [1] Z. Ning, Z. Jiang and D. Zhang, Exploiting meta-learned confidences for imbalanced
           multilabel learning. IEEE Transactions on Neural Networks and Learning Systems, 2024.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import MCE
    >>> X, y = make_multilabel_imbalanced(200, 8, 5, random_state=0)
    >>> learner = MCE(n_estimators=10, random_state=0).fit(X, y)
    >>> learner.estimators_[0].projection.shape  # from 8 features and 5 labels
    (13, 13)
    >>> learner.predict(X).shape
    (200, 5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Real, 0, 1, closed="neither")],
        "projection_ratio": [Interval(Real, 0, None, closed="neither")],
        "projection_density": [Interval(Real, 0, None, closed="neither")],
        "scale": [StrOptions({"range", "standard"}), None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 30,
        max_samples: float = 0.8,
        projection_ratio: float = 1.0,
        projection_density: float = 3.0,
        scale: Scale = None,
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.projection_ratio = projection_ratio
        self.projection_density = projection_density
        self.scale = scale
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        known = _known_categories(data.X, data.categorical)
        metric = FeatureMetric.learn(
            known, scale=self.scale, categorical=data.categorical, missing="distance"
        )
        self._encoder = NumericEncoder.learn(known, data.categorical, metric.compiled.width)
        features, self._dense = self._encode(data.X), data.kind == "dense"
        n, q = data.Y.shape
        confidence, said = np.full((n, q), 0.5), np.ones(n)
        self.estimators_ = []
        streams = as_generator(self.random_state).spawn(self.n_estimators)
        for stream in track(streams, "Fitting members", "members"):
            shuffled = stream.permutation(n)
            n_learn = min(max(round(self.max_samples * n), 1), max(n - 1, 1))
            learn = _add_known_rows(np.sort(shuffled[:n_learn]), data.labels)
            left_out = np.setdiff1d(np.arange(n), learn)
            projection = self._draw_projection(features.shape[1], q, stream)
            rows = self._project(features, confidence / said[:, None], projection)
            models = self._fit_member(rows[learn], data.labels, weight, learn, stream)
            self.estimators_.append(ProjectedModels(projection, models))
            if len(left_out):
                confidence[left_out] += self._member_scores(models, rows[left_out])
                said[left_out] += 1
        self._find_thresholds(data.labels, confidence - 0.5, said - 1, weight)

    def _fit_member(
        self, rows: Any, labels: Labels, weight: Weights, learn: NDArray, rng: np.random.Generator
    ) -> Models:
        numeric = np.zeros(rows.shape[1], dtype=bool)
        schema = Schema(rows.shape[1], numeric, None, {}, {})
        weight = self._weights_of_estimator(take_weights(weight, learn))
        trainer = make_trainer(self.estimator, Rows(rows, rows), schema, weight)
        split = split_labels(labels.Y[learn], take_unknown(labels.unknown, learn))
        return trainer.fit(split.problems, n_jobs=self.n_jobs, rng=rng)

    def _find_thresholds(
        self, labels: Labels, total: Floats, said: NDArray, weight: Weights
    ) -> None:
        """Set ``oob_scores_``, and the thresholds with the largest G-mean on them."""
        self.oob_scores_ = np.full(total.shape, np.nan)
        heard = np.flatnonzero(said)
        self.oob_scores_[heard] = total[heard] / said[heard, None]
        self.thresholds_ = np.full(total.shape[1], 0.5)
        if len(heard):
            rows = ScoredRows.of(
                labels.Y[heard],
                np.clip(self.oob_scores_[heard], 0, 1),
                take_unknown(labels.unknown, heard),
                take_weights(weight, heard),
            )
            found = np.clip(search_thresholds(rows, objective="gmean").own, _EDGE, 1 - _EDGE)
            self.thresholds_ = np.where(rows.vary(), found, 0.5)

    def _encode(self, clean: Any) -> sp.csr_array:
        """Return clean rows as numbers; one kind for all, so that all are projected alike."""
        known = _known_categories(clean, self._schema.categorical)
        return sp.csr_array(self._encoder.transform(known), dtype=np.float64)

    def _draw_projection(self, d: int, q: int, rng: np.random.Generator) -> sp.csr_array:
        """Draw which features each projected feature blends, and their weights."""
        width = max(round(self.projection_ratio * (d + q)), 1)
        blended = np.maximum(rng.poisson(self.projection_density, size=width), 1)
        trust = (len(self.estimators_) + 1) / self.n_estimators  # in confidences, so far
        place = rng.random(blended.sum()) * (d + trust * q)
        feature = np.where(place < d, place, d + (place - d) / trust).astype(np.int64)
        cells = np.minimum(feature, d + q - 1), np.repeat(np.arange(width), blended)
        return sp.csr_array((rng.standard_normal(len(place)), cells), shape=(d + q, width))

    def _project(self, features: sp.csr_array, confidence: Floats, projection: sp.csr_array) -> Any:
        both = sp.hstack([features, sp.csr_array(confidence)], format="csr")
        rows = sp.csr_array(both @ projection)
        if not np.isfinite(rows.data).all():
            raise InputError(
                "MCE needs features whose sums are finite",
                "Some features are too large to be summed",
                'Use scale="range", or scale very large numbers down',
            )
        if self._dense:
            return rows.toarray()
        rows.eliminate_zeros()
        rows.sort_indices()
        return rows

    def _member_scores(self, models: Models, rows: Any) -> Floats:
        votes = split_labels(sp.csr_array((1, self.n_labels_))).votes
        return models.aggregate(Rows(rows, rows), votes, n_jobs=self.n_jobs)

    def _mean_scores(self, clean: Any) -> Floats:
        """Walk through the members; scores of earlier ones go to the next one."""
        features = self._encode(clean)
        total = np.zeros((features.shape[0], self.n_labels_))
        for m, member in enumerate(track(self.estimators_, "Asking members", "members")):
            rows = self._project(features, (total + 0.5) / (m + 1), member.projection)
            total += self._member_scores(member.models, rows)
        return np.clip(total / len(self.estimators_), 0, 1)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        mean, t = self._mean_scores(clean), self.thresholds_
        present, absent = mean / t, (1 - mean) / (1 - t)
        return present / (present + absent)

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._mean_scores(clean) >= self.thresholds_).astype(np.int64)


def _add_known_rows(rows: NDArray, labels: Labels) -> NDArray:
    """Return rows and those that know a label of which the rows know nothing.

    Without them, a member would vote against a label that it never saw.
    """
    if labels.unknown is None:
        return rows
    unseen = np.flatnonzero(count_known(labels.Y[rows], labels.unknown[rows]) == 0)
    n_unknown = np.diff(take_labels(labels.unknown, unseen).indptr)
    return np.union1d(rows, np.flatnonzero(n_unknown < len(unseen)))


def _known_categories(X: Any, nominal: NDArray[np.bool_]) -> Any:
    """Return clean rows with the first category, code 0, for those that are missing or new."""
    return fill_missing(X, nominal) if nominal.any() else X
