-- Grain: one metric of one side, one k and one measure: pass_at_k (k repeats hold at least one pass) or pass_hat_k
-- (they all pass), averaged over questions, with what its interval is made of: the columns of moments that the interval
-- queries read. Reads verdicts; the k are $ks, or 1 to the most repeats where that is null. A question with fewer than
-- k scored repeats says nothing about k and is dropped. Sums run over sorted lists, so that neither threads nor row
-- order move a digit.
with

ks as (
    select
        benchmark,
        scorer,
        metric,
        side,
        unnest(coalesce($ks::bigint[], range(1, greatest(max(n_scored), 1) + 1))) as k
    from verdicts
    group by benchmark, scorer, metric, side
),

-- A number for each k of a metric of a side: grouping the chances by their names takes twice the time.
wanted as (
    select
        *,
        row_number() over (order by benchmark, scorer, metric, side, k) as wanted_id
    from ks
),

-- What the scored repeats say; and what all would say, had the missing ones failed, or passed: where none is missing
-- that is the same, and not worked out again.
cases as (
    select
        verdicts.* exclude (n_made, n_scored, n_passed),
        outcomes.outcome,
        if(outcomes.outcome = 'scored', verdicts.n_scored, verdicts.n_made) as n,
        verdicts.n_passed + if(outcomes.outcome = 'best', verdicts.n_made - verdicts.n_scored, 0) as c
    from verdicts
    cross join (values ('scored'), ('worst'), ('best')) as outcomes (outcome)
    qualify
        outcomes.outcome = 'scored'
        or bool_or(verdicts.n_made > verdicts.n_scored) over (partition by benchmark, scorer, metric, side)
),

-- C(n, k) is n! / (k! (n - k)!), and lgamma(n + 1) the logarithm of n!; k! cancels out.
chances as (
    select
        wanted_id,
        cluster,
        outcome,
        threshold,
        n,
        case
            when k > n then null
            when n - c < k then 1
            else 1 - exp(lgamma(n - c + 1) - lgamma(n - c - k + 1) - lgamma(n + 1) + lgamma(n - k + 1))
        end as pass_at_k,
        case
            when k > n then null
            when c < k then 0
            else exp(lgamma(c + 1) - lgamma(c - k + 1) - lgamma(n + 1) + lgamma(n - k + 1))
        end as pass_hat_k
    from cases
    inner join wanted using (benchmark, scorer, metric, side)
),

questions_of_k as (
    from chances
    unpivot include nulls (chance for measure in (pass_at_k, pass_hat_k))
),

means as (
    select
        wanted_id,
        threshold,
        measure,
        count(chance) filter (where outcome = 'scored') as n_questions,
        count(*) filter (where outcome = 'scored') - n_questions as n_dropped,
        count(distinct cluster) filter (where outcome = 'scored' and chance is not null) as n_groups,
        sum(n) filter (where outcome = 'scored' and chance is not null)::bigint as n_attempts,
        list_avg(list_sort(list(chance) filter (where outcome = 'scored'))) as mean,
        coalesce(list_avg(list_sort(list(chance) filter (where outcome = 'worst'))), mean) as bound_low,
        coalesce(list_avg(list_sort(list(chance) filter (where outcome = 'best'))), mean) as bound_high
    from questions_of_k
    group by wanted_id, threshold, measure
),

deviations as (
    select
        wanted_id,
        measure,
        questions_of_k.cluster,
        list_sum(list_sort(list(questions_of_k.chance - means.mean))) as deviation
    from questions_of_k
    inner join means using (wanted_id, measure)
    where questions_of_k.outcome = 'scored' and questions_of_k.chance is not null
    group by wanted_id, measure, questions_of_k.cluster
),

spread as (
    select
        wanted_id,
        measure,
        list_sum(list_sort(list(power(deviation, 2)))) as sum_of_squares
    from deviations
    group by wanted_id, measure
)

select
    row_number() over (order by wanted_id, measure) as row_id,
    wanted.benchmark,
    wanted.scorer,
    wanted.metric,
    wanted.side,
    means.threshold,
    wanted.k,
    means.* exclude (wanted_id, threshold),
    sqrt(means.n_groups / nullif(means.n_groups - 1, 0) * spread.sum_of_squares) / means.n_questions as se,
    -- An attempt passes or fails: each is at an edge of the scale.
    true as has_range,
    0 as least_value,
    1 as greatest_value
from means
inner join wanted using (wanted_id)
left join spread using (wanted_id, measure)
order by row_id
