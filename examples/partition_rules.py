# Partition rules for a model of Llama's kind, as EasyDeL takes them:
#   shardsim import --from easydel examples/partition_rules.py --model llama3-8b --devices 16
# The first pattern that is found in the name of a parameter says how it is sharded.
from jax.sharding import PartitionSpec as P

sharding_axis_dims = (1, -1, 1, 2, 1)  # dp, fsdp, ep, tp, sp; -1 is what is left

EVERYWHERE = ("fsdp", "sp")


def get_partition_rules(self):
    return (
        ("embed_tokens/embedding", P("tp", EVERYWHERE)),
        (r"self_attn/(q|k|v)_proj/kernel", P(EVERYWHERE, "tp")),
        (r"self_attn/o_proj/kernel", P("tp", EVERYWHERE)),
        (r"mlp/(gate|up)_proj/kernel", self.partition_manager.resolve(ColumnWise)),
        (r"mlp/down_proj/kernel", self.partition_manager.resolve(RowWise)),
        (r"lm_head/kernel", P(EVERYWHERE, "tp")),
        (r"norm/kernel", P(None)),
        (r"bias", P(None)),
        (".*", P(None)),
    )
