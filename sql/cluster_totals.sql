-- Grain: one cluster (a question, or a group of them) of one row of moments: what a resampled mean is made of.
-- Reads questions, levels, scales and moments.
select
    row_id,
    questions.cluster,
    list_sum(list_sort(list((questions.value - scales.shift) / scales.width))) as total,
    count(*) as n_questions
from questions
inner join levels using (side, task_id)
inner join scales using (scale_id)
inner join moments
    on
        questions.benchmark = moments.benchmark
        and questions.scorer = moments.scorer
        and questions.metric = moments.metric
        and questions.side = moments.side
        and levels.stratum is not distinct from moments.stratum
        and levels.level is not distinct from moments.level
where questions.value is not null
group by row_id, questions.cluster
order by row_id, questions.cluster
