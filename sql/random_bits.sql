-- Grain: one cluster and one block: 64 bits that are random but the same for the same seed, cluster and block, on every
-- machine and in every release (random(), setseed and hash() promise none of that).
-- Reads clusters(position, cluster); $seed, $blocks.
with

blocks as (
    select unnest(range($blocks)) as block
)

select
    clusters.position,
    blocks.block,
    md5_number_lower($seed::varchar || chr(31) || clusters.cluster || chr(31) || blocks.block) as bits
from clusters
cross join blocks
order by clusters.position, blocks.block
