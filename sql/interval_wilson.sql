-- Grain: one row of moments: Wilson's score interval. Reads moments; $conf.
-- For one 0/1 value a question and no groups; any other row gets null and the flag not_one_binary.
with

solved as (
    select
        row_id,
        n_questions as n,
        is_one_binary and n_groups = n_questions as fits,
        mean as p,
        normal_quantile(1 - (1 - $conf) / 2) as z,
        (p + z * z / (2 * n)) / (1 + z * z / n) as centre,
        z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)) / (1 + z * z / n) as half
    from moments
    where n_questions > 0
)

select
    row_id,
    null::double as n_eff,
    if(fits, greatest(centre - half, 0), null) as ci_low,
    if(fits, least(centre + half, 1), null) as ci_high,
    'wilson' as ci_method,
    if(fits, [], ['not_one_binary']) as flags
from solved
order by row_id
