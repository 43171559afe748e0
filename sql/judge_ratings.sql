-- Grain: one criterion of one evaluation that a judge gave of an output, and one row more for the score as a whole,
-- with the verdict that this evaluation alone would give; each once for its system and once for all systems (null).
-- Reads attempts, judgements and criteria. $threshold: where a score passes; $scale: where scores end. Nothing handed
-- in is nothing to judge, so it is not here: agreement on it would flatter the judge.
with

rated as (
    select
        attempts.system,
        judgements.run_id,
        judgements.attempt_id,
        judgements.judge_id,
        judgements.evaluation,
        coalesce(judgements.score_exact, judgements.score_normalized) as score,
        if(judgements.score_normalized >= $threshold, 'pass', 'fail') as verdict
    from judgements
    inner join attempts using (run_id, attempt_id)
    where judgements.status = 'ok'
),

ratings as (
    select
        rated.system,
        criteria.criterion,
        rated.judge_id,
        rated.run_id || ' ' || rated.attempt_id as unit,
        rated.evaluation,
        criteria.points as value,
        criteria.max_points,
        null::varchar as category
    from rated
    inner join criteria using (run_id, attempt_id, judge_id, evaluation)
    where criteria.points is not null
    union all
    select
        rated.system,
        'score_normalized' as criterion,
        rated.judge_id,
        rated.run_id || ' ' || rated.attempt_id as unit,
        rated.evaluation,
        rated.score as value,
        $scale::double as max_points,
        rated.verdict as category
    from rated
)

select
    system,
    criterion,
    judge_id,
    unit,
    evaluation,
    value,
    max_points,
    category
from ratings
union all
select
    null as system,
    criterion,
    judge_id,
    unit,
    evaluation,
    value,
    max_points,
    category
from ratings
order by system nulls first, criterion, judge_id, unit, evaluation
