-- Grain: one question of one side in one level of one stratum; and once with stratum null, where all questions are.
-- Reads questions, strata and members(side, benchmark, run_id, system); $strata lists the strata to break down by.
select distinct
    side,
    task_id,
    null::varchar as stratum,
    null::varchar as level
from questions
union all
select
    members.side,
    strata.task_id,
    strata.stratum,
    min(strata.level) as level
from strata
inner join members using (run_id)
where strata.stratum in (select unnest($strata))
group by members.side, strata.task_id, strata.stratum
order by side, task_id, stratum, level
