"""Losses in torch: each is its formula, in value and gradient, also where logits are far out."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from labelance.exceptions import InputError
from labelance.sampling import (
    distribution_balanced_weights,
    focal_parameters,
    label_weights,
    logit_adjustment,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
losses = pytest.importorskip("labelance.torch")

rng = np.random.default_rng(0)
Y = (rng.random((40, 5)) < [0.6, 0.4, 0.2, 0.1, 0.05]).astype(float)
Y[0], Y[1] = 0, 1  # a row without labels, and every label has a row
HIDDEN = rng.random(Y.shape) < 0.3
LOGITS = rng.normal(scale=3, size=Y.shape)
ALPHA, _, GAMMAS = focal_parameters(Y)
WEIGHTS, SHIFT, COUNTS = label_weights(Y), logit_adjustment(Y), Y.sum(axis=0)


def parts(z):
    """Return p, log p and log(1 - p)."""
    return np.exp(-np.logaddexp(0, -z)), -np.logaddexp(0, -z), -np.logaddexp(0, z)


def weighted(z, y):
    _, log_p, log_q = parts(z)
    return np.where(y == 1, -WEIGHTS[:, 1] * log_p, -WEIGHTS[:, 0] * log_q)


def focal(z, y, gamma=2.0, alpha=ALPHA):
    p, log_p, log_q = parts(z)
    return np.where(y == 1, -alpha * (1 - p) ** gamma * log_p, -(1 - alpha) * p**gamma * log_q)


def asymmetric(z, y, present=0.0, absent=4.0, clip=0.05):
    p, log_p, log_q = parts(z)
    kept = np.maximum(p - clip, 0)
    log_rest = np.log1p(-kept) if clip else log_q
    return np.where(y == 1, -((1 - p) ** present) * log_p, -(kept**absent) * log_rest)


def adjusted(z, y):
    _, log_p, log_q = parts(z + SHIFT)
    return np.where(y == 1, -log_p, -log_q)


def balanced(z, y, gamma=0.0):
    z = z + 0.05 * SHIFT
    p, log_p, _ = parts(z)
    tolerant, _, log_rest = parts(2 * z)
    present, absent = -((1 - p) ** gamma) * log_p, -(tolerant**gamma) * log_rest / 2
    r = distribution_balanced_weights(np.nan_to_num(y), label_counts=COUNTS)
    return r * np.where(y == 1, present, absent)


CASES = {
    "cross-entropy": (losses.WeightedLoss(), lambda z, y: np.logaddexp(0, z) - y * z),
    "weighted": (losses.WeightedLoss.from_labels(Y), weighted),
    "focal": (losses.FocalLoss.from_labels(Y), focal),
    "focal of labels": (losses.FocalLoss(GAMMAS), lambda z, y: 2 * focal(z, y, GAMMAS, 0.5)),
    "asymmetric": (losses.AsymmetricLoss(), asymmetric),
    "asymmetric of labels": (
        losses.AsymmetricLoss.from_labels(Y, gamma_positive=1.0, max_gamma=3.0),
        lambda z, y: asymmetric(z, y, 1.0, np.clip(1 + GAMMAS, 1, 3)),
    ),
    "asymmetric, small exponents": (
        losses.AsymmetricLoss(0.5, 0.3, clip=0.2),
        lambda z, y: asymmetric(z, y, 0.5, 0.3, 0.2),
    ),
    "asymmetric, no clip": (
        losses.AsymmetricLoss(1, 2, clip=0),
        lambda z, y: asymmetric(z, y, 1, 2, 0),
    ),
    "logit adjusted": (losses.LogitAdjustedLoss.from_labels(Y), adjusted),
    "distribution-balanced": (losses.DistributionBalancedLoss.from_labels(Y), balanced),
    "distribution-balanced focal": (
        losses.DistributionBalancedLoss.from_labels(Y, gamma=2.0),
        lambda z, y: balanced(z, y, 2.0),
    ),
}
every_loss = pytest.mark.parametrize(("loss", "formula"), CASES.values(), ids=CASES)


def cells_of(loss, z, y):
    """Return the loss of every cell and its slope."""
    each = copy.deepcopy(loss)
    each.reduction = "none"
    z = z.clone().requires_grad_()
    cells = each(z, y)
    cells.sum().backward()
    return cells.detach(), z.grad


@every_loss
def test_a_loss_is_its_formula(loss, formula):
    y = np.where(HIDDEN, np.nan, Y)
    expected = np.where(HIDDEN, 0, formula(LOGITS, y))
    cells, _ = cells_of(loss, torch.tensor(LOGITS), torch.tensor(y))
    # The numbers of labels are float32.
    np.testing.assert_allclose(cells, expected, rtol=1e-6, atol=1e-12)
    total = expected.sum()
    for reduction, value in (("sum", total), ("mean", total / (~HIDDEN).sum())):
        each = copy.deepcopy(loss)
        each.reduction = reduction
        assert float(each(torch.tensor(LOGITS), torch.tensor(y))) == pytest.approx(value, rel=1e-6)


@every_loss
def test_slopes_are_finite_differences(loss, formula):
    z, y = torch.tensor(LOGITS), torch.tensor(np.where(HIDDEN, np.nan, Y))
    _, slope = cells_of(loss, z, y)
    step = 1e-6
    difference = (cells_of(loss, z + step, y)[0] - cells_of(loss, z - step, y)[0]) / (2 * step)
    np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-8)
    assert (slope.numpy()[HIDDEN] == 0).all()


@every_loss
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_far_logits_are_finite_and_right(loss, formula, dtype):
    far = np.array([1e4, -1e4, 300, -300, 90, -90, 17, -17, 0, 0.5])
    z = torch.tensor(np.tile(far[:, None], (4, 5)), dtype=getattr(torch, dtype))
    y = Y[:40]
    cells, slope = cells_of(loss, z, torch.tensor(y))
    assert cells.dtype == torch.float32
    exact, step = z.double().numpy(), 1e-3
    # What overflows in p of a formula is 0 in the end.
    with np.errstate(over="ignore", divide="ignore"):
        np.testing.assert_allclose(cells, formula(exact, y), rtol=1e-4, atol=1e-6)
        difference = (formula(exact + step, y) - formula(exact - step, y)) / (2 * step)
    tolerance = 1e-4 if dtype == "float32" else 1e-2  # slopes come back in the dtype of the logits
    np.testing.assert_allclose(slope.double(), difference, rtol=tolerance, atol=1e-6)


def test_the_clip_has_a_slope():
    """A root has none at 0."""
    _, slope = cells_of(
        losses.AsymmetricLoss(0, 0.5, clip=0.5), torch.zeros(1, 1), torch.zeros(1, 1)
    )
    assert abs(float(slope)) < 1e-12


@every_loss
def test_targets_of_any_dtype(loss, formula):
    z = torch.tensor(LOGITS)
    expected = loss(z, torch.tensor(Y))
    for dtype in (torch.bool, torch.int64, torch.float16, torch.bfloat16):
        assert loss(z, torch.tensor(Y).to(dtype)) == expected


@every_loss
def test_without_known_cells_a_batch_teaches_nothing(loss, formula):
    z = torch.tensor(LOGITS, requires_grad=True)
    found = loss(z, torch.full(Y.shape, torch.nan))
    found.backward()
    assert float(found.detach()) == 0
    assert (z.grad == 0).all()


def test_shares_between_0_and_1_are_means_of_both():
    z = torch.tensor(LOGITS)
    for name in ("weighted", "focal", "asymmetric", "logit adjusted"):
        loss = CASES[name][0]
        whole = [cells_of(loss, z, torch.full(Y.shape, float(one)))[0] for one in (0, 1)]
        found = cells_of(loss, z, torch.full(Y.shape, 0.25))[0]
        np.testing.assert_allclose(found, 0.75 * whole[0] + 0.25 * whole[1], rtol=1e-9)


@every_loss
def test_numbers_of_other_labels_are_an_error(loss, formula):
    z = torch.zeros(3, 4)
    if any(len(one) == 5 for one in loss.buffers() if one.dim()):
        with pytest.raises(InputError, match=r"have 4 labels, .* has 5"):
            loss(z, z)
        assert "(5" in repr(loss)
    else:
        assert loss(z, z).isfinite()


def test_it_is_the_loss_of_torch():
    z, y = torch.tensor(LOGITS), torch.tensor(Y)
    weight = torch.tensor(label_weights(Y, kind="positive")[:, 1])
    ours = losses.WeightedLoss.from_labels(Y, kind="positive")
    torchs = torch.nn.BCEWithLogitsLoss(pos_weight=weight)
    assert float(ours(z, y)) == pytest.approx(float(torchs(z, y)), rel=1e-6)


@every_loss
def test_numbers_of_labels_move_and_are_saved(loss, formula):
    assert {one.dtype for one in loss.double().buffers()} <= {torch.float64}
    assert {one.device.type for one in copy.deepcopy(loss).to("meta").buffers()} <= {"meta"}
    again = copy.deepcopy(loss.float())
    again.load_state_dict(loss.state_dict())
    z = torch.tensor(LOGITS, dtype=torch.float32)
    assert again(z, torch.tensor(Y)) == loss(z, torch.tensor(Y))


def test_under_autocast():
    """A matrix product would be one of half precision there."""
    z, y = torch.tensor(LOGITS, dtype=torch.float32), torch.tensor(Y)
    for name, (loss, _) in CASES.items():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = loss(z, y)
        assert found == loss(z, y), name


def test_a_trainer_that_accumulates_learns_from_the_mean():
    """Batches of one step have different sizes; their losses are added up."""
    z, y = torch.tensor(LOGITS), torch.tensor(Y)
    loss = losses.WeightedLoss.from_labels(Y)
    assert loss.compute_loss(SimpleNamespace(logits=z), y) == loss(z, y)
    parts = [
        loss.compute_loss(SimpleNamespace(logits=z[rows]), y[rows], torch.tensor(y.numel()))
        for rows in (slice(0, 30), slice(30, 40))
    ]
    assert float(sum(parts)) == pytest.approx(float(loss(z, y)), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: losses.WeightedLoss(reduction="avg"), "reduction must be one of"),
        (lambda: losses.WeightedLoss([[1, -1]]), "weights must hold finite numbers from 0"),
        (lambda: losses.FocalLoss(alpha=1.5), "alpha must hold finite numbers from 0 to 1"),
        (lambda: losses.FocalLoss(np.nan), "gamma must hold finite numbers"),
        (lambda: losses.AsymmetricLoss(clip=-0.1), "clip must hold"),
        (lambda: losses.DistributionBalancedLoss([1], negative_scale=0), "negative_scale must"),
        (
            lambda: losses.FocalLoss()(torch.zeros(3, 2), torch.zeros(3)),
            r"the same shape\. Got \(3, 2\) and \(3,\)",
        ),
    ],
)
def test_wrong_values_are_named(make, problem):
    with pytest.raises(InputError, match=problem):
        make()


def test_labels_of_any_container():
    loss = losses.FocalLoss.from_labels(torch.tensor(Y))
    for y in (Y.tolist(), torch.tensor(Y, dtype=torch.float32)):
        assert torch.equal(losses.FocalLoss.from_labels(y).alpha, loss.alpha)


@pytest.mark.slow
def test_compiled_losses_are_equal():
    for loss, _ in CASES.values():
        torch.compiler.reset()  # a class counts as a new form of the same function
        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        z, y = torch.tensor(LOGITS), torch.tensor(np.where(HIDDEN, np.nan, Y))
        assert compiled(z, y) == loss(z, y)
