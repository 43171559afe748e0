-- Grain: one question of one side on one metric of one scorer: what its attempts came to, and how much they differ.
-- Reads questions, sides and scales. `goodness` is the mean on the unit scale, 1 the best in the metric's direction; on
-- the range of the observed values where the metric has none, null where these are all equal.
with

ranged as (
    select
        benchmark,
        scorer,
        metric,
        higher_is_better,
        coalesce(low, least_value) as low,
        coalesce(high, greatest_value) as high
    from scales
)

select
    benchmark,
    scorer,
    metric,
    sides.run_id,
    sides.system,
    questions.task_id,
    questions.n_attempts,
    questions.n_unscored,
    questions.value as mean,
    questions.least_value as least,
    questions.greatest_value as greatest,
    if(
        ranged.higher_is_better, questions.value - ranged.low, ranged.high - questions.value
    ) / nullif(ranged.high - ranged.low, 0) as goodness
from questions
inner join sides using (benchmark, side)
inner join ranged using (benchmark, scorer, metric)
order by benchmark, scorer, metric, sides.run_id, sides.system, questions.task_id
