"""Small results whose figures can be recomputed by hand, and names that try to break out."""

import numpy as np
import pandas as pd
import pytest

METHODS = ["Default", "MLSOL", "EMLSOL"]
LEARNERS = ["BR", "MLkNN"]
HOSTILE = [
    "<script>document.title='broken'</script>",
    r"a_b&c%d#e~f^g{h}\i$j$ [k] |l|",
    '"><img src=x onerror=alert(1)>',
    "=1+1",
    "名前\nund Zeile",
    "\u202eturned\x00",
]


def make_results(
    *, datasets=tuple("abcdefgh"), learners=LEARNERS, methods=METHODS, repeats=2, folds=2, seed=0
) -> pd.DataFrame:
    """Scores that rise with the method's place, with noise; the order of rows is shuffled."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "dataset": dataset,
            "learner": learner,
            "method": method,
            "repeat": repeat,
            "fold": fold,
            "macro_f1": 0.4 + 0.05 * place + rng.normal(0, 0.03),
            "macro_auc_roc": 0.6 + 0.02 * place + rng.normal(0, 0.03),
            "macro_auc_pr": 0.5 + 0.01 * place + rng.normal(0, 0.03),
            "cpu_seconds": rng.uniform(0.1, 1) * (5 if method.startswith("E") else 1),
            "member_disagreement": rng.uniform() if method.startswith("E") else np.nan,
            "status": "done",
            "error": "",
            "config": "0123456789ab",
        }
        for dataset in datasets
        for learner in learners
        for place, method in enumerate(methods)
        for repeat in range(repeats)
        for fold in range(folds)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=seed).reset_index(drop=True)


@pytest.fixture(scope="session")
def results_of():
    """The function that makes results, for tests that need their own."""
    return make_results


@pytest.fixture
def results() -> pd.DataFrame:
    return make_results()


@pytest.fixture(scope="session")
def hostile() -> list[str]:
    return HOSTILE


@pytest.fixture(scope="session")
def hostile_results() -> pd.DataFrame:
    """Results in which every name tries to break out."""
    results = make_results(
        datasets=HOSTILE, learners=HOSTILE[:2], methods=[*HOSTILE[:3], "MLSOL"], repeats=1
    )
    failed = results["dataset"].eq(HOSTILE[3]) & results["method"].eq("MLSOL")
    results.loc[failed, ["status", "error"]] = ["failed", f"Traceback\nError: {HOSTILE[0]}"]
    return results
