"""Every sampler obeys the laws of :mod:`labelance.testing`."""

import pytest
from sklearn.tree import DecisionTreeClassifier

from labelance.sampling import (
    LPROS,
    LPRUS,
    LSDMLO,
    MLBOTE,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    UCLSO,
    MLeNN,
    MLRkNNOS,
    RemedialHwR,
    RHwHUS,
    RHwROS,
    RHwRSMT,
    SamplerSequence,
)
from labelance.testing import parametrize_with_sampler_checks

SAMPLERS = [
    MLSOL(),
    MLRkNNOS(),
    LSDMLO(),
    MLBOTE(borderline_ratio=1),
    UCLSO(),
    MLeNN(),
    MLTL(),
    MLUL(),
    MLSMOTE(),
    REMEDIAL(),
    RHwRSMT(),
    RHwROS(),
    RHwHUS(),
    LPROS(),
    LPRUS(),
    MLROS(),
    MLRUS(),
    SamplerSequence([MLRUS(), MLROS()]),
]
VARIANTS = [
    MLSOL(interpolation="line", scale="range", weighting="sum"),
    MLSOL(metric="manhattan", k_neighbors=3),
    MLRkNNOS(k_neighbors=3, labeller=DecisionTreeClassifier(), scale="range"),
    LSDMLO(correlation=0, sparsity=2, k_neighbors=3, scale="standard"),
    MLBOTE(borderline_ratio=0.5, cross_threshold=1, m_neighbors=2, k_neighbors=3, scale="range"),
    UCLSO(n_clusters=2, sampling_strategy=0.8, scale="range"),
    MLeNN(label_distance_threshold=0.3, label_distance="jaccard", scale="range"),
    MLTL(label_distance_threshold=0.3, mode="clean", mutual=True, protect_minority=True),
    MLUL(variant="mulan", scale="standard", k_neighbors=3),
    MLSMOTE(variant="mulan", scale="range"),
    MLSMOTE(n_synthetic=25, labelset_strategy="union", metric="manhattan", k_neighbors=3),
    LPROS(sampling_ratio=1),
    MLROS(sampling_ratio=1, variant="mulan"),
    MLRUS(variant="mulan"),
    SamplerSequence([("add", MLSOL()), ("clean", MLeNN())]),
]


def exempt(sampler):
    """Laws that a sampler cannot obey, and why."""
    reasons = {}
    if sampler.get_params().get("metric", "euclidean") != "euclidean":
        reasons |= {
            "categories_come_back": "only the Euclidean distance knows nominal features",
            "missing_values_are_refused_or_kept": "only the Euclidean distance allows for NaN",
        }
    if isinstance(sampler, RemedialHwR) and not isinstance(sampler, RHwROS):
        reasons |= {"missing_values_are_refused_or_kept": "its resampler says what NaN means"}
    # Its own tests hand a neighborhood to the first step.
    if isinstance(sampler, SamplerSequence) and sampler.traits.finds_neighbors:
        reasons |= dict.fromkeys(
            ("works_with_metadata_routing", "given_neighborhood_equals_search"),
            "k_neighbors is a parameter of a step, and has its name before it",
        )
        reasons |= {
            "missing_values_are_refused_or_kept": "its steps refuse them, as they are told to",
            "pandas_equals_dense": "what is deleted after adding leaves gaps in the index",
        }
    return reasons


LAWS = parametrize_with_sampler_checks(SAMPLERS, expected_failures=exempt)
DEAR = ("hostile_data", "works_in_a_search")


@pytest.mark.parametrize(
    "check",
    [
        case._replace(marks=[*case.marks, pytest.mark.slow]) if case.id.endswith(DEAR) else case
        for case in LAWS.args[1]
    ],
)
def test_sampler_obeys_the_law(check):
    check()


@pytest.mark.slow
@parametrize_with_sampler_checks(VARIANTS, expected_failures=exempt)
def test_a_variant_obeys_the_law(check):
    check()
