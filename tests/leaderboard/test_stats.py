"""Few-seed statistics against hand computations, scipy and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from benchmark.parameters import Metric
from leaderboard import ranking, stats
from leaderboard.render.words import humps_words
from leaderboard.tables import Column, Entry

A = {0: 87.1, 1: 87.9, 2: 88.4, 3: 86.8, 4: 87.7, 5: 88.0}
B = {0: 86.0, 1: 87.2, 2: 87.9, 3: 86.1, 4: 86.5, 5: 87.6}


MAX = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent")
MIN = Metric(name="loss", title="Loss", direction="min")
UNRANKED = Metric(name="fourier", title="f̂", direction="none")


def seeds(values):
    return dict(enumerate(values))


def test_the_standard_deviation_divides_by_n_minus_one():
    summary = stats.summarize([1.0, 2.0, 4.0])
    assert summary.mean == pytest.approx(7 / 3)
    assert summary.std == pytest.approx(math.sqrt(((4 / 3) ** 2 + (1 / 3) ** 2 + (5 / 3) ** 2) / 2))


def test_one_seed_has_a_mean_and_no_deviation():
    assert stats.summarize([3.0]) == stats.Summary(1, 3.0, None)
    assert stats.summarize([]) == stats.Summary(0, None, None)
    assert stats.t_interval([3.0]) is None


def test_a_value_that_is_not_finite_is_refused_and_never_averaged():
    with pytest.raises(ValueError, match="finite"):
        stats.summarize([1.0, math.nan])


@pytest.mark.parametrize(("n", "half"), [(3, 2.48), (5, 1.24)])
def test_the_interval_half_width_in_standard_deviations(n, half):
    values = np.linspace(-1, 1, n) / np.std(np.linspace(-1, 1, n), ddof=1)
    interval = stats.t_interval(list(values))
    assert (interval.high - interval.low) / 2 == pytest.approx(half, abs=0.005)


def test_shared_seeds_are_compared_in_pairs():
    result = stats.compare(A, B)
    expected = reference.ttest_rel(list(A.values()), list(B.values()))
    assert result.method == "paired t"
    assert result.n == 6
    assert result.p == pytest.approx(expected.pvalue, rel=1e-12)
    low, high = expected.confidence_interval()
    assert (result.interval.low, result.interval.high) == pytest.approx((low, high))
    assert result.rho == pytest.approx(np.corrcoef(list(A.values()), list(B.values()))[0, 1])
    assert result.effect == pytest.approx(result.difference / result.std)


def test_pairing_uses_the_seeds_and_not_their_order():
    shuffled = {seed: B[seed] for seed in (5, 3, 1, 0, 2, 4)}
    assert stats.compare(A, shuffled) == stats.compare(A, B)


def test_seeds_that_one_arm_lacks_are_left_out_and_counted():
    result = stats.compare(A, {seed: B[seed] for seed in (0, 1, 2, 3)})
    assert result.n == 4
    assert "2 seeds of only one arm left out" in result.note


def test_without_shared_seeds_welch_is_used():
    other = {seed + 100: value for seed, value in B.items()}
    result = stats.compare(A, other)
    expected = reference.ttest_ind(list(A.values()), list(B.values()), equal_var=False)
    assert result.method == "Welch t"
    assert result.p == pytest.approx(expected.pvalue, rel=1e-12)
    low, high = expected.confidence_interval()
    assert (result.interval.low, result.interval.high) == pytest.approx((low, high))
    pooled = math.sqrt((np.var(list(A.values()), ddof=1) + np.var(list(B.values()), ddof=1)) / 2)
    assert result.effect == pytest.approx(result.difference / pooled * (1 - 3 / 39))


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_seeds_give_no_test(n):
    result = stats.compare(seeds([2.0] * n), seeds([1.0, 1.5][:n]))
    assert (result.method, result.p, result.interval) == ("none", None, None)
    assert result.difference is not None
    assert "no test" in result.note


def test_no_seed_at_all_gives_neither_difference_nor_test():
    assert stats.compare({}, A).difference is None


def test_equal_values_differ_by_exactly_nothing():
    result = stats.compare(A, A)
    assert (result.method, result.difference, result.p) == ("identical", 0.0, 1.0)


def test_equal_constant_arms_differ_by_exactly_nothing():
    result = stats.compare(seeds([75.0] * 5), seeds([75.0] * 5))
    assert (result.method, result.p, result.rho) == ("identical", 1.0, None)


def test_differences_below_single_precision_are_no_differences():
    result = stats.compare(seeds([0.3] * 3), seeds([0.1 + 0.2] * 3))
    assert (result.method, result.difference) == ("identical", 0.0)


def test_a_constant_difference_is_flagged_and_has_no_p():
    result = stats.compare(seeds([100.0] * 5), seeds([75.0] * 5))
    assert (result.method, result.difference, result.p, result.interval) == ("constant difference", 25.0, None, None)
    assert "no seed variance: t-test undefined" in result.note


def test_two_constant_arms_without_shared_seeds_are_flagged_too():
    result = stats.compare(seeds([100.0] * 5), {seed + 10: 75.0 for seed in range(5)})
    assert (result.method, result.p) == ("constant difference", None)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 8])
def test_the_sign_flip_p_of_a_one_sided_sample_is_two_in_two_to_the_n(n):
    assert stats.sign_flip_p(np.linspace(1, 2, n)) == pytest.approx(2 / 2**n)


def test_the_sign_flip_p_agrees_with_scipy():
    d = [0.4, -0.1, 0.9, 0.3, 0.2, -0.3, 0.8]
    expected = reference.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    assert stats.sign_flip_p(d) == pytest.approx(expected)


def test_many_seeds_use_draws_and_repeat_themselves():
    d = list(np.random.default_rng(1).normal(0.3, 1, 30))
    assert stats.sign_flip_p(d) == stats.sign_flip_p(d)
    assert stats.sign_flip_p(d) == pytest.approx(reference.ttest_1samp(d, 0).pvalue, abs=0.02)


def test_the_exact_test_is_given_from_six_seeds():
    assert stats.compare(A, B).exact_p == pytest.approx(2 / 64)
    five = {seed: A[seed] for seed in range(5)}
    assert stats.compare(five, B).exact_p is None


def test_holm_by_hand():
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([0.5, 0.6]) == [1.0, 1.0]
    assert stats.holm([]) == []


def test_tests_without_a_p_still_count_in_the_family():
    assert stats.holm([0.01], family=10) == pytest.approx([0.1])


def test_the_power_of_the_published_shapes():
    assert stats.power(1.0, 1.0, 5) == pytest.approx(0.40, abs=0.01)
    assert stats.power(0.0, 1.0, 5) == pytest.approx(0.05)
    rho = 0.9
    assert stats.power(1.0, math.sqrt(2 * (1 - rho)), 5) == pytest.approx(0.95, abs=0.02)
    assert stats.power(1.0, math.sqrt(2 * (1 - rho)), 3) == pytest.approx(0.54, abs=0.02)


def test_the_detectable_difference_has_the_power_it_is_named_for():
    smallest = stats.minimum_detectable_difference(0.7, 5)
    assert stats.power(smallest, 0.7, 5) == pytest.approx(0.8)
    assert stats.minimum_detectable_difference(0.7, 1) is None


def test_equivalence_by_two_one_sided_tests():
    result = stats.compare(A, B)
    error = result.std / math.sqrt(6)
    expected = reference.t.sf((2.0 - result.difference) / error, 5)
    assert stats.equivalence_p(result, 2.0) == pytest.approx(expected)
    assert stats.equivalence_p(stats.compare(A, A), 0.1) == 0.0
    assert stats.equivalence_p(stats.compare(seeds([1.0]), seeds([1.0])), 0.1) is None
    with pytest.raises(ValueError, match="positive"):
        stats.equivalence_p(result, 0)


def test_the_logit_scale_changes_the_test_and_not_the_difference():
    raw, logit = stats.compare(A, B), stats.compare(A, B, scale="logit")
    transform = [np.log(np.array(list(x.values())) / (100 - np.array(list(x.values())))) for x in (A, B)]
    assert logit.p == pytest.approx(reference.ttest_rel(*transform).pvalue)
    assert (logit.difference, logit.interval, logit.scale) == (raw.difference, raw.interval, "logit")


def test_a_share_on_its_bound_lies_half_as_far_from_it_as_the_nearest_that_does_not():
    on_bound = stats.compare(seeds([100.0, 99.0, 98.0]), seeds([97.0, 96.0, 97.5]), scale="logit")
    moved = stats.compare(seeds([99.5, 99.0, 98.0]), seeds([97.0, 96.0, 97.5]), scale="logit")
    assert (on_bound.scale, on_bound.p) == ("logit", pytest.approx(moved.p))
    assert on_bound.difference == pytest.approx(moved.difference + 0.5 / 3)


def test_a_value_that_a_scale_cannot_show_keeps_the_test_raw_and_says_so():
    for values, scale in (([0.0, 1.0, 2.5], "log"), ([101.0, 99.0, 98.0], "logit")):
        result = stats.compare(seeds(values), seeds([97.0, 96.0, 97.5]), scale=scale)
        assert result.scale == "raw"
        assert "on or beyond its bound" in result.note
    all_on_bounds = stats.compare(seeds([100.0, 0.0, 100.0]), seeds([0.0, 100.0, 100.0]), scale="logit")
    assert all_on_bounds.scale == "raw"


def test_the_scale_of_a_metric_is_declared_or_its_units():
    assert [metric.tested_on for metric in (MAX, MIN, UNRANKED)] == ["logit", "raw", "raw"]
    assert Metric(name="x", title="X", direction="min", scale="log").tested_on == "log"
    assert Metric(name="x", title="X", direction="min", unit="perplexity").tested_on == "log"


def test_false_discovery_rates_agree_with_scipy():
    p = list(np.random.default_rng(3).uniform(size=25) ** 3)
    assert stats.benjamini_hochberg(p) == pytest.approx(list(reference.false_discovery_control(p)), abs=1e-12)
    assert stats.benjamini_hochberg([]) == []


def test_exact_shares_agree_with_scipy():
    for k, n in ((0, 5), (2, 5), (5, 5), (7, 20)):
        expected = reference.binomtest(k, n).proportion_ci(method="exact")
        found = stats.share_interval(k, n)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-10)


def test_paired_shares_are_judged_by_the_seeds_on_which_they_differ():
    first = {0: True, 1: True, 2: True, 3: True, 4: False}
    second = {0: False, 1: False, 2: False, 3: True, 4: False, 9: True}
    assert stats.paired_share_p(first, second) == pytest.approx(reference.binomtest(3, 3).pvalue)
    assert stats.paired_share_p({0: True}, {1: True}) is None


def test_humps_that_print_alike_are_not_told():
    column, entry = Column("t", MAX, decimals=0), Entry(values=seeds([99.8, 99.8, 99.9, 99.9, 99.8]))
    assert entry.humps is not None
    assert humps_words(entry, column) == ""
    assert humps_words(Entry(values=seeds([75.0, 100.0, 100.0, 75.0, 75.0])), column) == (
        "two humps: 3 near 75, 2 near 100"
    )


def test_two_humps_are_told_and_a_normal_sample_is_not_split():
    assert stats.two_humps([75.0, 100.0, 100.0, 75.0, 75.0]) == ([75.0, 75.0, 75.0], [100.0, 100.0])
    assert stats.two_humps([75.0, 75.0, 75.0, 75.0, 100.0]) is None  # one seed apart is no hump
    assert stats.two_humps([75.0] * 5) is None
    rng = np.random.default_rng(4)
    assert np.mean([stats.two_humps(list(rng.normal(size=5))) is not None for _ in range(4000)]) < 0.01


# --- ranking ---------------------------------------------------------------------------------------------------


def test_bold_is_what_no_row_is_shown_to_beat():
    rows = {
        "best": seeds([90.0, 91.0, 90.5, 90.2, 90.8]),
        "close": seeds([90.3, 90.4, 90.9, 90.1, 90.2]),
        "worse": seeds([80.1, 81.0, 80.4, 80.3, 80.9]),
    }
    result = ranking.rank(rows, MAX)
    assert result.bold == {"best", "close"}
    assert result.ranks == {"best": (1, 2), "close": (1, 2), "worse": (3, 3)}


def test_direction_turns_the_order():
    rows = {"a": seeds([1.0, 1.1, 1.2]), "b": seeds([5.0, 5.2, 5.1])}
    assert ranking.rank(rows, MIN).bold == {"a"}
    assert ranking.rank(rows, MAX).bold == {"b"}
    assert ranking.rank(rows, UNRANKED).bold == frozenset()
    assert ranking.rank(rows, UNRANKED).ranks is None


def test_groups_are_not_chained():
    """best ~ middle and middle ~ last, yet last is worse than best: nobody is shown to beat best and middle."""
    noise = np.array([0.0, 1.0, -1.0, 0.5, -0.5])
    rows = {
        "best": seeds(92 + noise),
        "middle": seeds(91 + noise[::-1] * 1.4),
        "last": seeds(90 + noise + [0.1, -0.1, 0.1, -0.1, 0]),
    }
    result = ranking.rank(rows, MAX)
    decided = {(p.first, p.second): p.decided(0.05) for p in result.pairs}
    assert decided == {("best", "middle"): False, ("best", "last"): True, ("middle", "last"): False}
    assert result.bold == {"best", "middle"}
    assert result.ranks["middle"] == (1, 3)


def test_a_constant_lead_is_ranked_and_marked_as_untested():
    result = ranking.rank({"mask": seeds([100.0] * 5), "default": seeds([75.0] * 5)}, MAX)
    assert result.bold == {"mask"}
    assert result.untested == {"mask", "default"}


def test_a_row_that_lost_seeds_to_divergence_is_never_best():
    rows = {"survivor": seeds([99.0, 99.1, 99.2]), "steady": seeds([80.0, 80.1, 80.3, 80.2, 80.1])}
    assert ranking.rank(rows, MAX, diverged=["survivor"]).bold == {"steady"}


def test_nothing_is_bold_while_a_single_run_leads():
    rows = {"new": {0: 95.0}, "a": seeds([90.0, 90.1, 90.2]), "b": seeds([80.0, 80.2, 80.1])}
    result = ranking.rank(rows, MAX)
    assert result.bold == frozenset()
    assert "new leads with fewer than 3 seeds" in result.note
    assert "new" not in result.ranks


def test_a_single_row_is_compared_with_nothing():
    assert ranking.rank({"a": seeds([1.0, 2.0, 3.0])}, MAX).bold == frozenset()


@pytest.mark.parametrize("n", [3, 5])
def test_the_familywise_error_of_eight_equal_methods_stays_below_five_percent(n):
    """Uncorrected, some pair with the best falls below 0.05 in 40 % of such tables."""
    rng = np.random.default_rng(20)
    tables = 400
    fired = uncorrected = 0
    for _ in range(tables):
        values = rng.normal(size=(8, n))
        rows = {str(index): seeds(row) for index, row in enumerate(values)}
        result = ranking.rank(rows, MAX, scale="raw")
        best = max(rows, key=lambda name: sum(rows[name].values()))
        mine = [pair.comparison.p for pair in result.pairs if best in (pair.first, pair.second)]
        uncorrected += min(mine) < 0.05
        fired += len(result.bold) < 8
    assert fired / tables < 0.05 + 2 * math.sqrt(0.05 * 0.95 / tables)
    assert 0.35 < uncorrected / tables < 0.60
