from __future__ import annotations

import numpy as np
import pytest

from data.store import open_store
from decoding import Options, Summarizer


def summarize(golden, model: str, **options):
    store = open_store(golden / "data", "test")
    return list(Summarizer.from_agent(golden / model, Options(**options)).summarize(store, np.arange(len(store))))
