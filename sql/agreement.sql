-- Grain: one criterion of one system (null: all units together) and one judge, whose evaluations are compared;
-- and, where several judges were at work, one criterion of one system with judge_id null: the judges compared.
-- Reads ratings(system, criterion, judge_id, unit, evaluation, value, category). A rater is an evaluation in the first
-- kind of row, a judge in the second. Sums run over sorted lists, so that neither threads nor row order move a digit.
with

evaluations as (
    select
        system,
        criterion,
        judge_id,
        unit,
        value,
        category,
        evaluation::varchar as rater
    from ratings
    where value is not null
),

-- One judge's evaluations of a unit become their mean, and the category that most of them gave; a tie takes the first
-- in sort order, so 0 before 1 and fail before pass.
judges as (
    select
        system,
        criterion,
        judge_id as rater,
        unit,
        list_avg(list_sort(list(value))) as value,
        list_sort(list_transform(
            map_entries(histogram(category)),
            lambda entry: {
                'fewer': -struct_extract(entry, 'value')::bigint, 'category': struct_extract(entry, 'key')
            }
        ))[1].category as category
    from evaluations
    group by system, criterion, judge_id, unit
    qualify min(judge_id) over (partition by system, criterion) < max(judge_id) over (partition by system, criterion)
),

rated as (
    select
        *,
        dense_rank() over (order by system, criterion, judge_id) as series
    from (
        select * from evaluations
        union all by name
        select * from judges
    ) as both_kinds
),

units as (
    select
        series,
        unit,
        count(*) as m,
        list_avg(list_sort(list(value))) as mean,
        coalesce(list_var_samp(list_sort(list(value))), 0) as var_within
    from rated
    group by series, unit
),

totals as (
    select
        series,
        system,
        criterion,
        judge_id,
        count(*) as n_judgements,
        count(distinct rater) as n_raters,
        count(distinct unit) as n_units,
        list_avg(list_sort(list(value))) as mean,
        min(value) = max(value) as all_equal,
        1e-24 * greatest(abs(min(value)), abs(max(value))) ** 2 as rounding_noise
    from rated
    group by series, system, criterion, judge_id
),

-- The one-way split: units against raters inside a unit. A mean square that is rounding noise counts as 0.
one_way as (
    select
        series,
        list_sum(list_sort(list((u.m - 1) * u.var_within))) / nullif(t.n_judgements - t.n_units, 0) as msw,
        list_sum(list_sort(list(u.m * (u.mean - t.mean) ** 2))) / nullif(t.n_units - 1, 0) as msb_computed,
        if(msb_computed <= t.rounding_noise, 0, msb_computed) as msb,
        (t.n_judgements - sum(u.m * u.m) / t.n_judgements) / nullif(t.n_units - 1, 0) as k0,
        count(*) filter (where u.m < 2) as n_rated_once,
        count(*) filter (where u.m < t.n_raters) as n_incomplete
    from units as u
    inner join totals as t using (series)
    group by series, t.n_judgements, t.n_units, t.rounding_noise
),

-- The two-way split, units against judges, over the units that every judge rated.
complete as (
    select
        r.series,
        r.unit,
        r.rater,
        r.value,
        u.mean as unit_mean
    from rated as r
    inner join totals as t using (series)
    inner join units as u using (series, unit)
    where r.judge_id is null and u.m = t.n_raters
),

rater_means as (
    select
        series,
        rater,
        list_avg(list_sort(list(value))) as rater_mean
    from complete
    group by series, rater
),

grand_means as (
    select
        series,
        list_avg(list_sort(list(value))) as mean
    from complete
    group by series
),

two_way as (
    select
        series,
        count(distinct c.unit) as n,
        count(distinct c.rater) as k,
        list_sum(list_sort(list((c.unit_mean - g.mean) ** 2))) / nullif(n - 1, 0) as msr,
        list_sum(list_sort(list((r.rater_mean - g.mean) ** 2))) / nullif(k - 1, 0) as msc,
        list_sum(list_sort(list((c.value - c.unit_mean - r.rater_mean + g.mean) ** 2)))
        / nullif((n - 1) * (k - 1), 0) as mse,
        min(c.value) = max(c.value) as all_equal
    from complete as c
    inner join rater_means as r using (series, rater)
    inner join grand_means as g using (series)
    group by series
),

