"""Comparisons with other programs, started by `bench/run`: one file per section, all with the same
functions (see __main__.py)."""
