-- Grain: one criterion of one attempt under one judge: the mean points of the evaluations that give the criterion.
-- Reads criteria. Points are added in whole hundredths, so neither threads nor row order move a digit. Nothing handed
-- in is a fact of the attempt and has 0 points, whatever other evaluations say.
select
    run_id,
    attempt_id,
    judge_id,
    criterion,
    if(
        bool_or(status in ('no_output', 'blank_output')),
        0,
        sum(round(points * 100)::bigint) / (count(points) * 100)
    ) as points
from criteria
where points is not null
group by run_id, attempt_id, judge_id, criterion
order by run_id, attempt_id, judge_id, criterion
