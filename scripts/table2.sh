#!/usr/bin/env bash
# Table 2: ROUGE on CNN/Daily Mail with anonymized entities; needs --anonymized_dir. Flags are reproduce.sh's.
exec "$(dirname "$0")/../reproduce.sh" --table 2 "$@"
