"""A blockwise draw equals the draw, for every sampler and container."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelance.exceptions import InputError
from labelance.sampling import MLSOL, SamplerSequence, all_samplers
from labelance.testing import sampler_data

SAMPLERS = {name: kind for name, kind in all_samplers().items() if name not in ("FunctionSampler",)}


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("container", [np.array, sp.csr_array])
@pytest.mark.parametrize("name", SAMPLERS)
def test_blocks_one_below_the_other_are_the_draw(name, container, size):
    X, Y = sampler_data()
    plan = SAMPLERS[name]().plan(container(X), container(Y))
    whole, drawn = plan.draw(1), plan.draw_blockwise(1)
    starts = range(0, drawn.n_rows, size)
    blocks = [drawn.block(start, min(start + size, drawn.n_rows)) for start in starts]
    for part, parts in zip((whole.X, whole.y), zip(*blocks)):
        np.testing.assert_array_equal(np.vstack(list(map(dense, parts))), dense(part))
        assert {type(block) for block in parts} == {type(part)}
    np.testing.assert_array_equal(dense(drawn.Y), dense(whole.y))


def test_a_sampler_that_gives_whole_tables_has_no_recipe():
    plan = SamplerSequence([MLSOL()]).plan(*sampler_data())
    with pytest.raises(InputError, match=r"returns whole tables only\. Apply the"):
        plan.draw_blockwise(0)
