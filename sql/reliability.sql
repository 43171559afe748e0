-- Grain: one metric of one side and one k: pass@k and pass^k, each with its interval and with what the missing attempts
-- could make of it. Reads moments (from reliability_estimates), intervals (from interval_wilson_t) and sides; $conf.
with

estimates as (
    select *
    from moments
    left join intervals using (row_id)
),

pairs as (
    select
        benchmark,
        scorer,
        metric,
        side,
        hat.k,
        hat.threshold,
        hat.n_questions,
        hat.n_dropped,
        hat.n_groups,
        at_least.mean as pass_at_k,
        at_least.ci_low as pass_at_k_ci_low,
        at_least.ci_high as pass_at_k_ci_high,
        at_least.bound_low as pass_at_k_bound_low,
        at_least.bound_high as pass_at_k_bound_high,
        hat.mean as pass_hat_k,
        hat.ci_low as pass_hat_k_ci_low,
        hat.ci_high as pass_hat_k_ci_high,
        hat.bound_low as pass_hat_k_bound_low,
        hat.bound_high as pass_hat_k_bound_high,
        at_least.se * at_least.se <= 1e-24 or hat.se * hat.se <= 1e-24 as has_no_variance
    from (from estimates where measure = 'pass_at_k') as at_least
    inner join (from estimates where measure = 'pass_hat_k') as hat using (benchmark, scorer, metric, side, k)
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
