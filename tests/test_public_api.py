"""No public name changes unnoticed: ``tools/public_api.txt`` lists them all."""

import subprocess
import sys

import pytest

import public_api
from labelance import MLSOL


@pytest.mark.slow
def test_the_public_api_is_the_committed_one():
    # A process of its own: collecting doctests leaves modules half imported where torch is missing.
    words = [sys.executable, public_api.__file__]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, (
        done.stdout + done.stderr + "\nIf users may see this: python tools/public_api.py --update, "
        "a line in the changelog, and for a name that goes, docs/stability.md"
    )


def test_a_changed_default_and_a_lost_method_are_seen(monkeypatch):
    before = list(public_api.list_name("MLSOL", MLSOL))
    assert any("sampling_ratio=" in line for line in before)
    monkeypatch.setattr(MLSOL.__init__, "__kwdefaults__", {"sampling_ratio": 0.9})
    after = list(public_api.list_name("MLSOL", MLSOL))
    assert before[0] != after[0]
    assert "sampling_ratio=0.9" in after[0]
    assert any(line.startswith("MLSOL.fit_resample(") for line in after)


def test_a_signature_is_the_same_in_every_process():
    def function(first, *, words=("a", 1), none=None, other=object()):  # noqa: B008
        return first, words, none, other

    assert public_api.show_default(frozenset("cab")) == "('a', 'b', 'c')"
    shown = public_api.show_signature(function)
    assert shown == "(first, *, words=('a', 1), none=None, other=...)"
