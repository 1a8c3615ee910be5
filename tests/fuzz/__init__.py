"""Every file that a command reads, damaged in every way: a table of file x operation x command.

    fuzz/operations.py   what can happen to a file, for each format (JSON, pickle, text, ...)
    fuzz/table.py        rows (a command and the files that it reads), cells, and what is demanded of a cell
    fuzz/rows_*.py       the rows, package by package; fuzz/rows.py lists them
    fuzz/formats.py      whether a changed file is still a valid one
    tests/test_fuzz.py   every cell with a fixed seed and a few examples

`PYTHONPATH=.:tests python -m fuzz` prints the table with its counts; `--minutes 60` looks for an hour.
"""
