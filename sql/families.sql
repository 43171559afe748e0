-- Grain: one test: its family, and its p adjusted in it. Reads tests(test_id, family_id, correction, p_value); $alpha.
-- Tests without a p leave before the adjustment.
with

ranked as (
    select
        *,
        count(*) over (partition by family_id) as family_size,
        row_number() over (partition by family_id order by p_value, test_id) as place
    from tests
    where p_value is not null
),

-- Holm: the i-th smallest p times the number of hypotheses not yet rejected, and never less than the one before it.
-- Benjamini-Hochberg: p times m / i, and never more than the one after it.
-- Equal p get equal results, whichever stands first: the running maximum and minimum see to it.
adjusted as (
    select
        test_id,
        if(
            correction = 'holm',
            max(least((family_size - place + 1) * p_value, 1)) over (partition by family_id order by place),
            min(least(family_size * p_value / place, 1)) over (partition by family_id order by place desc)
        ) as p_adjusted
    from ranked
),

sizes as (
    select
        family_id,
        count(p_value) as family_size,
        count(*) - count(p_value) as n_left_out
    from tests
    group by family_id
)

select
    test_id,
    sizes.family_size,
    sizes.n_left_out,
    adjusted.p_adjusted
from tests
inner join sizes using (family_id)
left join adjusted using (test_id)
order by test_id
