-- Grain: one pair of sides on one metric of one scorer, in one level of one stratum (null: all questions): the paired
-- comparison. Reads pairings, flips (the sign-flip tests), pairs, sides and scales; $alpha.
-- The questions' clusters stand for questions where there are groups; without groups each question is its own.
with

means as (
    select
        row_id,
        any_value(pair) as pair,
        any_value(benchmark) as benchmark,
        any_value(scorer) as scorer,
        any_value(metric) as metric,
        any_value(stratum) as stratum,
        any_value(level) as level,
        count(*) filter (where is_common) as n_questions,
        count(distinct cluster) filter (where is_common) as n_groups,
        count(*) filter (where value_a is not null and value_b is null) as n_only_a,
        count(*) filter (where value_b is not null and value_a is null) as n_only_b,
        list_sum(list_sort(list(value_a) filter (where is_common)))
        / nullif(count(*) filter (where is_common), 0) as mean_a,
        list_sum(list_sort(list(value_b) filter (where is_common)))
        / nullif(count(*) filter (where is_common), 0) as mean_b,
        list_sum(list_sort(list(d) filter (where is_common)))
        / nullif(count(*) filter (where is_common), 0) as difference,
        coalesce(bool_or(n_a != n_b) filter (where is_common), false) as has_unequal_repeats
    from pairings
    group by row_id
),

deviations as (
    select
        row_id,
        list_sum(list_sort(list(pairings.d - means.difference))) as deviation
    from pairings
    inner join means using (row_id)
    where pairings.is_common
    group by row_id, pairings.cluster
),

spread as (
    select
        row_id,
        sqrt(
            count(*) / nullif(count(*) - 1, 0)::double * list_sum(list_sort(list(deviation * deviation)))
        ) as root
    from deviations
    group by row_id
),

-- Where the differences do not vary there is no t, no effect in standard deviations, and nothing to detect.
tested as (
    select
        row_id,
        means.* exclude (row_id, benchmark, scorer, metric),
        benchmark,
        scorer,
        metric,
        flips.* exclude (row_id),
        scales.high - scales.low as reach,
        scales.higher_is_better,
        scales.is_primary,
        if(flips.is_identical or flips.is_constant, null, spread.root / means.n_questions) as se,
        means.difference / nullif(se, 0) as t,
        means.n_groups - 1 as df,
        -- Hedges' correction of a standardised mean, exact; null below two degrees of freedom.
        if(
            df > 1,
            exp(lgamma(df / 2.0) - lgamma(if(df > 1, df - 1, 1) / 2.0) - ln(df / 2.0) / 2),
            null
        ) as correction_factor,
        -- Identical on all of them: the share of questions with a difference lies below 1 - alpha^(1/n).
        if(
            flips.is_identical,
            if(df > 0, (1 - power($alpha, 1.0 / means.n_groups)) * reach, null),
            t_quantile(1 - $alpha / 2, df) * se
        ) as half
    from means
    inner join scales using (benchmark, scorer, metric)
    left join flips using (row_id)
    left join spread using (row_id)
)

select
    tested.row_id,
    tested.benchmark,
    tested.scorer,
    tested.metric,
    side_a.run_id as run_a,
    side_b.run_id as run_b,
    side_a.system as system_a,
    side_b.system as system_b,
    tested.stratum,
    tested.level,
    tested.n_questions,
    tested.n_groups,
    tested.n_only_a,
    tested.n_only_b,
    tested.mean_a,
    tested.mean_b,
    tested.difference,
    -- Clipped to what the range allows; without one `reach` is null, which greatest and least pass over.
    if(tested.half is null, null, greatest(tested.difference - tested.half, -tested.reach)) as ci_low,
    if(tested.half is null, null, least(tested.difference + tested.half, tested.reach)) as ci_high,
    1 - $alpha as conf_level,
    tested.p_value,
    tested.p_method,
    tested.n_resamples,
    sqrt(tested.p_value * (1 - tested.p_value) / tested.n_resamples) as p_monte_carlo_error,
    t_two_sided(tested.t, tested.df) as p_t,
    tested.is_primary,
    -- What is printed could not have been smaller than this, whatever the signs of the differences.
    if(
        tested.p_value is null,
        null,
        least(greatest(power(2, 1 - tested.n_nonzero), coalesce(1 / (tested.n_resamples + 1), 0)), 1)
    ) as p_smallest,
    if(tested.higher_is_better, tested.n_above, tested.n_below) as wins,
    tested.n_tied as ties,
    if(tested.higher_is_better, tested.n_below, tested.n_above) as losses,
    tested.t / sqrt(tested.n_groups) * tested.correction_factor as dz,
    noncentrality(1 - $alpha / 2, tested.t, tested.df) / sqrt(tested.n_groups) * tested.correction_factor as dz_low,
    noncentrality($alpha / 2, tested.t, tested.df) / sqrt(tested.n_groups) * tested.correction_factor as dz_high,
    detectable_effect(tested.n_groups, $alpha, 0.8) * tested.se * sqrt(tested.n_groups) as mde,
    tested.higher_is_better,
    list_filter([
        case
            when tested.n_questions = 0 then 'no_common'
            when tested.n_groups < 5 then 'n<5'
            when tested.n_groups < 30 then 'n<30'
        end,
        if(tested.is_identical, 'identical', null),
        if(tested.is_constant, 'constant', null),
        if(tested.has_unequal_repeats, 'unequal_repeats', null)
    ], lambda flag: flag is not null) as flags
from tested
inner join pairs using (pair)
inner join sides as side_a on pairs.side_a = side_a.side
inner join sides as side_b on pairs.side_b = side_b.side
order by tested.row_id
