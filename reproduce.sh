#!/usr/bin/env bash
# Reproduces the paper: on the sample corpus without arguments, on real data by --data_dir D; --help tells the rest.
set -euo pipefail
called_from=$PWD
cd "$(dirname "$0")"
. scripts/environment.sh
python=
for argument in "$@"; do
    case $argument in
        -h | --help | --dry-run | --dry_run) python=$(python_without_installing) ;;
    esac
done
if [ -z "$python" ]; then
    make_environment requirements.txt
    perl_for_official_rouge
fi
export PYTHONPATH=$PWD
cd "$called_from"
exec "${python:-python}" -m pipeline "$@"
