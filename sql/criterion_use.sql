-- Grain: one criterion of one system (null: all) and one judge: how much of its range the judge uses. Where nearly all
-- ratings are the maximum, a criterion tells outputs apart no more.
-- Reads ratings as judge_ratings.sql gives them. Sums run over sorted lists, so that row order moves no digit.
select
    system,
    criterion,
    judge_id,
    max(max_points) as max_points,
    list_sum(list_sort(list(value))) / count(*) as mean,
    count(*) filter (where value = max_points) / count(*) as share_at_max,
    count(*) filter (where value = 0) / count(*) as share_at_zero
from ratings
group by system, criterion, judge_id
order by system nulls first, criterion, judge_id
