"""The tools that every package uses."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from labelance._utils._kernel import inner_kernel, kernel
from labelance._utils._messages import warn_user
from labelance._utils._random import draw_seeds, set_random_states
from labelance.exceptions import InputError, LabelanceWarning, arg


def test_all_random_states_get_one_seed():
    bagging = BaggingClassifier(DecisionTreeClassifier(random_state=3))
    pipeline = make_pipeline(GaussianNB(), bagging)
    assert set_random_states(pipeline, 5) is pipeline
    assert (bagging.random_state, bagging.estimator.random_state) == (5, 5)


def test_what_a_user_set_stays_if_asked():
    bagging = BaggingClassifier(DecisionTreeClassifier(random_state=3))
    set_random_states(bagging, 5, only_unset=True)
    assert (bagging.random_state, bagging.estimator.random_state) == (5, 3)


def test_a_generator_gives_the_seed_only_where_one_is_needed():
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    set_random_states(GaussianNB(), rng)
    set_random_states(object(), rng)
    model = set_random_states(LogisticRegression(), rng)
    assert model.random_state == draw_seeds(other, 1)[0] == 1826701614


@pytest.mark.slow
@pytest.mark.parametrize("disabled", [True, False])
def test_kernels_overflow_without_a_word_also_as_python(disabled, monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", disabled)

    @inner_kernel
    def twice(number):
        return number * 2.0

    @kernel
    def widest(numbers):
        return twice(numbers[0])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert widest(np.array([1e308])) == np.inf
    assert hasattr(widest, "py_func") is not disabled


@pytest.mark.slow
def test_inner_kernels_call_each_other_and_serve_several_kernels():
    @inner_kernel
    def squares(numbers):
        found = np.empty(len(numbers))
        for i in range(len(numbers)):
            found[i] = numbers[i] ** 2
        return found

    @inner_kernel
    def length(numbers):
        return np.sqrt(squares(numbers).sum())

    @kernel
    def lengths(first, second):
        return length(first), length(second)

    @kernel
    def unit(numbers):
        return squares(numbers) / length(numbers) ** 2

    assert lengths(np.array([3.0, 4.0]), np.array([5.0, 12.0])) == (5, 13)
    assert_allclose(unit(np.array([3.0, 4.0])), [0.36, 0.64])


INNER = """
from labelance._utils._kernel import inner_kernel

@inner_kernel
def answer():
    return {}
"""
OUTER = """
from labelance._utils._kernel import kernel
from inner import answer

@kernel
def outer():
    return answer()

print(outer(), sum(outer.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_kernel_on_disk_does_not_outlive_what_it_calls(tmp_path):
    inner, outer = tmp_path / "inner.py", tmp_path / "outer.py"
    outer.write_text(OUTER)
    said = []
    for answer in (41, 41, 42):
        inner.write_text(INNER.format(answer))
        os.utime(inner, (answer, answer))
        run = subprocess.run([sys.executable, outer], capture_output=True, text=True, check=True)
        said.append(run.stdout.split())
    assert said == [["41", "0"], ["41", "1"], ["42", "0"]]


COMPILE_TWICE = """
import numpy as np
from labelance._utils import _kernel
_kernel._PATIENCE = 0.01
def up(x): return x[0] + 1
def down(x): return x[0] - 1
for function in (up, down):
    function.__module__ = "labelance.example"
    _kernel.kernel(function)(np.zeros(3))
"""


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False])
def test_a_person_at_a_terminal_reads_once_that_kernels_are_compiled(terminal, tmp_path):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty() if terminal else os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", COMPILE_TWICE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        stderr=slave,
    ) as program:
        program.wait()
    os.write(slave, b"the end")
    told = os.read(master, 10_000).decode()
    os.close(master)
    os.close(slave)
    assert told.count("labelance compiles") == int(terminal)
    assert program.returncode == 0, told


def test_a_warning_points_at_the_line_outside_of_libraries():
    package = {"__name__": "labelance.somewhere", "warn_user": warn_user}
    exec("def deep(): warn_user('far', UserWarning)\ndef near(): deep()", package)
    between = {"__name__": "sklearn.pipeline", "near": package["near"]}
    exec("def through(): near()", between)
    for call in (package["deep"], package["near"], between["through"]):
        with pytest.warns(UserWarning, match="far") as told:
            call()
        assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="own") as told:
        warn_user("own", UserWarning)
    assert told[0].filename == __file__


def test_a_message_keeps_its_parameters_for_who_writes_them_otherwise():
    """Also when it was pickled, as from a process; filters and people read Python's form."""
    error = InputError(f"{arg('k')} must be > 0", "Got k", f"Try {arg('k', 5)} or {arg('k', ...)}")
    for same in (error, pickle.loads(pickle.dumps(error)), type(error)(*error.parts)):
        assert str(same) == "k must be > 0. Got k. Try k=5 or k=…."
        assert "\ue000" not in repr(same)
        said = same.write(lambda name, value: f"--{name} {value}".strip())
        assert said == "--k must be > 0. Got k. Try --k 5 or --k …."
    with pytest.warns(LabelanceWarning, match=r"^Try k=5$") as told:
        warn_user(f"Try {arg('k', 5)}", LabelanceWarning)
    assert told[0].message.write(lambda name, value: f"--{name} {value}") == "Try --k 5"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Try k=5")
        warn_user(f"Try {arg('k', 5)}", LabelanceWarning)
