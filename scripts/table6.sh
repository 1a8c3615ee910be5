#!/usr/bin/env bash
# Table 6: novel n-grams of our summaries, the pointer-generator's and the references. Flags are reproduce.sh's.
exec "$(dirname "$0")/../reproduce.sh" --table 6 "$@"
