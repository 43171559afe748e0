-- Grain: one row of moments: the exact (Clopper-Pearson) interval. Reads moments; $conf.
-- For one 0/1 value a question and no groups; any other row gets null and the flag not_one_binary.
with

counted as (
    select
        row_id,
        n_questions as n,
        is_one_binary and n_groups = n_questions as fits,
        round(mean * n_questions) as successes
    from moments
    where n_questions > 0
)

select
    row_id,
    null::double as n_eff,
    case when fits then coalesce(beta_quantile((1 - $conf) / 2, successes, n - successes + 1), 0) end as ci_low,
    case when fits then coalesce(beta_quantile(1 - (1 - $conf) / 2, successes + 1, n - successes), 1) end as ci_high,
    'clopper_pearson' as ci_method,
    if(fits, [], ['not_one_binary']) as flags
from counted
order by row_id
