#!/usr/bin/env python3
"""How well a perfect model could rank published layouts, as steps measured again differ from the first time.

    rank_noise.py FILE.jsonl [NOISE...]

FILE has rows of measured steps (`in`, `measured.step_seconds`).  The noise is the standard deviation of the logarithm
of the time of rows with equal `in`, or each of NOISE.  Of groups of at least five rows with the same model, cluster,
number of devices, batch and type, 4,000 times: the measured times are taken as the truth that the model knows, and
measured again with that noise.  Prints the mean of Spearman's coefficient, and of the regret in %.  Standard library
only.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import json
import math
import random
import sys

from order import spearman

TRIES = 4000


def noise_of(same):
    """Of logarithms around their means, pooled over the repeated rows; None without any."""
    squares = freedom = 0
    for times in same:
        logs = [math.log(t) for t in times]
        mean = sum(logs) / len(logs)
        squares += sum((x - mean) ** 2 for x in logs)
        freedom += len(logs) - 1
    return math.sqrt(squares / freedom) if freedom else None


def perfect(groups, noise, rng):
    """Spearman's coefficient and regret, means over groups and tries."""
    order = regret = 0
    for _ in range(TRIES):
        for truth in groups:
            again = [t * math.exp(rng.gauss(0, noise)) for t in truth]
            order += spearman(truth, again)
            regret += again[truth.index(min(truth))] / min(again) - 1
    n = TRIES * len(groups)
    return order / n, 100 * regret / n


def main():
    same, groups = collections.defaultdict(list), collections.defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as file:
        for row in map(json.loads, filter(str.strip, file)):
            asked, seconds = row["in"], row["measured"]["step_seconds"]
            same[json.dumps(asked, sort_keys=True)].append(seconds)
            groups[json.dumps([asked[key] for key in ("model", "hardware", "devices", "global_batch", "dtype")],
                              sort_keys=True)].append(seconds)
    repeated = [times for times in same.values() if len(times) > 1]
    groups = [times for times in groups.values() if len(times) >= 5]
    measured = noise_of(repeated)
    if measured is not None:
        print(f"{sum(map(len, repeated))} rows are {len(repeated)} layouts measured more than once: noise {100 * measured:.1f} %")
    for noise in [float(word) for word in sys.argv[2:]] or [measured] * (measured is not None):
        order, regret = perfect(groups, noise, random.Random(0))
        print(f"noise {100 * noise:.1f} %: of {len(groups)} groups, a perfect model has Spearman {order:.3f}, regret {regret:.1f} %")


if __name__ == "__main__":
    main()
