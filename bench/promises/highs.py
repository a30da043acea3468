"""HiGHS on one thread: a binary for each run of a task, a share for each piece of a run."""

import math
import time
from dataclasses import dataclass

from . import curves

try:
    import highspy
    import numpy as np
except ImportError:
    highspy = None

# The relative gap at which both may stop: the default of outlay.
TOLERANCE = 1e-9
# outlay's relative tolerance of the budget.
BUDGET_TOLERANCE = 2.0**-50


def version():
    return highspy.Highs().version() if highspy else None


@dataclass
class Answer:
    seconds: float
    is_optimal: bool
    # An upper bound on the value of the model, if one was found.
    bound: float | None
    # A split within the budget, if one was found.
    spend: list | None


class Model:
    """The columns and rows of a problem. The first row is the budget."""

    def __init__(self, problem):
        self.gain, self.whole = [], []
        self.cells = []  # (row, column, coefficient)
        self.most = [problem["budget"]]
        # For each run: its task, its column (None: always used), its spend, its pieces.
        self.runs = []
        budget, tasks = problem["budget"], problem["task"]
        for task, spec in enumerate(tasks):
            self.add(task, curves.runs(spec, budget, budget / len(tasks)))

    def add(self, task, runs):
        if len(runs) == 1 and runs[0].spend == 0.0:
            self.runs.append((task, None, 0.0, self.pieces(runs[0].pieces, None)))
            return
        columns = []
        for run in runs:
            column = self.column(run.value, run.spend, True)
            columns.append(column)
            self.runs.append((task, column, run.spend, self.pieces(run.pieces, column)))
        if len(columns) > 1:
            self.row([(column, 1.0) for column in columns], 1.0)

    def pieces(self, pieces, run):
        found = []
        for width, gain in pieces:
            column = self.column(gain, width, False)
            if run is not None:
                self.row([(column, 1.0), (run, -1.0)], 0.0)
            found.append((column, width))
        return found

    def column(self, gain, spend, is_whole):
        self.gain.append(gain)
        self.whole.append(is_whole)
        self.cells.append((0, len(self.gain) - 1, spend))
        return len(self.gain) - 1

    def row(self, cells, most):
        self.cells += [(len(self.most), column, coefficient) for column, coefficient in cells]
        self.most.append(most)

    def spends(self, solution, tasks, budget):
        """The split of a solution, or None if it exceeds the budget and cannot be cut to it."""
        spends, room = [0.0] * tasks, [0.0] * tasks
        for task, column, spend, pieces in self.runs:
            is_used = column is None or solution[column] > 0.5
            if is_used:
                shares = (min(max(solution[piece], 0.0), 1.0) * width for piece, width in pieces)
                room[task] = sum(shares)
                spends[task] = spend + room[task]
        # HiGHS may miss a row by 1e-6.
        excess = math.fsum(spends) - budget
        for task in range(tasks):
            cut = min(max(excess, 0.0), room[task])
            spends[task] -= cut
            excess -= cut
        return spends if excess <= BUDGET_TOLERANCE * budget else None


def solve(problem, limit):
    """Solves within `limit` seconds; building the model is not counted."""
    model = Model(problem)
    solver = highspy.Highs()
    for name, value in (
        ("output_flag", False),
        ("threads", 1),
        ("parallel", "off"),
        ("mip_rel_gap", TOLERANCE),
        ("mip_abs_gap", 0.0),
        ("time_limit", limit),
    ):
        solver.setOptionValue(name, value)
    solver.passModel(program(model))
    begin = time.process_time()
    solver.run()
    seconds = time.process_time() - begin
    is_optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    info, spend = solver.getInfo(), None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        solution = solver.getSolution().col_value
        spend = model.spends(solution, len(problem["task"]), problem["budget"])
    bound = info.mip_dual_bound if any(model.whole) else None
    if bound is None and is_optimal:
        bound = info.objective_function_value
    has_bound = bound is not None and np.isfinite(bound)
    return Answer(seconds, is_optimal, bound if has_bound else None, spend)


def program(model):
    lp = highspy.HighsLp()
    columns, rows = len(model.gain), len(model.most)
    cells = sorted(model.cells, key=lambda cell: cell[1])
    lp.num_col_, lp.num_row_ = columns, rows
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.array(model.gain)
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.ones(columns)
    lp.row_lower_, lp.row_upper_ = np.full(rows, -highspy.kHighsInf), np.array(model.most)
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[is_whole] for is_whole in model.whole]
    counts = np.bincount([column for _, column, _ in cells], minlength=columns)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    lp.a_matrix_.index_ = np.array([row for row, _, _ in cells], dtype=np.int32)
    lp.a_matrix_.value_ = np.array([value for _, _, value in cells])
    return lp
