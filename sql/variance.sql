-- Grain: one metric of one side: where its scores vary, between questions or between repeats of a question.
-- Reads questions, sides and, for the flip rate, verdicts. Sums run over sorted lists, so that neither threads nor row
-- order move a digit.
with

scored as (
    from questions
    where n_attempts > 0
),

totals as (
    select
        benchmark,
        scorer,
        metric,
        side,
        count(*) as n_questions,
        count(distinct cluster) as n_groups,
        sum(n_attempts)::bigint as n_attempts,
        sum(n_attempts * n_attempts)::bigint as squares,
        min(n_attempts) as repeats_min,
        max(n_attempts) as repeats_max,
        list_sum(list_sort(list(total))) / sum(n_attempts) as mean_attempts,
        list_avg(list_sort(list(value))) as mean_questions,
        list_sum(list_sort(list(ss_within))) as ss_within,
        min(least_value) = max(greatest_value) as all_equal,
        1e-24 * power(greatest(abs(min(least_value)), abs(max(greatest_value))), 2) as rounding_noise
    from scored
    group by benchmark, scorer, metric, side
),

clusters as (
    select
        benchmark,
        scorer,
        metric,
        side,
        scored.cluster,
        list_sum(list_sort(list(scored.n_attempts * power(scored.value - totals.mean_attempts, 2)))) as ss_between,
        list_sum(list_sort(list(scored.value - totals.mean_questions))) as deviation
    from scored
    inner join totals using (benchmark, scorer, metric, side)
    group by benchmark, scorer, metric, side, scored.cluster
),

-- A sum of squares between questions that is rounding noise counts as 0.
sums as (
    select
        benchmark,
        scorer,
        metric,
        side,
        list_sum(list_sort(list(clusters.ss_between))) as sum_between,
        if(sum_between <= totals.n_attempts * totals.rounding_noise, 0, sum_between) as ss_between,
        list_sum(list_sort(list(power(clusters.deviation, 2)))) as ss_clusters
    from clusters
    inner join totals using (benchmark, scorer, metric, side)
    group by benchmark, scorer, metric, side, totals.n_attempts, totals.rounding_noise
),

mean_squares as (
    select
        *,
        (n_attempts - squares / n_attempts) / nullif(n_questions - 1, 0) as k0,
        ss_between / nullif(n_questions - 1, 0) as msb,
        ss_within / nullif(n_attempts - n_questions, 0) as msw,
        n_groups / nullif(n_groups - 1, 0) * ss_clusters / power(n_questions, 2) as se2_cluster,
        (ss_between + ss_within) / nullif(n_attempts - 1, 0) / n_attempts as se2_attempts
    from totals
    inner join sums using (benchmark, scorer, metric, side)
),

flips as (
    select
        benchmark,
        scorer,
        metric,
        side,
        avg(if(n_passed between 1 and n_scored - 1, 1, 0)) as flip_rate
    from verdicts
    where n_scored >= 2
    group by benchmark, scorer, metric, side
)

select
    benchmark,
    scorer,
    metric,
    sides.run_id,
    sides.system,
    mean_squares.n_questions,
    mean_squares.k0,
    mean_squares.msb,
    mean_squares.msw,
    (mean_squares.msb - mean_squares.msw) / mean_squares.k0 as var_between,
    mean_squares.msw as var_within,
    (mean_squares.msb - mean_squares.msw)
    / nullif(mean_squares.msb + (mean_squares.k0 - 1) * mean_squares.msw, 0) as icc1,
    mean_squares.se2_cluster / nullif(mean_squares.se2_attempts, 0) as design_effect,
    flips.flip_rate,
    list_filter([
        case when mean_squares.n_groups < 5 then 'n<5' when mean_squares.n_groups < 30 then 'n<30' end,
        if(mean_squares.n_attempts > 1 and mean_squares.all_equal, 'all_equal', null),
        if(mean_squares.repeats_max = 1, 'one_repeat', null),
        if(mean_squares.repeats_min < mean_squares.repeats_max, 'unequal_repeats', null),
        if(var_between < 0, 'negative_variance', null)
    ], lambda flag: flag is not null) as flags
from mean_squares
inner join sides using (benchmark, side)
left join flips using (benchmark, scorer, metric, side)
order by benchmark, scorer, metric, sides.run_id, sides.system
