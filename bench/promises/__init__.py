"""What the oracle proves on each class of problems, next to HiGHS: see `__main__.py`."""
