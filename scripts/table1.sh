#!/usr/bin/env bash
# Table 1: ROUGE and METEOR of every row on CNN/Daily Mail. Flags are reproduce.sh's.
exec "$(dirname "$0")/../reproduce.sh" --table 1 "$@"
