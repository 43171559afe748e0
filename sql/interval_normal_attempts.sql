-- Grain: one row of moments: the mean of the attempts ± 1.96 · sd / √attempts, as published tables have it; width 0
-- below two attempts. It takes attempts for independent, and is too narrow: for reproducing such tables. Reads moments.
select
    row_id,
    n_attempts::double as n_eff,
    mean_attempts - 1.96 * coalesce(sqrt(ss_attempts / nullif(n_attempts - 1, 0) / n_attempts), 0) as ci_low,
    mean_attempts + 1.96 * coalesce(sqrt(ss_attempts / nullif(n_attempts - 1, 0) / n_attempts), 0) as ci_high,
    'normal_attempts' as ci_method,
    ['attempts_taken_as_independent'] as flags
from moments
where n_attempts > 0
order by row_id
