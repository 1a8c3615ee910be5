#!/usr/bin/env bash
# Seconds of every stage on a GPU (or wherever --device says), beside the paper's K40, as a table for docs/RESULTS.md.
# usage: scripts/bench_gpu.sh [--data_dir D] [--device cuda] [--amp] [--updates 20] [--articles 256] ...
exec "$(dirname "$0")/python.sh" -m scripts.bench_gpu "$@"
