"""All rows of the table."""

from __future__ import annotations

from fuzz import rows_data, rows_decoding, rows_evaluation, rows_prepare, rows_report, rows_training

ROWS = (
    *rows_data.ROWS,
    *rows_prepare.ROWS,
    *rows_decoding.ROWS,
    *rows_training.ROWS,
    *rows_evaluation.ROWS,
    *rows_report.ROWS,
)

WITHOUT_ROWS = {  # command -> why
    **dict.fromkeys(
        [f"scripts.bench_{what}" for what in ("data", "decode", "eval", "gpu", "rl", "table5", "train")],
        "measures speed, on data and models that it reads as the commands above do",
    ),
    "scripts.layers": "reads this project's own code",
    "scripts.walkthrough": "reads this project's own code and documents",
}
