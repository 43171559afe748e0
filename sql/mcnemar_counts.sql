-- Grain: one pair of sides on one 0/1 metric of one scorer: how many tasks both, one or neither passed.
-- Reads pairings, pairs, sides and scales. A task passes by the strict majority of its scored repeats; a tie fails.
-- A metric counts as 0/1 if every value of both sides is 0 or 1; the better of the two is the pass.
with

verdicts as (
    select
        pair,
        benchmark,
        scorer,
        metric,
        pairings.is_common,
        pairings.is_binary,
        if(scales.higher_is_better, 1, 0)::double as pass_value,
        pairings.value_a is not null or pairings.value_b is not null as is_scored,
        if(scales.higher_is_better, pairings.n_ones_a, pairings.n_a - pairings.n_ones_a) * 2 > pairings.n_a as a_passes,
        if(scales.higher_is_better, pairings.n_ones_b, pairings.n_b - pairings.n_ones_b) * 2 > pairings.n_b as b_passes
    from pairings
    inner join scales using (benchmark, scorer, metric)
    where pairings.stratum is null
),

counted as (
    select
        pair,
        benchmark,
        scorer,
        metric,
        count(*) filter (where is_common) as n_tasks,
        count(*) filter (where not is_common) as n_dropped,
        count(*) filter (where is_common and a_passes and b_passes) as both_pass,
        count(*) filter (where is_common and a_passes and not b_passes) as a_only,
        count(*) filter (where is_common and not a_passes and b_passes) as b_only,
        count(*) filter (where is_common and not a_passes and not b_passes) as both_fail,
        max(pass_value) as threshold
    from verdicts
    group by all
    having bool_and(is_binary) and bool_or(is_scored)
)

select
    row_number() over (order by pair, counted.benchmark, counted.scorer, counted.metric) as row_id,
    counted.benchmark,
    counted.scorer,
    counted.metric,
    side_a.run_id as run_a,
    side_b.run_id as run_b,
    side_a.system as system_a,
    side_b.system as system_b,
    counted.* exclude (pair, benchmark, scorer, metric)
from counted
inner join pairs using (pair)
inner join sides as side_a on pairs.side_a = side_a.side
inner join sides as side_b on pairs.side_b = side_b.side
order by row_id
