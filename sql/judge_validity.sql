-- Grain: one criterion of one system (null: all units together) and one judge, held against the labels that people
-- gave. Reads ratings (as agreement.sql does) and labels(criterion, unit, category). A judge's verdict on a unit is a
-- pass where more than half of its evaluations gave $positive; a tie is none. Units without a label are dropped, and
-- counted.
with

votes as (
    select
        system,
        criterion,
        judge_id,
        unit,
        count(*) filter (where category = $positive) * 2 > count(*) as judge_passes
    from ratings
    where category is not null
    group by system, criterion, judge_id, unit
),

counts as (
    select
        v.system,
        v.criterion,
        v.judge_id,
        count(l.unit) as n_units,
        count(*) - count(l.unit) as n_dropped,
        count(*) filter (where v.judge_passes and l.category = $positive) as both_pass,
        count(*) filter (where v.judge_passes and l.category <> $positive) as judge_only,
        count(*) filter (where not v.judge_passes and l.category = $positive) as human_only,
        count(*) filter (where not v.judge_passes and l.category <> $positive) as both_fail
    from votes as v
    left join labels as l using (criterion, unit)
    group by v.system, v.criterion, v.judge_id
),

shares as (
    select
        *,
        normal_quantile(0.5 + $conf_level::double / 2) as z,
        both_pass / nullif(n_units, 0) as p11,
        judge_only / nullif(n_units, 0) as p10,
        human_only / nullif(n_units, 0) as p01,
        both_fail / nullif(n_units, 0) as p00,
        p11 + p10 as judge_share,
        p11 + p01 as human_share,
        p11 + p00 as percent_agreement,
        judge_share * human_share + (1 - judge_share) * (1 - human_share) as chance
    from counts
),

-- Cohen's kappa with the large-sample variance of Fleiss, Cohen and Everitt (1969).
kappas as (
    select
        *,
        both_pass + judge_only + human_only = 0 or judge_only + human_only + both_fail = 0 as all_equal,
        if(all_equal, null, (percent_agreement - chance) / (1 - chance)) as kappa,
        (
            p11 * (1 - (judge_share + human_share) * (1 - kappa)) ** 2
            + p00 * (1 - (2 - judge_share - human_share) * (1 - kappa)) ** 2
            + (1 - kappa) ** 2 * (
                p10 * (human_share + 1 - judge_share) ** 2 + p01 * (1 - human_share + judge_share) ** 2
            )
            - (kappa - chance * (1 - kappa)) ** 2
        ) / (n_units * (1 - chance) ** 2) as kappa_variance
    from shares
),

-- Wilson score intervals of the two rates.
rates as (
    select
        *,
        both_pass + human_only as n_positive,
        both_fail + judge_only as n_negative,
        both_pass / nullif(n_positive, 0) as sensitivity,
        both_fail / nullif(n_negative, 0) as specificity,
        z * sqrt((sensitivity * (1 - sensitivity) + z * z / (4 * n_positive)) / n_positive) as reach_positive,
        z * sqrt((specificity * (1 - specificity) + z * z / (4 * n_negative)) / n_negative) as reach_negative
    from kappas
)

select
    system,
    criterion,
    judge_id,
    n_units,
    n_dropped,
    both_pass,
    judge_only,
    human_only,
    both_fail,
    percent_agreement,
    kappa,
    if(kappa_variance > 1e-24, greatest(kappa - z * sqrt(kappa_variance), -1), null) as kappa_low,
    if(kappa_variance > 1e-24, least(kappa + z * sqrt(kappa_variance), 1), null) as kappa_high,
    sensitivity,
    (sensitivity + z * z / (2 * n_positive) - reach_positive) / (1 + z * z / n_positive) as sensitivity_low,
    (sensitivity + z * z / (2 * n_positive) + reach_positive) / (1 + z * z / n_positive) as sensitivity_high,
    specificity,
    (specificity + z * z / (2 * n_negative) - reach_negative) / (1 + z * z / n_negative) as specificity_low,
    (specificity + z * z / (2 * n_negative) + reach_negative) / (1 + z * z / n_negative) as specificity_high,
    $conf_level::double as conf_level,
    list_filter([
        if(n_units = 0, 'no_common', null),
        if(n_units between 1 and 4, 'n<5', null),
        if(n_units between 5 and 29, 'n<30', null),
        if(n_units > 0 and all_equal, 'all_equal', null),
        if(n_units > 0 and not all_equal and not kappa_variance > 1e-24, 'no_variance', null)
    ], lambda flag: flag is not null) as flags
from rates
order by system, criterion, judge_id
