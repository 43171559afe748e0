-- Grain: one metric of one side in one level of one stratum (null: all questions), on the unit scale where the metric
-- has a range: what its interval is made of. Reads questions, levels and scales.
with

cells as (
    select
        levels.stratum,
        levels.level,
        questions.* exclude (scale_id, side),
        side,
        (questions.value - scales.shift) / scales.width as y,
        (questions.total - scales.shift * questions.n_attempts) / scales.width as y_total,
        questions.ss_within / power(scales.width, 2) as y_ss_within,
        (questions.least_value - scales.shift) / scales.width as y_least,
        (questions.greatest_value - scales.shift) / scales.width as y_greatest,
        scales.low is not null as has_range,
        dense_rank() over (
            order by scale_id, side, levels.stratum nulls first, levels.level nulls first
        ) as row_id
    from questions
    inner join levels using (side, task_id)
    inner join scales using (scale_id)
),

means as (
    select
        row_id,
        any_value(benchmark) as benchmark,
        any_value(scorer) as scorer,
        any_value(metric) as metric,
        any_value(side) as side,
        any_value(stratum) as stratum,
        any_value(level) as level,
        any_value(has_range) as has_range,
        count(y) as n_questions,
        count(distinct cluster) filter (where y is not null) as n_groups,
        sum(n_attempts)::bigint as n_attempts,
        sum(n_unscored)::bigint as n_unscored,
        min(n_attempts) filter (where y is not null) as repeats_min,
        max(n_attempts) filter (where y is not null) as repeats_max,
        list_sum(list_sort(list(y))) / nullif(count(y), 0) as mean,
        list_sum(list_sort(list(y_total))) / nullif(sum(n_attempts), 0)::double as mean_attempts,
        min(y_least) as least_value,
        max(y_greatest) as greatest_value,
        coalesce(bool_and(is_binary and n_attempts = 1) filter (where y is not null), false) as is_one_binary
    from cells
    group by row_id
),

scored as (
    select
        row_id,
        means.mean,
        means.mean_attempts,
        cells.cluster,
        cells.y,
        cells.n_attempts,
        cells.y_ss_within
    from cells
    inner join means using (row_id)
    where cells.y is not null
),

deviations as (
    select
        row_id,
        list_sum(list_sort(list(y - mean))) as deviation
    from scored
    group by row_id, cluster
),

-- The cluster-robust (CR1) variance: G/(G-1) times the sum of squares of the clusters' summed deviations, over the
-- questions squared. With each question its own cluster that is the sample variance over the questions.
spread as (
    select
        row_id,
        sqrt(
            count(*) / nullif(count(*) - 1, 0)::double * list_sum(list_sort(list(deviation * deviation)))
        ) as root
    from deviations
    group by row_id
),

attempt_spread as (
    select
        row_id,
        list_sum(list_sort(list(y_ss_within + n_attempts * power(y - mean_attempts, 2)))) as ss_attempts
    from scored
    group by row_id
),

extremes as (
    select
        row_id,
        coalesce(y_total, 0) / (n_attempts + n_unscored) as worst,
        (coalesce(y_total, 0) + n_unscored) / (n_attempts + n_unscored) as best
    from cells
    where is_scorable and has_range
),

-- Every unscored attempt at the worst, and at the best: between them lies the mean that a full record would show.
bounds as (
    select
        row_id,
        list_sum(list_sort(list(worst))) / count(worst) as bound_low,
        list_sum(list_sort(list(best))) / count(best) as bound_high
    from extremes
    group by row_id
)

select
    means.*,
    spread.root / means.n_questions as se,
    attempt_spread.ss_attempts,
    bounds.bound_low,
    bounds.bound_high
from means
left join spread using (row_id)
left join attempt_spread using (row_id)
left join bounds using (row_id)
order by row_id
