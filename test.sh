#!/usr/bin/env bash
# Lint, types and tests. Further arguments go to pytest: ./test.sh -k beam
set -euo pipefail
cd "$(dirname "$0")"
. scripts/environment.sh
make_environment requirements-dev.txt
perl_for_official_rouge
command -v chromium > /dev/null || debian_package chromium chromium-driver
command -v chromium > /dev/null || echo "note: no chromium, so the browser tests are skipped"
ruff check .
mypy .
export OMP_NUM_THREADS=1
python -m pytest -n "$(getconf _NPROCESSORS_ONLN)" "$@"
