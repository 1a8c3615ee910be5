#!/usr/bin/env bash
# Table 5: decoding speed of the full model and of the pointer-generator, measured side by side, and the paper's.
# usage: DATA=<data set> scripts/table5.sh [--model_dir runs/rl] [--pg_dir runs/pg_coverage] [--articles 200] ...
exec "$(dirname "$0")/python.sh" -m scripts.bench_table5 "$@"
