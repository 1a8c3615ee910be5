#!/usr/bin/env bash
# Table 4: pages on which judges compare our summaries with the pointer-generator's. Flags are reproduce.sh's.
exec "$(dirname "$0")/../reproduce.sh" --table 4 "$@"
