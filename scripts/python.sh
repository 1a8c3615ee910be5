#!/usr/bin/env bash
# Python with the project's environment, in the caller's folder: scripts/python.sh -m MODULE ...
set -euo pipefail
called_from=$PWD
cd "$(dirname "$0")/.."
. scripts/environment.sh
make_environment requirements.txt
cd "$called_from"
exec python "$@"
