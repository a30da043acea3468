"""UCB1 of Python's bandit libraries: choose an arm, draw its reward, report it to the library. The
width is that of `cucb`, sqrt(1.5 log t / N)."""

import math
import time

from mabwiser.mab import MAB, LearningPolicy
from river import bandit

from .paper import SEED, uniforms

# Both libraries define the width as c sqrt(2 log t / N).
WIDTH = math.sqrt(0.75)


class River:
    def __init__(self, arms):
        self.arms = list(range(arms))
        self.policy = bandit.UCB(delta=WIDTH, seed=SEED)

    def choose(self):
        return self.policy.pull(self.arms)

    def learn(self, arm, reward):
        self.policy.update(arm, reward)


class Mabwiser:
    def __init__(self, arms):
        self.mab = MAB(list(range(arms)), LearningPolicy.UCB1(alpha=WIDTH), seed=SEED)
        # It needs data before it chooses, and untried arms count as zero, so each arm is tried
        # once.
        self.first = list(range(arms))
        self.started = False

    def choose(self):
        return self.first.pop() if self.first else self.mab.predict()

    def learn(self, arm, reward):
        (self.mab.partial_fit if self.started else self.mab.fit)([arm], [reward])
        self.started = True


LOOPS = {"river": River, "mabwiser": Mabwiser}


def played(library, means, rounds):
    """Rounds per second, and the regret. Rewards are drawn beforehand."""
    rewards = (uniforms(1, 1, rounds, len(means)) < means).astype(float)
    player, best, regret = library(len(means)), max(means), 0.0
    begin = time.process_time()
    for drawn in rewards:
        arm = player.choose()
        player.learn(arm, drawn[arm])
        regret += best - means[arm]
    return rounds / (time.process_time() - begin), regret
