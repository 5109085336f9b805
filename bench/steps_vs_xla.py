#!/usr/bin/env python3
"""Print the bytes received in the golden layer steps by shardsim and by XLA: a table by model, layout and pass.

    steps_vs_xla.py SHARDSIM [GOLDEN]      (GOLDEN: $SHARDSIM_GOLDEN, else ../shared/golden beside the checkout)

XLA's bytes are those of its compiled program; `bound` is the least that any method must receive.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    golden = sys.argv[2] if len(sys.argv) > 2 else os.environ.get(
        "SHARDSIM_GOLDEN", os.path.join(os.path.dirname(here), "shared", "golden"))
    with open(os.path.join(golden, "jax", "steps.jsonl"), encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    ask = "".join(json.dumps({k: c[k] for k in ("id", "op", "in")}) + "\n" for c in cases)
    run = subprocess.run([sys.argv[1], "query"], input=ask.encode(), stdout=subprocess.PIPE, check=True)
    ours = {a["id"]: a["out"]["received_bytes"]["total"] for a in map(json.loads, run.stdout.splitlines())}
    rows = {}
    for c in cases:
        row = rows.setdefault((c["in"]["model"], c["in"]["layout"], c["in"]["mode"]), [0, 0, 0, 0])
        row[0] += 1
        row[1] += c["out"]["received_bytes_total_at_most"]
        row[2] += ours[c["id"]]
        row[3] += c["out"]["received_bytes_at_least"]
    print("| model | layout | pass | steps | XLA, bytes | ours, bytes | ours / XLA | bound, bytes |\n"
          "|---|---|---|---|---|---|---|---|")
    for key in sorted(rows):
        n, xla, own, bound = rows[key]
        print("| %s | %s | %s | %d | %d | %d | %s | %d |" % (*key, n, xla, own, "%.3f" % (own / xla) if xla else "-", bound))
    total = [sum(row[i] for row in rows.values()) for i in range(4)]
    print("| all | | | %d | %d | %d | %.3f | %d |" % (total[0], total[1], total[2], total[2] / total[1], total[3]))


main()
