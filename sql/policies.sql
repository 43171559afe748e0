-- Grain: one attempt under one judge and one policy: the score and the verdict that the judge's evaluations come to.
-- Reads attempts and judgements. Every judge of a run is asked about every attempt of the run.
-- $total: the most points; $scale: where normalised scores end; $threshold: from where on an attempt passes;
-- $needed: evaluations that a verdict needs.
-- All that decides is whole: points are hundredths, and a comparison of fractions is one of products. Rounding is half
-- to even, by quotient and remainder, because round() rounds away from zero.
with

judges as (
    select distinct
        run_id,
        judge_id
    from judgements
),

evaluations as (
    select
        run_id,
        attempt_id,
        judge_id,
        status,
        status in ('no_output', 'blank_output') as is_nothing,
        if(status = 'ok', round(total_raw * 100)::bigint, null) as points,
        if(status = 'ok', score_normalized::bigint, null) as rounded
    from judgements
),

-- Nothing handed in is a fact of the attempt: one evaluation that says so counts as all of them.
reduced as (
    select
        attempts.run_id,
        attempts.attempt_id,
        judges.judge_id,
        count(e.attempt_id) as n_evaluations,
        count(*) filter (where e.status = 'ok') as n,
        count(e.points) as n_points,
        coalesce(bool_or(e.is_nothing), false) as is_nothing,
        sum(e.points)::hugeint as points,
        sum(e.rounded)::hugeint as rounded,
        list_sort(list(e.points) filter (where e.points is not null)) as sorted_points,
        count(*) filter (where e.rounded >= $threshold) as n_passing,
        coalesce(list_sort(list(e.status) filter (where e.status <> 'ok')), []) as missing
    from attempts
    inner join judges using (run_id)
    left join evaluations as e
        on
            attempts.run_id = e.run_id and attempts.attempt_id = e.attempt_id and judges.judge_id = e.judge_id
    group by all
),

-- Twice the median of the points: the two in the middle, which are one where their number is odd.
middled as (
    select
        *,
        sorted_points[(n_points + 1) // 2] + sorted_points[n_points // 2 + 1] as twice_median,
        $total::hugeint * 100 as most,
        points * $scale as mean_above,
        n * most as mean_below,
        mean_above // nullif(mean_below, 0) as quotient,
        mean_above % nullif(mean_below, 0) as remainder,
        quotient + (2 * remainder > mean_below or (2 * remainder = mean_below and quotient % 2 = 1))::integer
            as mean_raw_rounded
    from reduced
),

policies as (
    select
        *,
        unnest([
            {
                'policy': 'mean_of_rounded',
                'needs_points': false,
                'policy_score': rounded / n,
                'policy_passed': rounded >= $threshold * n
            },
            {
                'policy': 'mean_exact',
                'needs_points': true,
                'policy_score': mean_above / mean_below,
                'policy_passed': mean_above >= $threshold * mean_below
            },
            {
                'policy': 'mean_raw_rounded',
                'needs_points': true,
                'policy_score': mean_raw_rounded::double,
                'policy_passed': mean_raw_rounded >= $threshold
            },
            {
                'policy': 'median',
                'needs_points': true,
                'policy_score': twice_median * $scale / (2 * most),
                'policy_passed': twice_median * $scale >= $threshold * 2 * most
            },
            -- A majority gives a verdict and no score; the score beside it is the mean of the rounded ones.
            {
                'policy': 'majority',
                'needs_points': false,
                'policy_score': rounded / n,
                'policy_passed': 2 * n_passing > n
            }
        ]) as rule
    from middled
),

ruled as (
    select
        * exclude (rule),  -- noqa: RF03
        rule.*  -- noqa: RF03
    from policies
)

select
    run_id,
    attempt_id,
    judge_id,
    policy,
    n,
    n_passing,
    is_nothing,
    if(missing = [], '', ': ' || array_to_string(missing, ', ')) as what_is_missing,
    case
        when is_nothing then null
        when n_evaluations = 0 then 'no evaluation'
        when n < $needed then n || ' of ' || $needed || ' evaluations' || what_is_missing
        when needs_points and n_points < n then 'policy ' || policy || ' needs points, only scores are given'
    end as reason,
    case when is_nothing then 0 when reason is null then policy_score end as score,
    case when is_nothing then false when reason is null then policy_passed end as passed,
    case when is_nothing then 0 when reason is null and n_points = n then points / (n * 100) end as total_raw
from ruled
order by run_id, attempt_id, judge_id, policy
