#!/usr/bin/env bash
# Seconds of every stage on a GPU (or wherever --device says), beside the paper's K40, as a table for docs/RESULTS.md.
# usage: scripts/bench_gpu.sh [--data_dir D] [--device cuda] [--amp] [--updates 20] [--articles 256] ...
set -euo pipefail
called_from=$PWD
cd "$(dirname "$0")/.."
. scripts/environment.sh
make_environment requirements.txt
cd "$called_from"
exec python -m scripts.bench_gpu "$@"
