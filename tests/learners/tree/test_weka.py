"""C4.5 against Weka's own J48: the same trees, to the last split point, on real data.

Part of what ``benchmarks/trees.py --weka`` compares.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest


def beside(name):
    """Import a file of this folder; tests are no package."""
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cases, weka, oracle = beside("weka_cases"), beside("weka_trees"), beside("oracle")

pytestmark = pytest.mark.skipif(bool(weka.what_is_absent()), reason=weka.what_is_absent())

RULES = {
    "-U": {"prune": False},
    "-S": {"subtree_raising": False},
    "-O": {"collapse": False},
    "-J": {"mdl_correction": False},
    "-C 0.05": {"confidence": 0.05},
    "-M 7": {"min_samples_leaf": 7},
}


def changed(name, targets=slice(None), settings=cases.SETTINGS):
    whole = cases.with_targets(cases.load_case(name), targets)
    return [setting(whole) for setting in settings]


def ask(wanted, folder):
    """From dataset and setting to the case and Weka's trees."""
    answers = weka.ask_weka(wanted, folder)
    return {(case.name, case.setting): (case, trees) for case, trees in zip(wanted, answers)}


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """Weka's trees on the datasets of scikit-learn, with all settings and rules."""
    wanted = [case for name in cases.FLAT for case in changed(name)]
    cancer = cases.load_case("breast cancer")
    wanted += [cases.with_options(cancer, key, key, **RULES[key]) for key in RULES]
    return ask(wanted, tmp_path_factory.mktemp("flat"))


@pytest.fixture(scope="module")
def multi_label(data_dir, tmp_path_factory):
    """Weka's trees on multi-label datasets, all labels of the small ones."""
    few = (cases.as_it_is, cases.with_missing)
    flags = cases.load_case("flags")
    wanted = [*changed("flags"), *changed("emotions"), *changed("enron", slice(0, None, 4), few)]
    wanted += changed("yeast", [0, 5, 13], few)
    wanted += changed("genbase", [0, 4], (*few, cases.with_names))
    wanted += [cases.with_options(flags, key, key, **RULES[key]) for key in RULES]
    return ask(wanted, tmp_path_factory.mktemp("multi_label"))


def assert_same_trees(answers):
    for where, (case, theirs) in answers.items():
        if case.setting == cases.ROWS_COUNTED:
            continue
        for ours in (weka.grown_alone(case), weka.grown_together(case)):
            agreement = weka.compare(ours, theirs)
            assert agreement.identical.all(), f"{where}: {agreement}"
            assert agreement.difference.max() <= weka.SAME, f"{where}: {agreement}"


def test_trees_of_several_classes_are_those_of_weka(flat):
    assert_same_trees(flat)


@pytest.mark.data
def test_trees_of_labels_are_those_of_weka(multi_label):
    assert_same_trees(multi_label)


@pytest.mark.data
def test_genbase_is_split_by_its_many_names(multi_label):
    """Else the comparison would say nothing about very many categories."""
    case, theirs = multi_label["genbase", "names, as grown"]
    widest = np.argmax(case.n_categories)
    assert case.n_categories[widest] == 662
    assert all(np.any(tree.feature == widest) for tree in theirs)


class CountsRows(oracle.OracleTree):
    """The oracle, but with Weka's rule that few rows are not split, however heavy they are."""

    def numeric_candidate(self, feature, known, W):
        share = 0.1 * sum(w for _, w in known) / self.C
        least = min(max(share, self.M), 25)
        if oracle.sm(len(known), 2 * least):
            return None
        return super().numeric_candidate(feature, known, W)


def by_counting_rows(case):
    """Trees in preorder, with the leaves' weights, by the oracle."""
    trees = []
    for y in case.y.T:
        tree = CountsRows(
            case.X,
            y,
            n_classes=case.n_classes,
            n_categories=case.n_categories,
            weights=case.weight,
        )
        nodes, waiting = [], [tree.root]
        while waiting:
            nodes.append(waiting.pop())
            waiting += nodes[-1].children[::-1]
        trees.append(
            weka.Tree(
                np.array([node.feature for node in nodes]),
                np.array([node.threshold for node in nodes]),
                np.array([node.bags.sum(axis=0) for node in nodes if not node.children]),
                np.array([tree.proba(x) for x in case.X]),
            )
        )
    return trees


def assert_only_the_number_of_rows_matters(answers, names):
    differ = 0
    for name in names:
        case, theirs = answers[name, cases.ROWS_COUNTED]
        agreement = weka.compare(by_counting_rows(case), theirs)
        assert agreement.identical.all(), f"{name}: {agreement}"
        assert agreement.difference.max() <= weka.SAME, f"{name}: {agreement}"
        differ += np.sum(~weka.compare(weka.grown_alone(case), theirs).identical)
    assert differ > 0


def test_heavy_rows_differ_only_where_weka_counts_rows(flat):
    """A row of weight 2 is two equal rows to us, as scikit-learn asks, and one to Weka."""
    assert_only_the_number_of_rows_matters(flat, cases.FLAT)


@pytest.mark.data
def test_heavy_rows_of_flags_differ_only_where_weka_counts_rows(multi_label):
    assert_only_the_number_of_rows_matters(multi_label, ["flags"])


def test_another_tree_is_noticed(flat):
    _, theirs = flat["breast cancer", "whole"]
    other, _ = flat["breast cancer", "-U"]
    agreement = weka.compare(weka.grown_alone(other), theirs)
    assert not agreement.identical.any()
    assert agreement.difference.max() > weka.SAME
