-- Grain: one row of moments: its interval on the unit scale. Reads moments; $conf is the confidence level.
-- Wilson's interval with the number of independent attempts that would give this standard error in place of n, and
-- Student's t with the clusters' degrees of freedom in place of z. Without a range: the t interval.
with

effective as (
    select
        row_id,
        mean as p,
        se,
        n_groups,
        has_range,
        t_quantile(1 - (1 - $conf) / 2, n_groups - 1) as c,
        se * se <= 1e-24 as has_no_variance,
        if(se * se <= 1e-24, n_groups, mean * (1 - mean) / (se * se)) as n_free,
        -- An attempt at the edge: repeats cannot be worth less than one attempt a cluster, nor more than all of them.
        if(
            least_value <= 0 or greatest_value >= 1,
            least(greatest(n_free, n_groups), n_attempts),
            n_free
        ) as n_eff
    from moments
),

solved as (
    select
        *,
        (p + c * c / (2 * n_eff)) / (1 + c * c / n_eff) as centre,
        c * sqrt(p * (1 - p) / n_eff + c * c / (4 * n_eff * n_eff)) / (1 + c * c / n_eff) as half
    from effective
    where n_groups > 1
)

select
    row_id,
    if(has_range, n_eff, null) as n_eff,
    -- The bounds lie in [0, 1] but for the last binary digit.
    if(has_range, greatest(centre - half, 0), p - c * se) as ci_low,
    if(has_range, least(centre + half, 1), p + c * se) as ci_high,
    if(has_range, 'wilson_t', 'cluster_t') as ci_method,
    list_filter([
        if(has_range and n_eff != n_free, 'clamped', null),
        if(has_range, null, 'no_range')
    ], lambda flag: flag is not null) as flags
from solved
order by row_id
