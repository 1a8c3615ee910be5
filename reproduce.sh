#!/usr/bin/env bash
# Reproduces the paper: on the sample corpus without arguments, on real data by --data_dir D; --help tells the rest.
set -euo pipefail
called_from=$PWD
cd "$(dirname "$0")"
. scripts/environment.sh
make_environment requirements.txt
perl_for_official_rouge
cd "$called_from"
exec python -m pipeline "$@"
