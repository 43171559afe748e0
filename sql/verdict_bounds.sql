-- Grain: one system on one metric of one scorer, in one level of one stratum (null: all tasks): its mean over tasks had
-- every attempt without a value been at $low, and at $high. Tasks that nobody has a value on count too: whoever made
-- the table of tasks meant them to be done.
-- Reads scores and strata. Sums run over sorted lists, so that neither threads nor row order move a digit.
with

tasks as (
    select
        benchmark,
        scorer,
        run_id,
        system,
        task_id,
        list_sum(list_sort(list(coalesce(value, $low::double)))) / count(*) as lowest,
        list_sum(list_sort(list(coalesce(value, $high::double)))) / count(*) as highest
    from scores
    where metric = $metric
    group by benchmark, scorer, run_id, system, task_id
),

placed as (
    select
        tasks.*,
        null::varchar as stratum,
        null::varchar as level
    from tasks
    union all
    select
        tasks.*,
        strata.stratum,
        strata.level
    from tasks
    inner join strata using (run_id, task_id)
)

select
    benchmark,
    scorer,
    run_id,
    system,
    stratum,
    level,
    list_sum(list_sort(list(lowest))) / count(*) as bound_low,
    list_sum(list_sort(list(highest))) / count(*) as bound_high
from placed
group by benchmark, scorer, run_id, system, stratum, level
order by benchmark, scorer, run_id, system, stratum, level
