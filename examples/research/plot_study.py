"""
A study of your own: which method is better, and is it significant?
===================================================================

A study crosses datasets, learners and methods, keeps every test fold in a store that can be
resumed, and compares the methods over datasets: average ranks, exact signed-rank tests, and a
diagram that joins methods that do not differ.
"""

# %%
# The preset ``quick`` makes its ten datasets when they are needed. Here is a smaller one still: one
# learner, four methods, and a method of our own, bagging without any sampling. ``study.run`` does
# what the store does not have; run it again and nothing is left to do.

import tempfile
from dataclasses import replace
from pathlib import Path

from labelance.report import CriticalDifferenceDisplay
from labelance.study import Method, load_study, read_results, run_study
from labelance.study.statistics import compare

quick = load_study("quick")
bagging = Method("Bagging", n_estimators=5, bootstrap=True, objective="f1", threshold_search="grid")
chosen = [quick.method(name) for name in ("Default", "MLSOL", "EMLSMOTE", "EMLSOL")]
study = replace(quick, name="mine", methods=(*chosen, bagging)).only(learners=["MLkNN"], repeats=1)

with tempfile.TemporaryDirectory() as folder:
    store = Path(folder) / "results.store"
    outcome = run_study(study, store, executor="serial")
    results = read_results(study, store)
print(f"{outcome.done} cells done, {outcome.failed} failed")

# %%
# Results are a tidy table, one row for each test fold. The mean over folds is the score of a
# method on a dataset.

scores = results.pivot_table(index="dataset", columns="method", values="macro_auc_roc")
scores = scores[[method.name for method in study.methods]]
scores.round(3)

# %%
# ``compare`` ranks the methods on every dataset and tests all pairs, corrected by Bergmann and
# Hommel's procedure.

comparison = compare(scores)
print(comparison)

# %%
# The diagram shows average ranks, best at the left; bars join methods that do not differ
# significantly at 5%. Note where plain bagging stands: much of what an ensemble of samplers gains
# is gained by any ensemble.

display = CriticalDifferenceDisplay.from_comparison(
    comparison, title="MLkNN, macro AUC-ROC, ten synthetic datasets"
)
