-- Grain: one metric of one side in one level of one stratum (null: all questions), in the metric's own units.
-- Reads moments, intervals (from the interval query that the caller chose), sides and scales; $conf.
select
    benchmark,
    scorer,
    metric,
    sides.run_id,
    sides.system,
    moments.stratum,
    moments.level,
    moments.n_questions,
    moments.n_groups,
    moments.n_attempts,
    moments.n_unscored,
    moments.repeats_min,
    moments.repeats_max,
    scales.shift + scales.width * moments.mean as mean,
    scales.shift + scales.width * moments.mean_attempts as mean_attempts,
    scales.width * moments.se as se,
    scales.shift + scales.width * intervals.ci_low as ci_low,
    scales.shift + scales.width * intervals.ci_high as ci_high,
    coalesce(intervals.ci_method, $method) as ci_method,
    $conf::double as conf_level,
    intervals.n_eff,
    scales.shift + scales.width * moments.bound_low as bound_low,
    scales.shift + scales.width * moments.bound_high as bound_high,
    list_filter([
        case when moments.n_groups < 5 then 'n<5' when moments.n_groups < 30 then 'n<30' end,
        if(moments.se * moments.se <= 1e-24, 'no_variance', null),
        if(moments.n_attempts > 1 and moments.least_value = moments.greatest_value, 'all_equal', null),
        if(moments.repeats_min < moments.repeats_max, 'unequal_repeats', null)
    ], lambda flag: flag is not null) || coalesce(intervals.flags, []) as flags
from moments
inner join sides using (benchmark, side)
inner join scales using (benchmark, scorer, metric)
left join intervals using (row_id)
order by moments.row_id
