"""All rows of the table."""

from __future__ import annotations

from fuzz import rows_data, rows_prepare

ROWS = (*rows_data.ROWS, *rows_prepare.ROWS)
