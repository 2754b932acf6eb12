"""Losses as modules: a base that leaves out unknown cells, and five losses of a cell."""

from __future__ import annotations

import math
from typing import Any, Literal, Self, get_args

from labelance._arrays._containers import column_counts
from labelance._utils._messages import optional_import
from labelance._validation._arguments import check_choice
from labelance._validation._data import validate_labels
from labelance.exceptions import InputError
from labelance.sampling._weights import (
    WeightKind,
    focal_parameters,
    label_weights,
    logit_adjustment,
)

torch = optional_import("torch", extra="torch", purpose="labelance.torch")
log_sigmoid = torch.nn.functional.logsigmoid

Reduction = Literal["mean", "sum", "none"]


class CellLoss(torch.nn.Module):  # type: ignore[name-defined]
    """Check shapes, leave out unknown cells and reduce; a subclass has the loss of a cell.

    Numbers of labels are buffers: they move with ``.to(device)``, and go to the device of the
    logits where the loss was not moved.
    """

    def __init__(self, reduction: Reduction) -> None:
        super().__init__()
        check_choice("reduction", reduction, get_args(Reduction))
        self.reduction = reduction

    def forward(self, logits: Any, targets: Any) -> Any:
        """Return the loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (n_samples, n_labels)
            Scores before any sigmoid. For float16 and bfloat16 the loss is float32.
        targets : tensor of shape (n_samples, n_labels)
            Ones and zeros of any dtype, numbers between them, and NaN for unknown cells.

        Returns
        -------
        tensor
            One number, or with ``reduction="none"`` a number for every cell, 0 where unknown.
        """
        if logits.shape != targets.shape:
            raise InputError(
                "logits and targets must have the same shape",
                f"Got {tuple(logits.shape)} and {tuple(targets.shape)}",
            )
        self._check_labels(logits.shape[-1])
        z = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
        known = ~torch.isnan(targets)
        cells = torch.where(known, self._cells(z, torch.where(known, targets, 0).to(z)), 0)
        if self.reduction == "none":
            return cells
        total = cells.sum()
        return total / known.sum().clamp(min=1) if self.reduction == "mean" else total

    def _check_labels(self, n_labels: int) -> None:
        """Raise where the loss has numbers of more or fewer labels; one number is for all."""
        for name, numbers in self.named_buffers():
            shape = numbers.shape[:-1] if name == "weights" else numbers.shape
            if len(shape) and shape[-1] not in (1, n_labels):
                raise InputError(
                    f"{name} must have a number for each label",
                    f"The logits have {n_labels} labels, {name} has {shape[-1]}",
                )

    def extra_repr(self) -> str:
        """Return what the buffers hold, for ``print``."""
        held = (
            f"{name} of shape {tuple(numbers.shape)}" if numbers.dim() else f"{name}={numbers:g}"
            for name, numbers in self.named_buffers()
        )
        return ", ".join(held)

    def _cells(self, z: Any, y: Any) -> Any:
        """Return the loss of every cell; y has no NaN."""
        raise NotImplementedError

    def compute_loss(self, outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        """Return the loss as ``Trainer(compute_loss_func=…)`` of transformers asks for it.

        The Trainer adds up what the batches of one step give. With ``reduction="mean"`` each
        counts by its share of the cells, so that their sum is a mean.

        Parameters
        ----------
        outputs : object with ``logits``
            What the model returned.
        labels : tensor of shape (n_samples, n_labels)
            The targets.
        num_items_in_batch : int or tensor, optional
            The number of cells of all batches of the step.

        Returns
        -------
        tensor
            The loss.
        """
        loss = self(outputs.logits, labels)
        if num_items_in_batch is None or self.reduction != "mean":
            return loss
        return loss * (labels.numel() / num_items_in_batch)


class WeightedLoss(CellLoss):
    """Binary cross-entropy with a weight for absence and one for presence of every label.

    Without weights it is ``BCEWithLogitsLoss`` that leaves unknown cells out.

    Parameters
    ----------
    weights : array-like of shape (n_labels, 2), optional
        ``weights[j, 0]`` of absent and ``weights[j, 1]`` of present cells; 1 unless given.
    reduction : {"mean", "sum", "none"}, default="mean"
        The mean divides by the number of known cells.

    See Also
    --------
    labelance.sampling.label_weights : The weights.

    Examples
    --------
    >>> import torch
    >>> from labelance.torch import WeightedLoss
    >>> y = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, float("nan")], [0.0, 1.0]])
    >>> loss = WeightedLoss.from_labels(y, kind="positive")
    >>> loss.weights
    tensor([[1., 3.],
            [1., 2.]])
    >>> loss(torch.zeros(4, 2), y)  # (6 · 1 + 3) log 2 of the first label, by 7 known cells
    tensor(0.9902)
    """

    def __init__(self, weights: Any = (1.0, 1.0), *, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weights", _numbers("weights", weights))

    @classmethod
    def from_labels(
        cls,
        y: Any,
        *,
        kind: WeightKind = "balanced",
        beta: float = 0.999,
        **options: Any,
    ) -> Self:
        """Return the loss with the weights of training labels.

        Parameters
        ----------
        y : array-like, sparse, data frame or tensor of shape (n_samples, n_labels)
            The training labels; unknown cells are NaN.
        kind, beta
            As in :func:`~labelance.sampling.label_weights`.
        **options
            Other parameters of the loss.

        Returns
        -------
        WeightedLoss
            The loss.
        """
        return cls(label_weights(y, kind=kind, beta=beta), **options)

    def _cells(self, z: Any, y: Any) -> Any:
        absent, present = self.weights.to(z).unbind(-1)
        return -present * y * log_sigmoid(z) - absent * (1 - y) * log_sigmoid(-z)


class FocalLoss(CellLoss):
    """The focal loss: cells that are decided well already count little.

    Parameters
    ----------
    gamma : float or array-like of shape (n_labels,), default=2.0
        The exponent: a cell whose truth has probability p counts (1 - p)^gamma.
    alpha : float or array-like of shape (n_labels,), optional
        The weight of present cells; that of absent ones is 1 - alpha. Both are 1 unless given.
    reduction : {"mean", "sum", "none"}, default="mean"
        The mean divides by the number of known cells.

    References
    ----------
    T.-Y. Lin, P. Goyal, R. Girshick, K. He, P. Dollár (2017): Focal Loss for Dense Object
    Detection. ICCV.

    Examples
    --------
    >>> import torch
    >>> from labelance.torch import FocalLoss
    >>> loss = FocalLoss(gamma=2, reduction="none")
    >>> loss(torch.tensor([[0.0, 4.0]]), torch.tensor([[1, 1]]))
    tensor([[1.7329e-01, 5.8716e-06]])
    """

    def __init__(
        self, gamma: Any = 2.0, alpha: Any = None, *, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("gamma", _numbers("gamma", gamma))
        self.register_buffer("alpha", None if alpha is None else _numbers("alpha", alpha, most=1))

    @classmethod
    def from_labels(cls, y: Any, **options: Any) -> Self:
        """Return the loss with ``alpha`` of training labels.

        Parameters
        ----------
        y : array-like, sparse, data frame or tensor of shape (n_samples, n_labels)
            The training labels; unknown cells are NaN.
        **options
            Other parameters of the loss.

        Returns
        -------
        FocalLoss
            The loss; ``alpha`` is that of :func:`~labelance.sampling.focal_parameters`.
        """
        return cls(alpha=focal_parameters(y).alpha, **options)

    def _cells(self, z: Any, y: Any) -> Any:
        gamma = self.gamma.to(z)
        present, absent = y * _focus(z, gamma), (1 - y) * _focus(-z, gamma)
        if self.alpha is None:
            return present + absent
        alpha = self.alpha.to(z)
        return alpha * present + (1 - alpha) * absent


class AsymmetricLoss(CellLoss):
    """The asymmetric loss: a focal loss with an exponent each for present and absent cells.

    Absent cells with a probability below ``clip`` count nothing.

    Parameters
    ----------
    gamma_positive : float or array-like of shape (n_labels,), default=0.0
        The exponent of present cells.
    gamma_negative : float or array-like of shape (n_labels,), default=4.0
        The exponent of absent cells.
    clip : float, default=0.05
        The margin m: an absent cell of probability p counts as one of max(p - m, 0).
    reduction : {"mean", "sum", "none"}, default="mean"
        The mean divides by the number of known cells.

    References
    ----------
    T. Ridnik, E. Ben-Baruch, N. Zamir, A. Noy, I. Friedman, M. Protter, L. Zelnik-Manor (2021):
    Asymmetric Loss For Multi-Label Classification. ICCV.

    Examples
    --------
    >>> import torch
    >>> from labelance.torch import AsymmetricLoss
    >>> loss = AsymmetricLoss(reduction="none")
    >>> loss(torch.tensor([[0.0, 0.0, -4.0]]), torch.tensor([[1, 0, 0]]))
    tensor([[0.6931, 0.0245, 0.0000]])
    """

    def __init__(
        self,
        gamma_positive: Any = 0.0,
        gamma_negative: Any = 4.0,
        *,
        clip: float = 0.05,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("gamma_positive", _numbers("gamma_positive", gamma_positive))
        self.register_buffer("gamma_negative", _numbers("gamma_negative", gamma_negative))
        self.clip = float(_numbers("clip", clip, most=1))

    @classmethod
    def from_labels(
        cls,
        y: Any,
        *,
        gamma_positive: float = 0.0,
        max_gamma: float = 8.0,
        **options: Any,
    ) -> Self:
        """Return the loss with exponents of training labels, larger for rarer ones.

        Parameters
        ----------
        y : array-like, sparse, data frame or tensor of shape (n_samples, n_labels)
            The training labels; unknown cells are NaN.
        gamma_positive, max_gamma
            As in :func:`~labelance.sampling.focal_parameters`.
        **options
            Other parameters of the loss.

        Returns
        -------
        AsymmetricLoss
            The loss.
        """
        found = focal_parameters(y, gamma_positive=gamma_positive, max_gamma=max_gamma)
        return cls(found.gamma_positive, found.gamma_negative, **options)

    def _cells(self, z: Any, y: Any) -> Any:
        gamma = self.gamma_negative.to(z)
        if self.clip:
            # The power of 0 has no slope for exponents below 1; the logarithm is 0 there.
            p = (torch.sigmoid(z) - self.clip).clamp(min=1e-30)
            absent = -(p**gamma) * torch.log((torch.sigmoid(-z) + self.clip).clamp(max=1))
        else:
            absent = _focus(-z, gamma)
        return y * _focus(z, self.gamma_positive.to(z)) + (1 - y) * absent


class LogitAdjustedLoss(CellLoss):
    """Binary cross-entropy of logits that are shifted by the log odds of their labels.

    What the network learns is the rest. Predict from its logits as they are: 0.5 is then the
    threshold for balanced error.

    Parameters
    ----------
    adjustment : array-like of shape (n_labels,)
        What is added to the logits.
    reduction : {"mean", "sum", "none"}, default="mean"
        The mean divides by the number of known cells.

    References
    ----------
    A. K. Menon, S. Jayasumana, A. S. Rawat, H. Jain, A. Veit, S. Kumar (2021): Long-tail learning
    via logit adjustment. ICLR.

    Examples
    --------
    >>> import torch
    >>> from labelance.torch import LogitAdjustedLoss
    >>> LogitAdjustedLoss.from_labels([[1, 1], [1, 0], [0, 0], [0, 0]]).adjustment
    tensor([ 0.0000, -1.0986])
    """

    def __init__(self, adjustment: Any, *, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("adjustment", _numbers("adjustment", adjustment, least=-math.inf))

    @classmethod
    def from_labels(cls, y: Any, *, tau: float = 1.0, **options: Any) -> Self:
        """Return the loss with the log odds of training labels.

        Parameters
        ----------
        y : array-like, sparse, data frame or tensor of shape (n_samples, n_labels)
            The training labels; unknown cells are NaN.
        tau : float, default=1.0
            As in :func:`~labelance.sampling.logit_adjustment`.
        **options
            Other parameters of the loss.

        Returns
        -------
        LogitAdjustedLoss
            The loss.
        """
        return cls(logit_adjustment(y, tau=tau), **options)

    def _cells(self, z: Any, y: Any) -> Any:
        z = z + self.adjustment.to(z)
        return -y * log_sigmoid(z) - (1 - y) * log_sigmoid(-z)


class DistributionBalancedLoss(CellLoss):
    """The distribution-balanced loss, for rare labels in rows that have frequent ones, too.

    Cells are weighted against labels that occur together, and absent cells push less the further
    down their logits are.

    Parameters
    ----------
    label_counts : array-like of shape (n_labels,)
        How many training rows have each label.
    adjustment : float or array-like of shape (n_labels,), default=0.0
        What is added to the logits in training: the start bias of a label.
    alpha, beta, mu : float
        As in :func:`~labelance.sampling.distribution_balanced_weights`. An unknown cell counts as
        absent in the weights of its row.
    negative_scale : float, default=2.0
        The scale lambda of logits of absent cells, whose loss is divided by it.
    gamma : float, default=0.0
        The exponent of a focal factor; the authors' program has 2.
    reduction : {"mean", "sum", "none"}, default="mean"
        The mean divides by the number of known cells.

    References
    ----------
    T. Wu, Q. Huang, Z. Liu, Y. Wang, D. Lin (2020): Distribution-Balanced Loss for Multi-Label
    Classification in Long-Tailed Datasets. ECCV.

    Examples
    --------
    >>> import torch
    >>> from labelance.torch import DistributionBalancedLoss
    >>> y = torch.tensor([[1, 1], [1, 0], [1, 0], [1, 0]])
    >>> loss = DistributionBalancedLoss.from_labels(y, reduction="none")
    >>> loss(torch.zeros(4, 2), y)[:2]  # the frequent label counts less next to the rare one
    tensor([[0.4159, 0.7913],
            [0.7622, 0.3518]])
    """

    def __init__(
        self,
        label_counts: Any,
        adjustment: Any = 0.0,
        *,
        alpha: float = 0.1,
        beta: float = 10.0,
        mu: float = 0.2,
        negative_scale: float = 2.0,
        gamma: float = 0.0,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction)
        if not negative_scale > 0:
            raise InputError("negative_scale must be > 0", f"Got {negative_scale!r}", "Try 2")
        self.register_buffer("label_counts", _numbers("label_counts", label_counts))
        self.register_buffer("adjustment", _numbers("adjustment", adjustment, least=-math.inf))
        self.alpha, self.beta, self.mu = alpha, beta, mu
        self.negative_scale, self.gamma = negative_scale, gamma

    @classmethod
    def from_labels(cls, y: Any, *, tau: float = 0.05, **options: Any) -> Self:
        """Return the loss with counts and start biases of training labels.

        Parameters
        ----------
        y : array-like, sparse, data frame or tensor of shape (n_samples, n_labels)
            The training labels; unknown cells are NaN.
        tau : float, default=0.05
            As in :func:`~labelance.sampling.logit_adjustment`; kappa of the paper.
        **options
            Other parameters of the loss.

        Returns
        -------
        DistributionBalancedLoss
            The loss.
        """
        counts = column_counts(validate_labels(y, caller=cls.__name__, needs_all=None).Y)
        return cls(counts, logit_adjustment(y, tau=tau), **options)

    def _cells(self, z: Any, y: Any) -> Any:
        rarity = 1 / self.label_counts.to(z).clamp(min=1)
        # A row without labels has the ratio inf, and the weight alpha + 1.
        ratio = rarity / (y * rarity).sum(-1, keepdim=True)
        weight = self.alpha + torch.sigmoid(self.beta * (ratio - self.mu))
        z, scale = z + self.adjustment.to(z), self.negative_scale
        present, absent = _focus(z, self.gamma), _focus(-scale * z, self.gamma) / scale
        return weight * (y * present + (1 - y) * absent)


def _focus(z: Any, gamma: Any) -> Any:
    """Return -(1 - p)^gamma log p for p = sigmoid(z), without overflow or cancellation."""
    return -torch.exp(gamma * log_sigmoid(-z)) * log_sigmoid(z)


def _numbers(name: str, value: Any, *, least: float = 0, most: float = math.inf) -> Any:
    """Return a tensor of finite numbers between two limits."""
    numbers = torch.as_tensor(value, dtype=torch.float32).clone()
    if not (torch.isfinite(numbers) & (numbers >= least) & (numbers <= most)).all():
        raise InputError(
            f"{name} must hold finite numbers from {least:g} to {most:g}", f"Got {value!r:.50}"
        )
    return numbers
