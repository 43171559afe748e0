-- Grain: one attempt under one judge whose verdict a repetition of the judging could turn: the evaluations vote
-- differently, or their mean lies within two standard errors of the threshold.
-- Reads attempts and judgements. $threshold: where a score passes. Sums run over sorted lists.
with

scored as (
    select
        run_id,
        attempt_id,
        judge_id,
        score_normalized >= $threshold as passes,
        coalesce(score_exact, score_normalized) as score
    from judgements
    where status = 'ok'
),

reduced as (
    select
        run_id,
        attempt_id,
        judge_id,
        count(*) as n_evaluations,
        count(*) filter (where passes) as n_passing,
        list_sort(list(score)) as scores,
        list_sum(scores) / n_evaluations as mean_score,
        list_stddev_samp(scores) / sqrt(n_evaluations) as standard_error
    from scored
    group by run_id, attempt_id, judge_id
)

select
    reduced.run_id,
    reduced.judge_id,
    attempts.system,
    attempts.task_id,
    attempts.repeat,
    reduced.n_evaluations,
    reduced.n_passing,
    reduced.mean_score,
    reduced.standard_error,
    if(reduced.n_passing between 1 and reduced.n_evaluations - 1, 'split votes', 'mean near the threshold') as why
from reduced
inner join attempts using (run_id, attempt_id)
where
    reduced.n_passing between 1 and reduced.n_evaluations - 1
    or abs(reduced.mean_score - $threshold) <= 2 * reduced.standard_error
order by
    reduced.run_id, reduced.judge_id, attempts.system, try_cast(attempts.task_id as bigint), attempts.task_id,
    attempts.repeat
