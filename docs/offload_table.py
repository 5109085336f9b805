#!/usr/bin/env python3
"""The table of docs/offload.md, from the JSON of 'shardsim plan --json docs/offload.yaml' on standard input.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

GIB = 2**30
print("| strategy | memory of a device | of the node | to host | from host | step | exposed: network | host |")
print("|---|---|---|---|---|---|---|---|")
for strategy in json.load(sys.stdin):
    f = strategy["figures"]
    gib = [
        f["modelled_memory_bytes"],
        f.get("modelled_host_memory_bytes", 0),
        f.get("to_host_bytes_most", 0),
        f.get("from_host_bytes_most", 0),
    ]
    seconds = [
        f["modelled_step_seconds"],
        f["modelled_exposed_communication_seconds"],
        f.get("modelled_exposed_host_seconds", 0),
    ]
    cells = [strategy["strategy"]] + ["%.1f GiB" % (b / GIB) for b in gib] + ["%.1f s" % s for s in seconds]
    if not strategy["time"]["modelled"]["fits"]:
        cells[0] += " (does not fit)"
    print("| " + " | ".join(cells) + " |")
