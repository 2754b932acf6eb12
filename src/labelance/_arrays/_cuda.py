"""Random numbers where the rows are: numpy's own generator, PCG64, computed by a GPU.

PCG64 is a linear congruential generator of 128 bits: t steps take the state s to A s + C with
constants A and C that depend on t alone. So every random number can be computed by itself, and
is, bit for bit, the one that ``Generator.random`` draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_MASK = 2**128 - 1
_BITS = 48  # numbers drawn at once, as a power of two


def interpolate_features(X: Any, seeds: Any, references: Any, rng: np.random.Generator) -> Any:
    """Return one row per pair of rows of a tensor, with a random number for every feature.

    The generator continues from where it would be if it had drawn the numbers itself.
    """
    n_new, d = len(seeds), X.shape[1]
    out = torch.empty((n_new, d), dtype=X.dtype, device=X.device)
    block = min(1024, triton.next_power_of_2(d))
    drawn = torch.empty(n_new, dtype=torch.int64, device=X.device)
    _count_kernel[(n_new,)](X, seeds, references, drawn, d, BLOCK=block, num_warps=4)
    ends = drawn.cumsum(0)
    state = rng.bit_generator.state
    start, increment = state["state"]["state"], state["state"]["inc"]
    jumps = [_jump(2**bit, increment) for bit in range(_BITS)]
    steps = _steps(d, increment)
    _fill_kernel[(n_new,)](
        X,
        seeds,
        references,
        ends - drawn,
        _words([start], X.device),
        _words([number for jump in jumps for number in jump], X.device),
        _words([number for step in steps for number in step], X.device),
        out,
        d,
        BITS=_BITS,
        BLOCK=block,
        num_warps=4,
        # A fused multiply-add would round once where all other engines round twice.
        enable_fp_fusion=False,
    )
    multiplier, addend = _jump(int(ends[-1]), increment)
    state["state"]["state"] = (multiplier * start + addend) & _MASK
    rng.bit_generator.state = state
    return out


def _jump(steps: int, increment: int) -> tuple[int, int]:
    """Return A and C with which ``steps`` steps take a state s to A s + C."""
    A, C = 1, 0
    a, c = _MULTIPLIER, increment
    while steps:
        if steps & 1:
            A, C = A * a & _MASK, (C * a + c) & _MASK
        a, c = a * a & _MASK, (c * a + c) & _MASK
        steps >>= 1
    return A, C


def _steps(most: int, increment: int) -> list[tuple[int, int]]:
    """Return A and C of 1, 2, … ``most`` steps."""
    A, C, out = 1, 0, []
    for _ in range(most):
        A, C = A * _MULTIPLIER & _MASK, (C * _MULTIPLIER + increment) & _MASK
        out.append((A, C))
    return out


def _words(numbers: list[int], device: Any) -> Any:
    """Return the high and low half of every number of 128 bits, one after the other."""
    halves = [half for number in numbers for half in (number >> 64, number & (2**64 - 1))]
    return torch.from_numpy(np.array(halves, dtype=np.uint64).view(np.int64)).to(device)


@triton.jit
def _count_kernel(X, SEEDS, REFERENCES, DRAWN, d: tl.constexpr, BLOCK: tl.constexpr):
    """Count the features in which the rows of a pair differ."""
    pair = tl.program_id(0).to(tl.int64)
    a_at, b_at = X + tl.load(SEEDS + pair) * d, X + tl.load(REFERENCES + pair) * d
    count = tl.zeros((BLOCK,), dtype=tl.int64)
    for start in range(0, d, BLOCK):
        f = start + tl.arange(0, BLOCK)
        a = tl.load(a_at + f, mask=f < d, other=0.0)
        b = tl.load(b_at + f, mask=f < d, other=0.0)
        count += (a != b).to(tl.int64)
    tl.store(DRAWN + pair, tl.sum(count))


@triton.jit
def _leap(high, low, A_high, A_low, C_high, C_low):
    """Return the two halves of A s + C, modulo 2¹²⁸."""
    product = low * A_low
    out_low = product + C_low
    carry = (out_low < C_low).to(tl.uint64)
    out_high = tl.umulhi(low, A_low) + high * A_low + low * A_high + C_high + carry
    return out_high, out_low


@triton.jit
def _fill_kernel(
    X,
    SEEDS,
    REFERENCES,
    FIRST,
    STATE,
    JUMPS,
    STEPS,
    OUT,
    d: tl.constexpr,
    BITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Fill a new row: where the two rows differ, one random number after the other."""
    pair = tl.program_id(0).to(tl.int64)
    a_at, b_at = X + tl.load(SEEDS + pair) * d, X + tl.load(REFERENCES + pair) * d
    high, low = tl.load(STATE).to(tl.uint64), tl.load(STATE + 1).to(tl.uint64)
    first = tl.load(FIRST + pair)
    for bit in range(BITS):
        at = JUMPS + 4 * bit
        A_high, A_low = tl.load(at).to(tl.uint64), tl.load(at + 1).to(tl.uint64)
        C_high, C_low = tl.load(at + 2).to(tl.uint64), tl.load(at + 3).to(tl.uint64)
        new_high, new_low = _leap(high, low, A_high, A_low, C_high, C_low)
        there = ((first >> bit) & 1) == 1
        high, low = tl.where(there, new_high, high), tl.where(there, new_low, low)
    before = tl.sum(tl.zeros((BLOCK,), dtype=tl.int32), 0)
    for start in range(0, d, BLOCK):
        f = start + tl.arange(0, BLOCK)
        a = tl.load(a_at + f, mask=f < d, other=0.0)
        b = tl.load(b_at + f, mask=f < d, other=0.0)
        differs = (a != b).to(tl.int32)
        step = STEPS + 4 * (before + tl.cumsum(differs, 0) - differs)
        A_high, A_low = tl.load(step, mask=f < d), tl.load(step + 1, mask=f < d)
        C_high, C_low = tl.load(step + 2, mask=f < d), tl.load(step + 3, mask=f < d)
        s_high, s_low = _leap(
            high,
            low,
            A_high.to(tl.uint64),
            A_low.to(tl.uint64),
            C_high.to(tl.uint64),
            C_low.to(tl.uint64),
        )
        mixed, turn = s_high ^ s_low, s_high >> 58
        number = (mixed >> turn) | (mixed << ((64 - turn) & 63))
        u = (number >> 11).to(tl.float64) * (1.0 / 9007199254740992.0)
        a, b = a.to(tl.float64), b.to(tl.float64)
        value = tl.where(differs == 1, a + u * (b - a), a)
        # Rounding may step over an end by the last digit.
        value = tl.minimum(tl.maximum(value, tl.minimum(a, b)), tl.maximum(a, b))
        tl.store(OUT + pair * d + f, value.to(OUT.dtype.element_ty), mask=f < d)
        before += tl.sum(differs, 0)
