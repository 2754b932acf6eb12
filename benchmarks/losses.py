"""Losses for rare labels in one network, with 0.5 and with a threshold for every label.

    LABELANCE_DATA=... python benchmarks/losses.py --out results/losses/results.csv
    python benchmarks/losses.py --seconds            # ms of a batch, next to torch's own loss
    python benchmarks/claims.py --write              # the tables of docs/user_guide/losses.md

The protocol. Rows, rounds and batches of goemotions were set after the first three losses of one
seed, for time and because the network still improved; nothing was changed after that:

- data and test parts are those of benchmarks/street.py: goemotions_minilm (the first 20,000 of
  48,836 shuffled training rows, sentence embeddings of 384 numbers, 28 labels, its own test part)
  and mirflickr (3,333 images, 100 features, 7 labels; another of three stratified folds by seed).
  Columns are standardised. A stratified fifth of the training rows is held out;
- a network with one hidden layer of 256 units, Adam with 0.001; batches of 128 rows and 10 rounds
  (goemotions), or 64 and 30. Its state after the round with the best held-out mAP is judged. Three
  seeds;
- thresholds: `find_thresholds` on the held-out rows, as a user would;
- figures of the test part: macro F at 0.5 and with thresholds (a label without test rows counts
  0), and mAP. All parameters of losses are their defaults.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from labelance.decisions import find_thresholds
from labelance.metrics import macro_auc_pr
from labelance.model_selection import multilabel_train_test_split
from labelance.sampling import RareLabelBatchSampler
from labelance.torch import (
    AsymmetricLoss,
    DistributionBalancedLoss,
    FocalLoss,
    LogitAdjustedLoss,
    WeightedLoss,
)
from street import load, measure

DATA = {"goemotions_minilm": (128, 10), "mirflickr": (64, 30)}  # rows of a batch, rounds
ROWS = 20_000
FIELDS = ("data", "seed", "loss", "f_half", "f", "map", "round")
LOSSES: dict[str, Callable[[np.ndarray], Any]] = {
    "cross-entropy": lambda y: WeightedLoss(),
    "weighted, positive": partial(WeightedLoss.from_labels, kind="positive"),
    "weighted, balanced": WeightedLoss.from_labels,
    "weighted, effective": partial(WeightedLoss.from_labels, kind="effective"),
    "focal": lambda y: FocalLoss(),
    "focal, alpha of labels": FocalLoss.from_labels,
    "asymmetric": lambda y: AsymmetricLoss(),
    "asymmetric, gamma of labels": AsymmetricLoss.from_labels,
    "logit adjusted": LogitAdjustedLoss.from_labels,
    "distribution-balanced": DistributionBalancedLoss.from_labels,
}
IN_TURNS = " + rare labels in turns"  # RareLabelBatchSampler
ARMS = (*LOSSES, "cross-entropy" + IN_TURNS, "distribution-balanced" + IN_TURNS)


def train(arm: str, parts: dict[str, Any], size: int, rounds: int, seed: int) -> dict[str, Any]:
    """Train one network, and return the figures of its best round."""
    torch.manual_seed(seed)
    X, y = (torch.as_tensor(parts[name], dtype=torch.float32) for name in ("X", "y"))
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 256), torch.nn.ReLU(), torch.nn.Linear(256, y.shape[1])
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    loss = LOSSES[arm.removesuffix(IN_TURNS)](parts["y"])
    best: dict[str, Any] = {"held": -1.0}
    sampler = RareLabelBatchSampler(parts["y"], size, random_state=seed)
    for number in range(1, rounds + 1):
        rows = torch.randperm(len(X)).split(size)
        for batch in sampler if arm.endswith(IN_TURNS) else rows:
            optimizer.zero_grad()
            loss(network(X[batch]), y[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            held, test = (
                torch.sigmoid(network(torch.as_tensor(parts[name]))).double().numpy()
                for name in ("X_held", "X_test")
            )
        area = macro_auc_pr(parts["y_held"], held)
        if area > best["held"]:
            best = {"held": area, "scores": (held, test), "round": number}
    held, test = best["scores"]
    tuned = measure(parts["y_test"], test, find_thresholds(parts["y_held"], held).predict(test))
    half = measure(parts["y_test"], test, (test >= 0.5).astype(int))
    return {"f_half": half["f"], "f": tuned["f"], "map": tuned["map"], "round": best["round"]}


def prepare(name: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return standardised training, held-out and test rows."""
    X, Y, train, test = load(name, seed, folder)
    train = np.random.default_rng(seed).permutation(train)[:ROWS]
    learned, held = multilabel_train_test_split(train, Y[train], test_size=0.2, random_state=seed)[
        :2
    ]
    X = (X - X[learned].mean(axis=0)) / (X[learned].std(axis=0) + 1e-8)
    found = {"X": X[learned], "X_held": X[held], "X_test": X[test]}
    found = {key: value.astype(np.float32) for key, value in found.items()}
    return found | {"y": Y[learned], "y_held": Y[held], "y_test": Y[test]}


def run(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line for every dataset, seed and loss."""
    folder = Path(os.environ["LABELANCE_DATA"]) / "street"
    for name in options.data:
        for seed in range(options.seeds):
            parts = prepare(name, seed, folder)
            for arm in options.losses:
                figures = train(arm, parts, *DATA[name], seed)
                yield {"data": name, "seed": seed, "loss": arm, **figures}


def print_seconds(n: int = 256, q: int = 28) -> None:
    """Print the ms of a batch, forward and backward, for torch's own loss and for ours."""
    y = (np.random.default_rng(0).random((2000, q)) < np.geomspace(0.3, 0.01, q)).astype(float)
    y[0] = 1
    losses = {"BCEWithLogitsLoss": torch.nn.BCEWithLogitsLoss()}
    losses |= {name: make(y) for name, make in LOSSES.items()}
    for device in ["cpu", *["cuda"] * torch.cuda.is_available()]:
        z = torch.randn(n, q, device=device, requires_grad=True)
        target = torch.as_tensor(y[:n], dtype=torch.float32, device=device)
        for name, loss in losses.items():
            loss = loss.to(device)
            times = []
            for _ in range(300):
                start = time.perf_counter()
                loss(z, target).backward()
                if device == "cuda":
                    torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
            print(f"{device} {name}: {1000 * np.median(times):.3f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=lambda text: text.split(","), default=tuple(DATA))
    parser.add_argument("--losses", type=lambda text: text.split(";"), default=ARMS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("losses.csv"))
    parser.add_argument("--seconds", action="store_true", help="time batches instead")
    options = parser.parse_args()
    if options.seconds:
        print_seconds()
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for line in run(options):
            shown = {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in line.items()}
            print(*shown.values(), flush=True)
            writer.writerow(shown)


if __name__ == "__main__":
    main()
