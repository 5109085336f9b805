"""What the grid of experts_grid.sh must give: its routings are drawn and queued here once more, and
drops, rows and bytes are counted choice by choice.  Arguments: results as JSON, experts, EP.

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import sys

ONE = 1 << 32
MASK = (1 << 64) - 1


def splitmix(state):
    """Steele, Lea and Flood's SplitMix64."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        yield z ^ z >> 31


def weights(kind, experts, ranks):
    if kind == "zipf":
        return [(e + 1.0) ** -1.0 for e in range(experts)]
    if kind == "empty":
        return [0.0] + [1.0] * (experts - 1)
    hot = {"hot-expert": 1, "rotating": 1, "hot-rank": experts // ranks}.get(kind, 0)
    if hot == 0:
        return [1.0] * experts
    return [0.5 / hot if e < hot else 0.5 / max(experts - hot, 1) for e in range(experts)]


def lengths(weight, choices):
    """Parts of a line of so many choices, none longer than 1: tokens beyond it go to the next experts."""
    n, length = len(weight), [0] * len(weight)
    while True:
        settled = [x == ONE for x in length]
        left = choices * ONE - sum(x for x in length if x == ONE)
        total = sum(w for w, s in zip(weight, settled) if not s)
        if left > 0 and not total > 0:
            weight = [1.0] * n
            total = float(n - sum(settled))
        if left > 0:
            for e in range(n):
                if not settled[e]:
                    length[e] = min(int(weight[e] / total * left), ONE)
        if left == 0 or [x == ONE for x in length] == settled:
            break
    left, e = choices * ONE - sum(length), 0
    while left > 0:
        more = min(ONE - length[e], left) if weight[e] > 0 else 0
        length[e] += more
        left -= more
        e = (e + 1) % n
    return length


def draw(kind, tokens, choices, experts, ranks, seed):
    length = lengths(weights(kind, experts, ranks), choices)
    numbers = splitmix(seed)
    orders = []
    for _ in range(16):
        order = [0] * experts
        for i in range(experts):
            j = next(numbers) % (i + 1)
            order[i] = order[j]
            order[j] = i
        orders.append(order)
    at = [next(numbers) % ONE for _ in orders]
    ids = []
    for t in range(tokens):
        if kind == "ragged":
            block = tokens // ranks
            if t % block * ranks >= block * (ranks - t // block):
                ids.append([])
                continue
        o = t % 16
        at[o] = (at[o] + 2654435769) % ONE
        row, end, j = [], 0, 0
        for e in orders[o]:
            end += length[e]
            while j < choices and at[o] + j * ONE < end:
                row.append(e)
                j += 1
        ids.append(row)
    return ids


def queue(ids, choices, experts, capacity, by_choices):
    """Kept choices, as (token, expert), and how many each expert has."""
    pairs = [(t, j) for t in range(len(ids)) for j in range(choices)]
    if by_choices:
        pairs.sort(key=lambda p: (p[1], p[0]))
    kept, counts = [], [0] * experts
    for t, j in pairs:
        if j < len(ids[t]) and counts[ids[t][j]] < capacity:
            counts[ids[t][j]] += 1
            kept.append((t, ids[t][j]))
    return kept, counts


# The scenario of the grid: 16 sequences of 8 tokens in two replicas of ep * 2 devices.
DP, TP, BATCH, SEQ, WIDTH, EXPERT_WIDTH, TOP_K, SEED = 2, 2, 16, 8, 16, 8, 2, 3


def room_of(tokens, experts, capacity):
    return tokens if capacity == 0 else math.ceil(TOP_K * tokens / experts * capacity)


def expected(kind, experts, ep, capacity, drop):
    tokens = BATCH // DP * SEQ
    ids = draw(kind, tokens, TOP_K, experts, ep, SEED)
    room = room_of(tokens, experts, capacity)
    kept, counts = queue(ids, TOP_K, experts, room, drop == "choices")
    received = [0] * ep
    for token, expert in kept:  # a row goes from the rank of its token to the rank of its expert
        source, holder = token * ep // tokens, expert * ep // experts
        received[holder] += (source != holder) * WIDTH * 4
    return {
        "choices": DP * sum(map(len, ids)),
        "dropped": DP * (sum(map(len, ids)) - len(kept)),
        "rows": [DP * n for n in counts],
        "ranks": [sum(counts[r * experts // ep:(r + 1) * experts // ep]) for r in range(ep)],
        "received": received,
    }


def same(what, is_, should):
    if is_ != should:
        raise AssertionError(f"{what}: {is_}, not {should}")


def sums(r, e, ep):
    """What holds whoever chooses."""
    moved = [c for c in r["collectives"] if c["op"] == "all-to-all-v"]
    same("rows go and come, forward and backward", len(moved), 4 if ep > 1 else 0)
    for c in moved:
        same(c["where"], c["received_bytes"], sum(e["received_bytes"]["each"]))
    same("rows of experts", sum(e["rows_of_experts"]["each"]), e["choices"] - e["dropped"])
    rows = [n for n in e["rows_of_ranks"]["each"] for _ in range(TP)]
    # Two products forward and four backward, of 2 flops per pair of elements.
    most = max(rows) * 3 * 2 * 2 * WIDTH * EXPERT_WIDTH // TP
    same("flops of experts, at most", r["balance"]["expert_flops"]["max"], most)


def check(r, experts, ep):
    kind, capacity, drop = r["strategy"].split("_")
    run, (e,) = r["mode"] != "plan", r["experts"]
    if run:
        same("verified", r["verify"]["ok"], True)
    sums(r, e, ep)
    same("assumed", e["assumed"], kind == "learned" and not run)
    if kind == "learned" and run:
        return
    w = expected(kind, experts, ep, float(capacity), drop)
    same("choices", e["choices"], w["choices"])
    same("dropped", e["dropped"], w["dropped"])
    same("rows of experts", e["rows_of_experts"]["each"], w["rows"])
    same("rows of ranks", e["rows_of_ranks"]["each"], [n for n in w["ranks"] for _ in range(DP)])
    if ep > 1:
        each = [n for _ in range(DP) for n in w["received"] for _ in range(TP)]
        same("received bytes", e["received_bytes"]["each"], each)


def check_learned(results, experts):
    """With one expert per rank and no capacity, a rank's rows are all tokens that chose the expert."""
    learned = {r["strategy"]: r["experts"][0] for r in results if r["strategy"].startswith("learned")}
    chosen = learned["learned_0_tokens"]["rows_of_ranks"]["each"]
    room = room_of(BATCH // DP * SEQ, experts, 0.75)
    for name, e in learned.items():
        if name != "learned_0_tokens":
            same(f"{name}: rows", e["rows_of_ranks"]["each"], [min(n, room) for n in chosen])


def main():
    path, experts, ep = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    results = json.load(open(path, encoding="utf-8"))
    wrong = 0
    for r in results:
        try:
            check(r, experts, ep)
        except AssertionError as fault:
            print(f"{r['strategy']}: {fault}")
            wrong += 1
    if experts == ep:
        check_learned(results, experts)
    return wrong > 0 or not results


if __name__ == "__main__":
    sys.exit(main())
