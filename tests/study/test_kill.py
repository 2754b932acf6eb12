"""Killed at any moment, a study loses what was in flight and nothing else."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from labelance.study import Store, run_study
from labelance.study._study import plan_of

pytestmark = pytest.mark.slow  # runners are killed and started again

# Importing takes seconds: one process does it, and a child of it is the runner of each turn.
RUNNERS = """
import json, os, signal, sys
from labelance.study import run_study
from labelance.study._config import study_of

if __name__ == "__main__":
    study = study_of(json.loads(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are killed
    for executor in map(str.strip, sys.stdin):
        child = os.fork()
        if child == 0:
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run_study(study, sys.argv[2], executor=executor, n_jobs=2)
            os._exit(0)
        print(child, flush=True)
"""


def count(store):
    return len(Store(store, read_only=True).rows()) if Store.is_at(store) else 0


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def kill(pid, *, group):
    """Kill a runner with its workers, or alone: then its workers must notice."""
    try:
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it was done before
    while is_alive(pid):
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_killed_again_and_again_ends_with_the_table_of_an_undisturbed_run(
    tiny, tiny_store, figures, tmp_path
):
    script, store = tmp_path / "runners.py", tmp_path / "killed.store"
    script.write_text(RUNNERS)
    lot, kept = random.Random(0), []
    with subprocess.Popen(
        [sys.executable, str(script), json.dumps(plan_of(tiny)), str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as runners:
        for turn in range(5):  # both executors, killed with their workers and alone
            before = count(store)
            runners.stdin.write("processes\n" if turn % 2 else "serial\n")
            runners.stdin.flush()
            runner = int(runners.stdout.readline())
            # Wait for its first new row or a chosen time, whichever is first, and a moment more.
            latest = time.monotonic() + lot.uniform(1, 20)
            while count(store) == before and time.monotonic() < latest and is_alive(runner):
                time.sleep(0.05)
            time.sleep(lot.uniform(0, 0.05))
            kill(runner, group=turn % 4 < 2)
            kept.append(count(store))
        runners.stdin.close()
    assert kept == sorted(kept)  # what was finished stays
    run_study(tiny, store, executor="serial")
    assert figures(tiny, store).equals(figures(tiny, tiny_store))
