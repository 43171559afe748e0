-- Grain: one question of one side on one metric that can pass or fail: how many of its attempts were made, scored and
-- passed. Reads questions and scales. A value passes at $threshold or better, in the metric's direction. Where that is
-- null only metrics that hold nothing but 0 and 1 are here, and the better of the two passes.
with

kinds as (
    select
        benchmark,
        scorer,
        metric,
        bool_and(is_binary) as is_binary
    from questions
    group by benchmark, scorer, metric
),

thresholds as (
    select
        benchmark,
        scorer,
        metric,
        scales.higher_is_better,
        coalesce($threshold::double, if(scales.higher_is_better, 1, 0)) as threshold
    from scales
    inner join kinds using (benchmark, scorer, metric)
    where kinds.is_binary or $threshold is not null
)

select
    questions.benchmark,
    questions.scorer,
    questions.metric,
    questions.side,
    questions.task_id,
    questions.gold,
    questions.cluster,
    thresholds.threshold,
    -- What nobody has a score on is no part of the worst case either.
    if(questions.is_scorable, questions.n_attempts + questions.n_unscored, 0) as n_made,
    questions.n_attempts as n_scored,
    len(list_filter(
        questions.attempt_values,
        lambda v: if(thresholds.higher_is_better, v >= thresholds.threshold, v <= thresholds.threshold)
    )) as n_passed
from questions
inner join thresholds using (benchmark, scorer, metric)
order by benchmark, scorer, metric, side, task_id, gold
