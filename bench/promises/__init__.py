"""What the oracle proves on each class of problems, compared with HiGHS: see `__main__.py`."""
