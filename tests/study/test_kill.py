"""Killed at any moment, a study loses what was in flight and nothing else."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from labelance.study import Store, plan_of, run_study

RUNNER = """
import json, sys
from labelance.study import run_study, study_of
if __name__ == "__main__":
    study = study_of(json.loads(sys.argv[1]))
    run_study(study, sys.argv[2], executor=sys.argv[3], n_jobs=2)
"""


def count(store):
    return len(Store(store).rows(columns=())) if store.exists() else 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_killed_ten_times_ends_with_the_table_of_an_undisturbed_run(
    tiny, tiny_store, figures, tmp_path
):
    import json

    script, store = tmp_path / "runner.py", tmp_path / "killed.db"
    script.write_text(RUNNER)
    plan, lot = json.dumps(plan_of(tiny)), random.Random(0)
    kept = []
    for turn in range(10):
        executor = "processes" if turn % 2 else "serial"
        before = count(store)
        runner = subprocess.Popen(
            [sys.executable, str(script), plan, str(store), executor],
            start_new_session=True,
        )
        # Wait for its first new row or a chosen time, whichever is first, and a moment more.
        latest = time.monotonic() + lot.uniform(1, 20)
        while count(store) == before and time.monotonic() < latest and runner.poll() is None:
            time.sleep(0.01)
        time.sleep(lot.uniform(0, 0.05))
        if turn % 4 < 2:
            os.killpg(runner.pid, signal.SIGKILL)  # the runner and its workers
        else:
            runner.kill()  # the runner alone; its workers must notice
        runner.wait()
        kept.append(count(store))
    assert kept == sorted(kept)  # what was finished stays
    run_study(tiny, store, executor="serial")
    assert figures(tiny, store).equals(figures(tiny, tiny_store))