-- Krippendorff's alpha for intervals is 1 - D_o/D_e, and both can be had from sample variances: D_o is twice the mean,
-- over values, of the variance in the value's unit; D_e is twice the variance of all values. The first form,
-- m * SS - S^2, would subtract large numbers. Units rated once say nothing and are left out.
pairable as (
    select
        series,
        list_var_samp(list_sort(list(r.value))) as var_all,
        min(r.value) = max(r.value) as all_equal
    from rated as r
    inner join units as u using (series, unit)
    where u.m >= 2
    group by series
),

alpha as (
    select
        series,
        if(p.all_equal, null, 1 - list_sum(list_sort(list(u.m * u.var_within))) / sum(u.m) / p.var_all)
            as alpha_interval
    from units as u
    inner join pairable as p using (series)
    where u.m >= 2
    group by series, p.all_equal, p.var_all
),

-- Categories: n_uc of the m ratings of a unit fall into one.
cells as (
    select
        series,
        unit,
        category,
        count(*) as n_uc,
        sum(count(*)) over (partition by series, unit) as m
    from rated
    where category is not null
    group by series, unit, category
    qualify m >= 2
),

unit_squares as (
    select
        series,
        unit,
        m,
        sum(n_uc * n_uc) as squares
    from cells
    group by series, unit, m
),

pairs as (
    select
        series,
        count(*) as n_units,
        sum(m) as n,
        list_avg(list_sort(list((squares - m) / (m * (m - 1))))) as percent_agreement,
        list_sum(list_sort(list((m * m - squares) / (m - 1)))) as disagreement
    from unit_squares
    group by series
),

-- AC1 takes a category's mean share of a unit's ratings, Fleiss' kappa and alpha its share of all ratings; where every
-- unit has as many ratings these are the same.
categories as (
    select
        c.series,
        c.category,
        sum(c.n_uc) as n_c,
        list_sum(list_sort(list(c.n_uc / c.m))) / p.n_units as mean_share
    from cells as c
    inner join pairs as p using (series)
    group by c.series, c.category, p.n_units
),

chance as (
    select
        series,
        sum(n_c * n_c) as squares,
        list_sum(list_sort(list(mean_share * (1 - mean_share)))) / ($categories - 1) as ac1_chance
    from categories
    group by series
),

nominal as (
    select
        series,
        p.percent_agreement,
        1 - (p.n - 1) * p.disagreement / nullif(p.n * p.n - c.squares, 0) as alpha_nominal,
        c.squares / (p.n * p.n) as kappa_chance,
        (p.percent_agreement - kappa_chance) / nullif(1 - kappa_chance, 0) as fleiss_kappa,
        (p.percent_agreement - c.ac1_chance) / (1 - c.ac1_chance) as ac1
    from pairs as p
    inner join chance as c using (series)
)

select
    t.system,
    t.criterion,
    t.judge_id,
    if(t.judge_id is null, t.n_raters, 1) as n_judges,
    t.n_units,
    t.n_judgements,
    if(t.judge_id is null, t.n_raters, o.k0) as k,
    if(t.judge_id is null, null, sqrt(o.msw)) as within_sd,
    if(t.judge_id is null or t.all_equal, null, (o.msb - o.msw) / (o.msb + (o.k0 - 1) * o.msw)) as icc1,
    if(t.judge_id is null, null, (o.msb - o.msw) / nullif(o.msb, 0)) as icc1_k,
    if(w.all_equal, null, (w.msr - w.mse) / (w.msr + (w.k - 1) * w.mse + w.k * (w.msc - w.mse) / w.n)) as icc2,
    if(w.all_equal, null, (w.msr - w.mse) / nullif(w.msr + (w.msc - w.mse) / w.n, 0)) as icc2_k,
    a.alpha_interval,
    n.alpha_nominal,
    n.percent_agreement,
    n.fleiss_kappa,
    n.ac1,
    list_filter([
        if(t.n_units < 5, 'n<5', null),
        if(t.all_equal, 'all_equal', null),
        if(o.n_rated_once > 0, 'rated_once', null),
        if(t.judge_id is null and o.n_incomplete > 0, 'not_rated_by_all', null)
    ], lambda flag: flag is not null) as flags
from totals as t
inner join one_way as o using (series)
left join two_way as w using (series)
left join alpha as a using (series)
left join nominal as n using (series)
order by t.system, t.criterion, t.judge_id
