-- Grain: one row of moments: its interval on the unit scale, mean ± t · se, not clipped. Reads moments; $conf.
select
    row_id,
    null::double as n_eff,
    mean - t_quantile(1 - (1 - $conf) / 2, n_groups - 1) * se as ci_low,
    mean + t_quantile(1 - (1 - $conf) / 2, n_groups - 1) * se as ci_high,
    'cluster_t' as ci_method,
    []::varchar[] as flags
from moments
where n_groups > 1
order by row_id
