"""What a profile comes to in words: how imbalanced the data are, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from labelance.imbalance._page import Findings
    from labelance.imbalance._profile import ImbalanceProfile

FOLDS = 5
# A MeanIR of 1 is balance; few published datasets with one above 10 were ever called easy.
_HARDLY, _STRONGLY = 1.5, 10.0
_RARE = 3.0  # MeanImR: rows without a label for each row with it, on average over labels
_MUCH_TOGETHER = 0.1  # SCUMBLE above which Charte et al. (2019) call labels hard to resample
_NO_BETTER_THAN_CHANCE = 0.6  # AUC of the neighbors' votes; 0.5 is the prior


@dataclass(frozen=True)
class Verdict:
    """What to think of the data and what to do with it.

    Attributes
    ----------
    sentence : str
        How imbalanced they are.
    steps : tuple of str
        What to do next, the first thing first.
    sampler : str or None
        The sampler that the steps name; None for none.
    """

    sentence: str
    steps: tuple[str, ...]
    sampler: str | None


def judge(profile: ImbalanceProfile, findings: Findings) -> Verdict:
    """Say how imbalanced data are, and what to do next."""
    sampler, reason = _choose_sampler(profile, findings)
    steps = [*_first_steps(profile, findings), reason, _evaluation(profile)]
    if profile.n_features is not None:
        steps.append(
            "Or have it tried: labelance.advise(X, y), or labelance advise DATA, compares what can "
            "be done within two minutes, and may say not to resample."
        )
    return Verdict(" ".join(describe(profile)), tuple(steps), sampler)


def describe(profile: ImbalanceProfile) -> Iterator[str]:
    """Yield sentences about how imbalanced data are, over all and around their rows."""
    counts = profile.label_counts
    seen = np.sort(counts[counts > 0])
    if not len(seen):
        yield "No row has a label."
        return
    yield (
        f"{_level(profile)}: the most frequent label is in {seen[-1]:,} of "
        f"{profile.n_samples:,} rows, the median one in {int(np.median(seen)):,}, the rarest in "
        f"{seen[0]:,}."
    )
    shares = profile.type_shares
    if profile.k and shares is not None and not math.isnan(shares["safe"]):
        least = math.ceil(0.3 * profile.k)  # as `types_by_count` has it
        yield (
            f"{1 - shares['safe']:.0%} of minority cells are not safe: at least {least} of their "
            f"{profile.k} neighbors have the other value ({shares['outlier']:.0%} are outliers, "
            "without any neighbor alike)."
        )


def _level(profile: ImbalanceProfile) -> str:
    """Return how imbalanced labels are, among each other and each in itself."""
    measured = f"MeanIR {profile.mean_ir:.1f}"
    if profile.mean_ir >= _HARDLY:
        strongly = profile.mean_ir >= _STRONGLY
        return f"{'Strongly imbalanced' if strongly else 'Imbalanced'} ({measured})"
    if profile.mean_imr >= _RARE:
        return f"Labels alike, but rare ({measured}, MeanImR {profile.mean_imr:.1f})"
    return f"Hardly imbalanced ({measured})"


def _first_steps(profile: ImbalanceProfile, findings: Findings) -> Iterator[str]:
    constant = len(profile.constant_labels)
    if constant:
        yield f"Leave out {_labels(constant)} that never vary: nothing can be learned of them."
    if findings.dominant_features is not None:
        yield (
            f"Scale X (sklearn.preprocessing.StandardScaler, or scale='standard'): rows are "
            f"neighbors by {findings.dominant_features} alone, every other column is far narrower."
        )


def _choose_sampler(profile: ImbalanceProfile, findings: Findings) -> tuple[str | None, str]:
    """Return the name of a sampler, or None, and the step that names it."""
    shares, auc = profile.type_shares, findings.mean_auc
    if not profile.mean_ir >= _HARDLY and not profile.mean_imr >= _RARE:
        return None, (
            "Fit without resampling first: the labels are about equally frequent, so that a "
            "sampler has little to even out."
        )
    if auc is not None and auc < _NO_BETTER_THAN_CHANCE:
        return "MLROS", (
            f"Neighbors hardly know the labels (AUC {auc:.2f}, chance is 0.50), so that rows made "
            "between neighbors would be noise: clone rows of rare labels (MLROS), weight them "
            "(label_weights), or look for better features."
        )
    if shares is not None and shares["outlier"] > 0.5:
        return "MLROS", (
            "Most minority cells have no neighbor alike, so that there is little to interpolate "
            "with: clone their rows (MLROS), or weight them (label_weights)."
        )
    together = ""
    if profile.scumble > _MUCH_TOGETHER:
        together = (
            f" Frequent and rare labels share rows (SCUMBLE {profile.scumble:.2f}), so that clones "
            "of rare ones are clones of frequent ones, too; MLSOL decides on every label by itself."
        )
    return "MLSOL", (
        "Add rows where labels are hard to tell from their neighborhood (MLSOL; its ensemble, "
        f"EMLSOL, gains more and takes longer), and compare with the model without it.{together}"
    )


def _evaluation(profile: ImbalanceProfile) -> str:
    rarer = np.minimum(profile.label_counts, profile.n_samples - profile.label_counts)
    rare = int(np.count_nonzero((rarer > 0) & (rarer < FOLDS)))
    step = (
        f"Judge by measures that count rare labels as much as others, in {FOLDS} stratified folds"
    )
    if rare:
        verb = "has" if rare == 1 else "have"
        step += f"; {_labels(rare)} {verb} too few rows to be in all of them"
    return step + "."


def _labels(count: int) -> str:
    return f"{count:,} label" if count == 1 else f"{count:,} labels"


def code_to_copy(verdict: Verdict, findings: Findings) -> str:
    """Return Python that fits X and y as the verdict says."""
    forest = not findings.has_nominal_features  # which scikit-learn's would take for numbers
    classifier = "RandomForestClassifier(random_state=0)" if forest else "BinaryRelevance()"
    steps = [*([_make_sampler(verdict.sampler, findings)] if verdict.sampler else []), classifier]
    lines = [
        "from imblearn.pipeline import make_pipeline",
        *["from sklearn.ensemble import RandomForestClassifier"] * forest,
        "",
        *([f"from labelance import {verdict.sampler}"] if verdict.sampler else []),
        *["from labelance.learners import BinaryRelevance"] * (not forest),
        "from labelance.metrics import imbalance_report",
        "from labelance.model_selection import multilabel_train_test_split",
        "",
        "X_train, X_test, y_train, y_test = multilabel_train_test_split(",
        "    X, y, test_size=0.25, random_state=0",
        ")",
        "model = make_pipeline(",
        *(f"    {step}," for step in steps),
        ")",
        "model.fit(X_train, y_train)",
        "print(imbalance_report(y_test, model.predict(X_test), y_train=y_train))",
    ]
    return "\n".join(lines)


def _make_sampler(name: str, findings: Findings) -> str:
    """Return the call that makes a sampler, with what the features need of it."""
    options = {"random_state": "0"}
    if name == "MLSOL":  # MLROS looks at no feature
        metric, scale = findings.data.metric, findings.data.scale
        scale = "standard" if findings.dominant_features is not None else scale
        named = isinstance(metric, str) and metric != "euclidean"
        options |= {"metric": f'"{metric}"'} if named else {}
        options |= {"scale": f'"{scale}"'} if scale is not None else {}
        options |= {"missing": '"distance"'} if findings.has_missing_values else {}
    return f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})"
