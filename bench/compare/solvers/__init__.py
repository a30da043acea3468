"""The other solvers, each called as its users call it. A function takes (instance, limit in seconds) and returns (CPU seconds, spend, note).

OR-tools comes first: the HiGHS inside it and the one that cvxpy brings cannot be loaded the other way round. cvxpy then says that it
works without HiGHS, which is not needed here.
"""

import contextlib
import io

from ortools.sat.python import cp_model  # noqa: F401

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import cvxpy  # noqa: F401
