"""The paper's formulas in plain loops, one article and one sentence at a time: what tests compare with and benchmarks
measure against; and random networks and batches for both."""
