"""scikit-learn's and imbalanced-learn's own estimator checks, as far as they apply.

Both feed one-dimensional class targets. An adapter makes them one column per class, so that
everything else they check is checked. What still cannot pass is listed, with the reason, here
and in the user guide.
"""

import os

import numpy as np
import pytest
import sklearn
from imblearn.utils.estimator_checks import estimator_checks_generator as imblearn_checks
from sklearn.utils.estimator_checks import estimator_checks_generator as sklearn_checks
from sklearn.utils.fixes import parse_version

from labelance.sampling import MLSOL

CANNOT_PASS = {
    # scikit-learn
    "check_dtype_object": "expects numpy's words for a cell that is no number; ours name the cure",
    "check_array_api_input": "runs only where SCIPY_ARRAY_API is set",
    # imbalanced-learn
    "check_target_type": "demands that multi-label targets are refused",
    "check_samplers_one_label": "expects its own words for data with one class",
    "check_samplers_pandas": "demands a Series of classes back",
    "check_samplers_pandas_sparse": "pandas sparse columns are refused with the cure",
    "check_samplers_list": "demands a flat list of classes back",
    "check_samplers_preserve_dtype": "demands the dtype of a flat target back",
    "check_sampler_get_feature_names_out": "its classes have too few rows to be neighbors",
    "check_sampler_get_feature_names_out_pandas": "its classes have too few rows to be neighbors",
    "check_samplers_multiclass_ova": "demands the same rows for two codings of the target",
}
CANNOT_PASS_HERE = dict(CANNOT_PASS)
if parse_version(sklearn.__version__) < parse_version("1.8"):
    CANNOT_PASS_HERE["check_positive_only_tag_during_fit"] = "subtracts a mean from whole numbers"


class OneColumnPerClass(MLSOL):
    """MLSOL for the checks: classes become columns."""

    def fit(self, X, y=None):
        return super().fit(X, one_column_per_class(y))

    def fit_resample(self, X, y=None, *, neighborhood=None):
        return super().fit_resample(X, one_column_per_class(y), neighborhood=neighborhood)


def one_column_per_class(y):
    if y is None:
        return None
    values = np.asarray(y)
    return (values.reshape(len(values), -1)[:, :1] == np.unique(values)).astype(int)


def name_of(check):
    return getattr(check, "func", check).__name__


def cases():
    sampler = OneColumnPerClass(random_state=0)
    for library, generator in (("sklearn", sklearn_checks), ("imblearn", imblearn_checks)):
        for number, (estimator, check) in enumerate(generator(sampler)):
            case = f"{library}-{number}-{name_of(check)}"
            yield pytest.param(estimator, check, id=case)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(cases()))
def test_foreign_check(estimator, check):
    name = name_of(check)
    if name not in CANNOT_PASS_HERE:
        check(estimator)
        return
    if name == "check_array_api_input" and os.environ.get("SCIPY_ARRAY_API"):
        pytest.skip("array API support is switched on")
    with pytest.raises(BaseException):  # noqa: B017  if it passes, take it off the list
        check(estimator)


def test_the_user_guide_lists_what_cannot_pass():
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs/user_guide/extend.md"
    if not page.is_file():
        pytest.skip("the docs are not here")
    text = page.read_text(encoding="utf-8")
    assert [name for name in CANNOT_PASS if f"`{name}`" not in text] == []
