"""What networks are called in meta.json and log.json; readers of these files need no more."""

from __future__ import annotations

ABSTRACTOR = "base_abstractor"
RNN_EXTRACTOR = "ml_rnn_extractor"
FF_EXTRACTOR = "ml_ff_extractor"
AGENT = "rnn-ext_abs_rl"
POINTER_GENERATOR = "pointer_generator"  # never released: it keeps our names
