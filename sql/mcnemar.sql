-- Grain: one fourfold table of tasks: McNemar's tests, the risk difference and the odds ratio.
-- Reads fourfold(row_id, both_pass, a_only, b_only, both_fail); $alpha and $rd_method (bonett_price, newcombe).
with

discordant as (
    select
        *,
        a_only + b_only as m,
        both_pass + a_only + b_only + both_fail as n,
        least(a_only, b_only) as fewer,
        normal_quantile(1 - $alpha / 2) as z
    from fourfold
),

-- C(m, i) / 2^m by the logarithm of the gamma function, for i up to the smaller of the two: the lower tail of the
-- binomial distribution with probability one half.
tails as (
    select
        *,
        list_transform(
            range(0, fewer + 1),
            lambda i: exp(lgamma(m + 1.0) - lgamma(i + 1.0) - lgamma(m - i + 1.0) - m * ln(2))
        ) as masses,
        least(2 * list_sum(masses), 1) as p_exact,
        power(a_only - b_only, 2) / nullif(m, 0) as chi2,
        power(greatest(abs(a_only - b_only) - 1, 0), 2) / nullif(m, 0) as chi2_cc
    from discordant
),

-- Newcombe's method 10 joins the Wilson intervals of the two pass rates, allowing for their correlation.
rates as (
    select
        *,
        (a_only + 1) / (n + 2) as adjusted_a,
        (b_only + 1) / (n + 2) as adjusted_b,
        (both_pass + a_only) / nullif(n, 0) as rate_a,
        (both_pass + b_only) / nullif(n, 0) as rate_b,
        (rate_a + z * z / (2 * n)) / (1 + z * z / n) as centre_a,
        (rate_b + z * z / (2 * n)) / (1 + z * z / n) as centre_b,
        z * sqrt(rate_a * (1 - rate_a) / n + z * z / (4.0 * n * n)) / (1 + z * z / n) as half_a,
        z * sqrt(rate_b * (1 - rate_b) / n + z * z / (4.0 * n * n)) / (1 + z * z / n) as half_b,
        both_pass::double * both_fail - a_only::double * b_only as association,
        case
            when association > n / 2.0 then association - n / 2.0
            when association >= 0 then 0
            else association
        end as corrected_association,
        coalesce(corrected_association / nullif(sqrt(
            (both_pass + a_only)::double * (b_only + both_fail) * (both_pass + b_only) * (a_only + both_fail)
        ), 0), 0) as phi,
        rate_a - (centre_a - half_a) as below_a,
        (centre_a + half_a) - rate_a as above_a,
        rate_b - (centre_b - half_b) as below_b,
        (centre_b + half_b) - rate_b as above_b
    from tails
),

-- Clopper and Pearson's interval of the share that a_only has among the discordant tasks.
shares as (
    select
        *,
        (a_only - b_only) / nullif(n, 0) as risk_difference,
        adjusted_a - adjusted_b as adjusted_difference,
        z * sqrt((adjusted_a + adjusted_b - power(adjusted_a - adjusted_b, 2)) / (n + 2)) as adjusted_half,
        case when a_only > 0 then beta_quantile($alpha / 2, a_only, b_only + 1) when m > 0 then 0 end as share_low,
        case when b_only > 0 then beta_quantile(1 - $alpha / 2, a_only + 1, b_only) end as share_high
    from rates
)

select
    row_id,
    if(n > 0, p_exact, null) as p_exact,
    case
        when n = 0 then null
        when m = 0 then 1
        when a_only = b_only then 1 - masses[-1] / 2
        else p_exact - masses[-1]
    end as p_midp,
    chi2,
    chi2_upper(chi2, 1) as p_chi2,
    chi2_cc,
    chi2_upper(chi2_cc, 1) as p_chi2_cc,
    risk_difference,
    case
        when n = 0 then null
        when $rd_method = 'newcombe'
            then risk_difference - sqrt(power(below_a, 2) - 2 * phi * below_a * above_b + power(above_b, 2))
        else greatest(adjusted_difference - adjusted_half, -1)
    end as rd_low,
    case
        when n = 0 then null
        when $rd_method = 'newcombe'
            then risk_difference + sqrt(power(above_a, 2) - 2 * phi * above_a * below_b + power(below_b, 2))
        else least(adjusted_difference + adjusted_half, 1)
    end as rd_high,
    a_only / nullif(b_only, 0) as odds_ratio,
    share_low / (1 - share_low) as or_low,
    share_high / (1 - share_high) as or_high,
    b_only = 0 and a_only > 0 as is_unbounded
from shares
order by row_id
