-- Grain: one metric of one scorer of one benchmark: its range, direction and how finely its values are graded.
-- Reads scores, runs, metrics, and the table of the call, members(side, benchmark, run_id, system).
-- The range is the declared one, else [0, 1] if every value lies there, else none (low and high null). `shift` and
-- `width` take a value to the unit scale, (value - shift) / width; without a range they leave it as it is.
with

chosen as (
    select scores.*
    from scores
    semi join members using (benchmark, run_id, system)
),

observed as (
    select
        benchmark,
        scorer,
        metric,
        min(value) as least_value,
        max(value) as greatest_value,
        max(abs(value)) as largest,
        bool_and(abs(value * 3 - round(value * 3)) <= 0.015) as looks_like_thirds
    from chosen
    group by all
),

declared as (
    select
        runs.benchmark,
        metrics.scorer,
        metrics.metric,
        min(metrics.low) as low,
        max(metrics.high) as high,
        bool_and(metrics.higher_is_better) as higher_is_better,
        max(metrics.decimals) as decimals,
        bool_or(metrics.primary) as is_primary
    from metrics
    inner join runs using (run_id)
    semi join members using (run_id)
    group by all
),

-- Thirds, because judges are often asked three times and their mean is a third of a whole number of points.
candidates as (
    select
        unnest(range(0, 7)) as d,
        1 as parts
    union all
    select
        unnest(range(0, 3)) as d,
        3 as parts
),

different as (
    select distinct
        benchmark,
        scorer,
        metric,
        value
    from chosen
),

scaled as (
    select
        benchmark,
        scorer,
        metric,
        candidates.d,
        candidates.parts,
        different.value * candidates.parts * power(10, candidates.d) as points,
        observed.largest * candidates.parts * power(10, candidates.d) as most
    from different
    inner join observed using (benchmark, scorer, metric)
    cross join candidates
),

-- A value has d decimals if 10^d times it (or its third part) is a whole number, but for the noise of its binary form
-- and of the arithmetic behind it. 15 digits are all that a double keeps: beyond them every value would seem whole.
graded as (
    select
        benchmark,
        scorer,
        metric,
        d,
        parts,
        coalesce(
            bool_and(
                most < 1e15 and abs(points - round(points)) <= least(1e-6, 1e-12 * most) + 4e-16 * abs(points)
            ),
            true
        ) as fits
    from scaled
    group by all
),

-- Where six decimals are not enough the values are rounded to nine significant digits of the largest.
places as (
    select
        benchmark,
        scorer,
        metric,
        coalesce(bool_or(graded.fits and graded.parts = 1 and graded.d = declared.decimals), false) as declared_fits,
        if(bool_or(graded.fits and graded.parts = 1) or not bool_or(graded.fits), 1, 3) as parts,
        coalesce(
            min(graded.d) filter (where graded.fits and graded.parts = 1),
            min(graded.d) filter (where graded.fits),
            9 - ceil(log10(nullif(max(observed.largest), 0)))
        )::integer as fewest
    from observed
    inner join graded using (benchmark, scorer, metric)
    left join declared using (benchmark, scorer, metric)
    group by all
),

ranged as (
    select
        benchmark,
        scorer,
        metric,
        observed.least_value,
        observed.greatest_value,
        coalesce(declared.higher_is_better, true) as higher_is_better,
        coalesce(declared.is_primary, false) as is_primary,
        declared.low is not null and declared.high is not null as is_declared,
        observed.least_value >= 0 and observed.greatest_value <= 1 as is_unit,
        case when is_declared then declared.low when is_unit then 0 end as low,
        case when is_declared then declared.high when is_unit then 1 end as high,
        if(places.declared_fits, declared.decimals, places.fewest) as decimals,
        places.parts,
        -- Values that a pack rounds, that need three decimals or more, that are thirds in two (0.33, 0.67), or that
        -- were rounded just now: a tie may be hidden in the last digit. Other hundredths, tenths and whole numbers are
        -- taken at their word.
        places.declared_fits
        or places.fewest not between 0 and 2
        or (places.fewest = 2 and observed.looks_like_thirds) as is_rounded
    from observed
    inner join places using (benchmark, scorer, metric)
    left join declared using (benchmark, scorer, metric)
)

select
    row_number() over (order by benchmark, scorer, metric) as scale_id,
    * exclude (is_declared, is_unit),
    coalesce(low, 0) as shift,
    coalesce(high - low, 1) as width
from ranged
order by scale_id
