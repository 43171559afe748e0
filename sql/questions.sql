-- Grain: one question (a task with its gold) of one side on one metric of one scorer: the mean of its scored attempts.
-- Reads scores, golds, strata, scales and members(side, benchmark, run_id, system): a side is one system in one run, or
-- in several that are pooled. Repeats end here: from here on n is the number of questions.
with

fingerprints as (
    select
        run_id,
        task_id,
        md5(string_agg(field || chr(31) || position || chr(31) || value, chr(30) order by field, position)) as gold
    from golds
    group by run_id, task_id
),

clusters as (
    select
        members.side,
        strata.task_id,
        min(strata.level) as level
    from strata
    inner join members using (run_id)
    where strata.stratum = 'group'
    group by members.side, strata.task_id
),

-- Sorted, so that neither threads nor row order change a sum.
collected as (
    select
        members.side,
        scales.scale_id,
        task_id,
        coalesce(fingerprints.gold, '') as gold,
        coalesce(
            list_sort(list(scores.value) filter (where scores.value is not null)), []
        ) as attempt_values,
        count(*) filter (where scores.value is null) as n_unscored
    from scores
    inner join members using (benchmark, run_id, system)
    inner join scales using (benchmark, scorer, metric)
    left join fingerprints using (run_id, task_id)
    group by all
),

averaged as (
    select
        *,
        list_sum(attempt_values) as total,
        list_sum(attempt_values) / nullif(len(attempt_values), 0) as value
    from collected
)

select
    side,
    scales.benchmark,
    scales.scorer,
    scales.metric,
    scale_id,
    task_id,
    averaged.gold,
    -- What is drawn, flipped and counted as one: the group where there is one, else the task.
    coalesce('group ' || clusters.level, 'task ' || task_id) as cluster,
    len(averaged.attempt_values) as n_attempts,
    averaged.n_unscored,
    averaged.attempt_values,
    averaged.value,
    averaged.total,
    -- Equal values have no spread, though their mean may miss them by a binary digit.
    if(
        averaged.attempt_values[1] = averaged.attempt_values[-1],
        0,
        list_sum(list_transform(averaged.attempt_values, lambda v: power(v - averaged.value, 2)))
    ) as ss_within,
    -- The total in units of the last decimal (or a third of it): a whole number, so that sums of it are equal or not,
    -- without a doubt.
    list_sum(
        list_transform(averaged.attempt_values, lambda v: round(v * scales.parts * power(10, scales.decimals))::bigint)
    )::bigint as points,
    len(list_filter(averaged.attempt_values, lambda v: v = 1)) as n_ones,
    len(list_filter(averaged.attempt_values, lambda v: v not in (0, 1))) = 0 as is_binary,
    averaged.attempt_values[1] as least_value,
    averaged.attempt_values[-1] as greatest_value,
    -- A question that nobody has a score on has no gold or nothing to find: it is outside the worst case too.
    max(len(averaged.attempt_values)) over (partition by scale_id, task_id, averaged.gold) > 0 as is_scorable
from averaged
inner join scales using (scale_id)
left join clusters using (side, task_id)
