-- Grain: one question of either side of a pair on one metric of one scorer, in one level of one stratum (null: all
-- questions). A question is the same for both sides if benchmark, task and the task's gold are.
-- Reads pairs(pair, side_a, side_b), questions, levels and scales.
with

a as (
    select
        pairs.pair,
        questions.*
    from pairs
    inner join questions on pairs.side_a = questions.side
),

b as (
    select
        pairs.pair,
        questions.*
    from pairs
    inner join questions on pairs.side_b = questions.side
),

joined as (
    select
        pair,
        scale_id,
        task_id,
        gold,
        coalesce(a.cluster, b.cluster) as cluster,
        a.value as value_a,
        b.value as value_b,
        a.points as points_a,
        b.points as points_b,
        a.n_attempts as n_a,
        b.n_attempts as n_b,
        a.n_ones as n_ones_a,
        b.n_ones as n_ones_b,
        coalesce(a.is_binary, true) and coalesce(b.is_binary, true) as is_binary
    from a
    full outer join b using (pair, scale_id, task_id, gold)
),

-- Side A says which level a task is in; B where A does not know the task.
sided_levels as (
    select
        pairs.pair,
        levels.*
    from pairs
    inner join levels on levels.side in (pairs.side_a, pairs.side_b)
    qualify row_number() over (
        partition by pairs.pair, levels.task_id, levels.stratum order by levels.side != pairs.side_a
    ) = 1
)

select
    dense_rank() over (
        order by pair, scale_id, sided_levels.stratum nulls first, sided_levels.level nulls first
    ) as row_id,
    pair,
    scales.benchmark,
    scales.scorer,
    scales.metric,
    sided_levels.stratum,
    sided_levels.level,
    joined.* exclude (pair, scale_id),
    joined.value_a is not null and joined.value_b is not null as is_common,
    joined.value_a - joined.value_b as d,
    scales.is_rounded
from joined
inner join sided_levels using (pair, task_id)
inner join scales using (scale_id)
