"""Every sampler obeys the laws of :mod:`labelance.testing`."""

from labelance.sampling import MLSOL, MLeNN
from labelance.testing import parametrize_with_sampler_checks

SAMPLERS = [
    MLSOL(),
    MLSOL(interpolation="line", scale="range", weighting="sum"),
    MLSOL(metric="manhattan", k_neighbors=3),
    MLeNN(),
    MLeNN(threshold=0.3, label_distance="jaccard", scale="range"),
]


def exempt(sampler):
    """Laws that a sampler cannot obey, and why."""
    if sampler.get_params().get("metric", "euclidean") == "euclidean":
        return {}
    return {
        "categories_come_back": "only the Euclidean distance knows nominal features",
        "missing_values_are_refused_or_kept": "only the Euclidean distance allows for NaN",
    }


@parametrize_with_sampler_checks(SAMPLERS, expected_failures=exempt)
def test_sampler_obeys_the_law(check):
    check()
