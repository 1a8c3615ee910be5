"""What the model in the box makes of five texts that were written for this test.

    python tests/own_summaries.py     writes own_summaries.json, once the model is final
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).with_name("own_texts.json")
SUMMARIES = Path(__file__).with_name("own_summaries.json")


def read_texts() -> list[str]:
    return json.loads(TEXTS.read_text(encoding="utf-8"))


def summarise_own_texts() -> list[dict[str, Any]]:
    """With the Python tokenizer, which is the same on every machine."""
    from decoding import Summarizer
    from inference.raw_text import read_articles

    texts = read_texts()
    summaries = Summarizer.pretrained().summarize_readably([""] * len(texts), read_articles(texts, "python"))
    return [
        {"extracted": [sentence.source for sentence in summary.summary], "summary": summary.text()}
        for summary in summaries
    ]


if __name__ == "__main__":
    SUMMARIES.write_text(json.dumps(summarise_own_texts(), indent=4) + "\n", encoding="utf-8")
    print(f"wrote {SUMMARIES}")
