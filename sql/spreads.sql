-- Grain: one pair of sides on one metric of one scorer: how the differences of their common questions vary, and what
-- of it questions and repeats bring. Reads pairings, pairs, questions, scales and sides. Sums run over sorted lists, so
-- that neither threads nor row order move a digit.
with

common as (
    select
        pairings.pair,
        pairings.benchmark,
        pairings.scorer,
        pairings.metric,
        pairings.cluster,
        pairings.d,
        pairings.n_a,
        pairings.n_b,
        a.ss_within as ss_a,
        b.ss_within as ss_b,
        pairings.is_binary,
        if(scales.higher_is_better, pairings.n_ones_a, pairings.n_a - pairings.n_ones_a) * 2 > pairings.n_a as passes_a,
        if(scales.higher_is_better, pairings.n_ones_b, pairings.n_b - pairings.n_ones_b) * 2 > pairings.n_b as passes_b
    from pairings
    inner join pairs using (pair)
    inner join scales
        on
            pairings.benchmark = scales.benchmark
            and pairings.scorer = scales.scorer
            and pairings.metric = scales.metric
    inner join questions as a
        on
            pairs.side_a = a.side
            and pairings.benchmark = a.benchmark
            and pairings.scorer = a.scorer
            and pairings.metric = a.metric
            and pairings.task_id = a.task_id
            and pairings.gold = a.gold
    inner join questions as b
        on
            pairs.side_b = b.side
            and pairings.benchmark = b.benchmark
            and pairings.scorer = b.scorer
            and pairings.metric = b.metric
            and pairings.task_id = b.task_id
            and pairings.gold = b.gold
    where pairings.is_common and pairings.stratum is null
),

-- The mean variance of a side's repeats, and the repeats that give the same mean noise as the ones there are: their
-- harmonic mean. A share of tasks that one side alone passes makes sense where every value is 0 or 1.
totals as (
    select
        pair,
        benchmark,
        scorer,
        metric,
        count(*) as n_questions,
        count(distinct cluster) as n_groups,
        list_avg(list_sort(list(d))) as difference,
        1e-24 * power(greatest(abs(min(d)), abs(max(d))), 2) as rounding_noise,
        if(min(n_a) = max(n_a), min(n_a), count(*) / list_sum(list_sort(list(1 / n_a)))) as repeats_a,
        if(min(n_b) = max(n_b), min(n_b), count(*) / list_sum(list_sort(list(1 / n_b)))) as repeats_b,
        list_sum(list_sort(list(ss_a))) / nullif(sum(n_a) - count(*), 0) as var_repeats_a,
        list_sum(list_sort(list(ss_b))) / nullif(sum(n_b) - count(*), 0) as var_repeats_b,
        if(bool_and(is_binary), count(*) filter (where passes_a and not passes_b) / count(*), null) as only_a,
        if(bool_and(is_binary), count(*) filter (where passes_b and not passes_a) / count(*), null) as only_b
    from common
    group by pair, benchmark, scorer, metric
),

deviations as (
    select
        pair,
        benchmark,
        scorer,
        metric,
        list_sum(list_sort(list(common.d - totals.difference))) as deviation
    from common
    inner join totals using (pair, benchmark, scorer, metric)
    group by pair, benchmark, scorer, metric, common.cluster
),

-- Of one question's difference: the squared standard error (by group where there are groups) times the questions.
variances as (
    select
        pair,
        benchmark,
        scorer,
        metric,
        list_sum(list_sort(list(power(deviations.deviation, 2))))
        * totals.n_groups / nullif(totals.n_groups - 1, 0) / totals.n_questions as computed,
        if(computed <= totals.rounding_noise, 0, computed) as variance
    from deviations
    inner join totals using (pair, benchmark, scorer, metric)
    group by pair, benchmark, scorer, metric, totals.n_groups, totals.n_questions, totals.rounding_noise
)

select
    benchmark,
    scorer,
    metric,
    side_a.run_id as run_a,
    side_b.run_id as run_b,
    side_a.system as system_a,
    side_b.system as system_b,
    totals.n_questions,
    totals.n_groups,
    totals.repeats_a,
    totals.repeats_b,
    variances.variance,
    totals.var_repeats_a,
    totals.var_repeats_b,
    -- What is left of the variance when the noise of the repeats is taken out; it can fall below 0.
    variances.variance
    - totals.var_repeats_a / totals.repeats_a
    - totals.var_repeats_b / totals.repeats_b as var_questions,
    totals.only_a,
    totals.only_b
from totals
inner join variances using (pair, benchmark, scorer, metric)
inner join pairs using (pair)
inner join sides as side_a on pairs.side_a = side_a.side
inner join sides as side_b on pairs.side_b = side_b.side
order by pair, benchmark, scorer, metric
