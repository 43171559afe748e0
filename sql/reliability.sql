-- Grain: one metric of one side and one k: pass@k and pass^k, each with its interval and with what the missing attempts
-- could make of it. Reads moments (from reliability_estimates), intervals (from interval_wilson_t) and sides; $conf.
with

estimates as (
    select *
    from moments
    left join intervals using (row_id)
),

at_least_one as (
    from estimates
    where measure = 'pass_at_k'
),

every as (
    from estimates
    where measure = 'pass_hat_k'
),

pairs as (
    select
        benchmark,
        scorer,
        metric,
        side,
        every.k,
        every.threshold,
        every.n_questions,
        every.n_dropped,
        every.n_groups,
        at_least_one.mean as pass_at_k,
        at_least_one.ci_low as pass_at_k_ci_low,
        at_least_one.ci_high as pass_at_k_ci_high,
        at_least_one.bound_low as pass_at_k_bound_low,
        at_least_one.bound_high as pass_at_k_bound_high,
        every.mean as pass_hat_k,
        every.ci_low as pass_hat_k_ci_low,
        every.ci_high as pass_hat_k_ci_high,
        every.bound_low as pass_hat_k_bound_low,
        every.bound_high as pass_hat_k_bound_high,
        at_least_one.se * at_least_one.se <= 1e-24 or every.se * every.se <= 1e-24 as has_no_variance
    from at_least_one
    inner join every using (benchmark, scorer, metric, side, k)
)

select
    benchmark,
    scorer,
    metric,
    sides.run_id,
    sides.system,
    pairs.* exclude (benchmark, scorer, metric, side, n_groups, has_no_variance),
    'wilson_t' as ci_method,
    $conf::double as conf_level,
    list_filter([
        case
            when pairs.n_questions = 0 then 'no_question'
            when pairs.n_groups < 5 then 'n<5'
            when pairs.n_groups < 30 then 'n<30'
        end,
        if(pairs.has_no_variance, 'no_variance', null),
        if(pairs.n_dropped > 0, 'dropped', null)
    ], lambda flag: flag is not null) as flags
from pairs
inner join sides using (benchmark, side)
order by benchmark, scorer, metric, sides.run_id, sides.system, pairs.k
