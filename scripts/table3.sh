#!/usr/bin/env bash
# Table 3: ROUGE on DUC-2002 of models trained on CNN/Daily Mail; needs --duc_dir. Flags are reproduce.sh's.
exec "$(dirname "$0")/../reproduce.sh" --table 3 "$@"
