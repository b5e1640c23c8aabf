"""Networks, foresight and samplers of partitions in compiled code."""
