"""told.py FILE: print what is wrong with the texts of results.

FILE has a JSON object a line: "text", what the program printed of a result, "result", its JSON, and what that
does not hold: "limit", "tokens", "cluster" (reserved, size, fragmentation, sets of steps) and "verbose".  The
text is made anew of the JSON, paragraph by paragraph, and must be the same but for where lines end."""
import json
import math
import re
import sys

SETS = ("activations", "parameters", "gradients", "optimizer", "gathered", "data", "cache", "workspace")
BOUNDS = {"compute": "compute", "memory": "memory bandwidth", "launch": "launching kernels",
          "tiles": "tile quantization", "network": "the network",
          "host": "host transfers and host update", "waiting": "waiting for other devices"}


def scaled(value, base, names):
    i = 0
    while i + 1 < len(names) and value >= base - 0.5:
        value, i = value / base, i + 1
    return "%.*f %s" % (2 if value < 9.995 else 1 if value < 99.95 else 0, value, names[i])


def of_bytes(n):
    return "%d B" % n if n < 1024 else scaled(n / 1024, 1024, "KiB MiB GiB TiB PiB EiB".split())


def of_count(n):
    return "%d" % n if n < 1000 else scaled(n / 1000, 1000, "k M G T P E".split())


def of_seconds(s):
    return "0 s" if s == 0 else scaled(s * 1e9, 1000, "ns us ms s".split())


def of_rate(r):
    return scaled(r, 1000, "B/s kB/s MB/s GB/s TB/s".split())


def exact_bytes(n):
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    i = max(i for i in range(6) if n % 1024 ** i == 0)
    return "%d%s" % (n // 1024 ** i, units[i])


def plural(n, word):
    return "%d %s%s" % (n, word, "" if n == 1 else "s")


def head(r, case):
    name = r["scenario"] + ("" if r["strategy"] == "default" else ": " + r["strategy"])
    mesh = ", ".join("%s=%d" % tuple(axis) for axis in r["mesh"])
    yield "%s %s WORDS mesh %s: %s" % (
        name, "planned" if r["mode"] == "plan" else "executed", mesh, plural(r["devices"], "device"))
    for axis in r["work"]["axes"]:
        if axis["cuts_nothing"] and axis["repeated"] >= 0.0005:
            yield ("redundant axis %s shards no computation: the work is replicated on its %d devices; shard "
                   "the batch over it for data parallelism (axes: {batch: %s}), or parameters for tensor "
                   "parallelism (params)" % (axis["axis"], axis["times"], axis["axis"]))


def modelled_memory(r, m, case):
    cluster, limit = case["cluster"], case["limit"]
    peak = r["balance"]["peak_memory"]["max"]
    need, size = int(m["memory_bytes"]), cluster["size"]
    if limit and peak * size > m["memory_bytes"] * limit:
        yield ("memory %s of %s: %s limits.memory is the limit: with the runtime's it is %s of the device's %s"
               % (of_bytes(peak), of_bytes(limit), "fits" if peak <= limit else "does not fit",
                  of_bytes(need), of_bytes(size)))
    else:
        yield "memory %s of %s, including the runtime's: %s" % (
            of_bytes(need), of_bytes(size), "fits" if m["memory_bytes"] <= size else "does not fit")
        if limit:
            yield "the device is the limit, not limits.memory, " + of_bytes(limit)
    part = m["memory_bytes"] / size
    if not cluster["fragmentation"] and 0.9 < part <= 1:
        yield "%.0f %% of it: fragmentation of the allocator is not counted" % (100 * part)


def trust(r, case):
    """Of the sets that have most of what the step has, that of the most rows."""
    sets, n = case["cluster"]["sets"], r["memory"]["breakdown"]["parameters"]["model"]
    if not sets:
        return "trust not validated: no measured steps of this cluster"
    served = {None: [], "prefill": ["prefill"], "decode": ["decoding"]}[r.get("serving", {}).get("step")]

    def beyond(s): # no set of the test's clusters is of serving
        return served + [what for what, x, least, most in (
            ("the model's size", n, "parameters_least", "parameters_most"),
            ("the number of devices", r["devices"], "devices_least", "devices_most")) if not s[least] <= x <= s[most]]

    best = min(sets, key=lambda s: (len(beyond(s)), -s["rows"]))
    if beyond(best):
        return "trust extrapolated: %s; accuracy unknown" % ", ".join(beyond(best))
    if best["rows"] < 4:
        return ("trust accuracy unknown: only %d similar measured step%s of '%s', %.1f %% error"
                % (best["rows"], "" if best["rows"] == 1 else "s", best["set"], 100 * best["mape"]))
    return ("trust expected error at most %.1f %%, in nine of ten cases: %d similar measured steps of '%s', "
            "cross-validated" % (100 * best["error"], best["rows"], best["set"]))


def straggler(m):
    s = m["straggler"]
    words = []
    if s["compute"] != 1:
        words.append("computes %.4g times as long" % s["compute"])
    if s["links"] != 1:
        words.append("transfers take %.4g times as long" % s["links"])
    joined = ", its ".join(words)
    between = " " if s["compute"] != 1 else "'s "
    return "straggler device %d%s%s: %+.1f %% on the %s without it" % (
        s["device"], between, joined, 100 * (m["step_seconds"] / s["step_seconds_without"] - 1),
        of_seconds(s["step_seconds_without"]))


def bound(m):
    return "bound by %s (%.0f %% of the step)" % (BOUNDS[m["bound_by"]], 100 * m["bound_share"])


def serving(r, case):
    s, m, f = r.get("serving"), r["time"].get("modelled"), r["figures"]
    if not s:
        return
    sequences, fit = s["sequences"], f.get("sequences_that_fit")
    if m:
        step, new = m["step_seconds"], 1 if s["step"] == "decode" else s["tokens_of_each"]
        tokens = sequences * new / step
        what = ("%s per token" if s["step"] == "decode" else
                plural(sequences, "prompt") + " take" + "s" * (sequences == 1) + " %s") % of_seconds(step)
        yield "serving %s: %.0f tokens/s%s, %.1f per device" % (
            what, tokens, " of " + plural(sequences, "sequence") if new == 1 else "",
            tokens / r["devices"])
        yield "%s; MBU %.0f %%" % (bound(m), 100 * m["mbu"])
    else:
        yield "serving %s; 'shardsim plan -s hardware=h100-sxm' models the time per token" % plural(sequences, "sequence")
    if fit is not None:
        yield "sequences %s of %d tokens fit%s in the devices' memory beside the weights" % (
            fit or "no sequence", s["tokens_of_each"], "" if fit else "s")
    yield "cache %s on each device, %s in all; %s a token" % tuple(
        of_bytes(f[k]) for k in ("cache_bytes_most", "cache_bytes", "cache_bytes_per_token"))


def modelled(r, case):
    m = r["time"].get("modelled")
    if not m:
        return
    step = m["step_seconds"]

    def part(name, seconds):
        return "%s %s, %.1f %%" % (name, of_seconds(seconds), 100 * seconds / step)

    yield "modelled %s a step on %s" % (of_seconds(step), m["hardware"]) + (
        "" if "serving" in r else ": %.0f tokens/s; MFU %.1f %%%s; HFU %.1f %%" % (
            case["tokens"] / step, 100 * m["mfu_causal_half"],
            ", causal attention counted half (in full %.1f %%)" % (100 * m["mfu"]) if m["mfu_causal_half"] < m["mfu"] else "",
            100 * m["hfu"]))
    if "serving" not in r:
        yield bound(m)
    yield part("compute", m["compute_seconds"]) + ": " + ", ".join(
        "%s %s" % (name, of_seconds(m[key + "_seconds"]))
        for name, key in (("matmuls", "matmul"), ("attention",) * 2, ("elementwise",) * 2))
    if m["again_seconds"]:
        yield "of which %s recomputation" % of_seconds(m["again_seconds"])
    axes = ", ".join("%s %s" % (a, of_seconds(s)) for a, s in m["exposed_by_axes"].items())
    hidden = m["hidden_communication_seconds"]
    yield (part("exposed", m["exposed_communication_seconds"]) + (": " + axes if axes else "") +
           ("; %s more hidden" % of_seconds(hidden) if hidden else ""))
    if m["waiting_seconds"]:
        yield part("waiting", m["waiting_seconds"]) + " for other devices" + (
            ", including the bubble; on the busiest device" if "pipeline" in r else "")
    if m["update_seconds"]:
        yield part("update", m["update_seconds"])
    if "straggler" in m:
        yield straggler(m)
    yield from modelled_memory(r, m, case)
    yield trust(r, case)


def folded(r, case):
    """Rows of the table: what is alike in one, unless they are few or all were asked for."""
    rows, folds = r["collectives"], []
    if case["verbose"] or len(rows) <= 12:
        return [[c] for c in rows]
    for c in rows:
        key = [c[k] for k in ("phase", "op", "axes", "groups", "group_size")]
        same = [f for f in folds if f[0] == key]
        if same:
            same[0].append(c)
        else:
            folds.append([key, c])
    return [f[1:] for f in folds]


def collectives(r, case):
    if not r["collectives"]:
        yield "Nothing is communicated."
        return
    yield "collectives operand: bytes on one device; received: in total, count times"
    yield "phase op axes groups count operand received"
    for i, fold in enumerate(folded(r, case)):
        operands = [of_bytes(f([c["operand_bytes"] for c in fold])) for f in (min, max)]
        c = fold[0]
        yield "%d %s %s %s %dx%d %d %s %s" % (
            i + 1, c["phase"], c["op"], ",".join(c["axes"]), c["groups"], c["group_size"],
            sum(c["count"] for c in fold), " to ".join(dict.fromkeys(operands)),
            of_bytes(sum(c["received_bytes"] for c in fold)))
    if len(folded(r, case)) < len(r["collectives"]):
        yield "%d kinds of collectives, folded by phase, op and axes; -v lists all" % len(r["collectives"])


def why(r, case):
    if r["collectives"]:
        yield "why"
    for i, fold in enumerate(folded(r, case)):
        most = max(fold, key=lambda c: c["received_bytes"])
        yield "%d %s%s" % (i + 1, most["why"], "; and %d more like it" % (len(fold) - 1) if len(fold) > 1 else "")


def received(r, case):
    got = r["received_bytes"]
    yield "received %s in total, %d bytes" % (of_bytes(got["total"]), got["total"])
    for key in ("axis", "op", "phase"):
        sums = ", ".join("%s %s" % (name, of_bytes(n)) for name, n in got["by_" + key].items())
        if sums:
            yield "by %s %s" % (key, sums)


def balance(r, case):
    yield "balance mean / max over devices; 1 is even"
    for key, name, form in (("flops", "flops", of_count), ("attention_flops", "attention", of_count),
                            ("expert_flops", "experts", of_count), ("received_bytes", "received", of_bytes),
                            ("sent_bytes", "sent", of_bytes), ("peak_memory", "peak memory", of_bytes)):
        if key not in r["balance"]:
            continue
        b = r["balance"][key]
        yield "%s %.3f %s %s" % (name, b["ratio"], form(b["max"]), "at most, on device %d" % b["slowest"]
                                 if b["ratio"] < 1 else "on every device")
    if "worst_routing_peak_bytes" in r["memory"]:
        worst = r["memory"]["worst_routing_peak_bytes"]
        yield ("unknown" if worst is None else of_bytes(worst)) + (
            " if every expert may get all tokens, as in an execution (moe.routing: learned)")
    if "breakdown" in r["memory"] and "pipeline" not in r:
        kinds = sorted(r["memory"]["by_kind"].items(), key=lambda kind: -kind[1])
        yield "at the peak: " + ", ".join("%s %s" % (k, of_bytes(n)) for k, n in kinds if n)


def stages_of(stages):
    text = ",".join(map(str, stages[:2]))
    return text + ("," if len(stages) == 3 else "...") + str(stages[-1]) if len(stages) > 2 else text


def ranks(r, case):
    if "pipeline" not in r:
        return
    rows = r["memory"]["by_rank"]
    most = max(rows, key=lambda row: row["peak_bytes"])
    yield "ranks of the pipeline, each at its peak; alive: microbatches in flight"
    yield "rank stages alive peak parameters gradients optimizer activations"
    for row in rows:
        if len(rows) > 16 and row not in (rows[0], most, rows[-1]):
            continue
        kinds = " ".join(of_bytes(row["by_kind"][k]) for k in SETS[1:4] + SETS[:1])
        yield "%d %s %d %s %s" % (row["rank"], stages_of(row["stages"]), row["microbatches_alive"],
                                  of_bytes(row["peak_bytes"]), kinds)
    if len(rows) > 16:
        yield "(the first, the last, and the one with most of %d)" % len(rows)
    yield ("bubble %.1f %% of the microbatches' time on average, measured in flops, without transfers" % (100 * r["pipeline"]["bubble"]))


def layers(r, case):
    if case["verbose"] and "modelled" in r["time"]:
        yield "LAYERS"


def attention(r, case):
    told = {}
    for row in r.get("attention", ()):
        steps = len(row.get("steps", ()))
        if row["times_the_mean"] < 1.05 and not steps:
            continue
        words = row["why"]
        if steps and row["lockstep"] * 1.05 > 1:
            words += ", in each of the ring's %d steps, too" % steps
        elif steps:
            words += ("; if all wait for the slowest device in each of the ring's %d steps, %.0f %% of their time is work"
                      % (steps, 100 * row["lockstep"]))
        told.setdefault(words, []).append(row["where"] + (" of each layer" if row["count"] > 1 else ""))
    for i, (words, names) in enumerate(told.items()):
        yield "%s%s: %s" % ("" if i else "attention ", ", ".join(names), words)


def experts(r, case):
    for i, row in enumerate(r.get("experts", ())):
        got, links = row.get("received_bytes"), row.get("links")
        words = "%s%s: %d of %d choices kept, %d dropped%s; %s" % (
            row["where"], " of each layer" if row["count"] > 1 else "", row["choices"] - row["dropped"],
            row["choices"], row["dropped"], " (assumed: the router decides)" if row["assumed"] else "", row["why"])
        assert sum(row["rows_of_experts"]["each"]) == row["choices"] - row["dropped"], row
        assert len(row.get("copies_of", row["rows_of_experts"]["each"])) == len(row["rows_of_experts"]["each"]), row
        if got:
            words += "; at most %s come to device %d, %.1fx the mean of %s" % (
                of_bytes(max(got["each"])), got["most"], got["times_the_mean"], of_bytes(int(got["mean"])))
        if links:
            words += ("; at most %s go from one device to another (%d to %d), %.1fx the mean of these pairs"
                      % (of_bytes(links["most_bytes"]), links["from"], links["to"],
                         links["most_bytes"] / links["mean_bytes"]))
        yield ("" if i else "experts ") + words


def work(r, case):
    w = r["work"]
    yield "work %s flops on all devices, unsharded %s: efficiency %.3f" % (
        of_count(w["done_flops"]), of_count(w["unsharded_flops"]), w["efficiency"])
    if w["efficiency"] > 1:
        yield "(above 1, because smaller shards skip more of the causal mask)"
    yield "model flops %s%s" % (
        of_count(w["model_flops"]),
        "; with causal attention counted half " + of_count(w["model_flops_causal_half"])
        if w["model_flops_causal_half"] < w["model_flops"] else "")
    for a in w["axes"]:
        if a["repeated"] < 0.0005:
            continue
        yield ("axis %s shards nothing: all work is repeated %d times" % (a["axis"], a["times"]) if a["cuts_nothing"]
               else "axis %s does not shard %.1f %% of the work, which is repeated %d times"
               % (a["axis"], 100 * a["repeated"], a["times"]))


def kinds(b):
    yield "at the peak at most" + (" before the update" if b["before_update"] else "")
    columns = [b["at_peak"], b["most"]] + ([b["before_update"]] if b["before_update"] else [])
    for kind in SETS[1:4] + ("cache", "data", "gathered", "activations", "workspace"):
        if b["most"][kind]:
            yield kind + " " + " ".join(of_bytes(c[kind]) if c[kind] else "-" for c in columns)
    sums = [sum(b["at_peak"].values())] + ([sum(b["before_update"].values())] if b["before_update"] else [])
    yield "together " + " ".join(of_bytes(n) for n in sums)


def besides(r, b, case):
    cluster, m = case["cluster"], r["time"].get("modelled")
    if not m:
        return "not included: the runtime's own memory"
    words = "besides: %s that the runtime keeps" % of_bytes(cluster["reserved"])
    if cluster["fragmentation"]:
        words += ", %.0f %% fragmentation" % (100 * cluster["fragmentation"])
    need, size = m["memory_bytes"], cluster["size"]
    assert abs(b["runtime_bytes"] + sum(b["at_peak"].values()) - need) < 2
    if need <= size:
        return words + "; left of %s: %s" % (of_bytes(size), of_bytes(int(size - need)))
    words += "; more than " + of_bytes(size)
    if not case["limit"]:
        room = int((size - cluster["reserved"]) / (1 + cluster["fragmentation"]))
        words += "; -s limits.memory=%s lists what would fit" % exact_bytes(room)
    return words


def breakdown(r, case):
    b = r["memory"].get("breakdown")
    if not b or r["mode"] != "plan":
        return
    yield "breakdown of a device's memory%s; %s of %s parameters" % (
        " of rank %d" % b["rank"] if "pipeline" in r else "", of_count(b["parameters"]["device"]),
        of_count(b["parameters"]["model"]))
    if case["verbose"]:
        yield "the peak is in %s (%s)" % (b["op"], b["phase"])
        yield from kinds(b)
        if b["transfer"]:
            yield "largest transfer: %s read and written, for %s" % (
                of_bytes(b["transfer"]["bytes"]), b["transfer"]["op"])
    elif b["before_update"]:
        states = [(k, b["before_update"][k]) for k in SETS[1:4]]
        yield "states %s: %s%s" % (of_bytes(sum(n for _, n in states)),
                                   ", ".join("%s %s" % (k, of_bytes(n)) for k, n in states if n),
                                   "; of these %s is padding" % of_bytes(b["padding"])
                                   if b["padding"] else "")
    parts = b["activations_at_peak"]
    told = parts if len(parts) <= 5 else parts[:4]
    words = ", ".join("%s %s" % (p["part"], of_bytes(p["bytes"])) for p in told)
    if told != parts:
        words += ", others " + of_bytes(sum(p["bytes"] for p in parts[4:]))
    if parts:
        yield "activations at the peak: " + words
    yield besides(r, b, case)


def memory(r, case):
    limit, fit = case["limit"], r["memory"].get("would_fit")
    if not limit or ("modelled" in r["time"] and not fit):
        return
    peak = r["balance"]["peak_memory"]["max"]
    if "modelled" in r["time"]:
        yield "memory changes that fit limits.memory, " + of_bytes(limit)
    else:
        yield "memory %s of %s: %s" % (of_bytes(peak), of_bytes(limit), "fits" if peak <= limit else "does not fit")
    if fit:
        rows = fit["changes"] or ([fit["least"]] if fit["least"] else [])
        if rows:
            yield "peak received flops " + ("would fit with" if fit["changes"] else "is nearest")
        for c in rows:
            yield "%s %s %s %s" % (of_bytes(c["peak_bytes"]), of_bytes(c["received_bytes"]), of_count(c["flops"]),
                                   " ".join(c["set"]))
        yield "(%s of %s%s)" % ("the smallest changes" if fit["changes"] else "none fits",
                                plural(fit["plans"], "changed plan"),
                                "" if fit["all_planned"] else ", the limit of the search")
        if limit < 1024:
            yield ("the limit is %d bytes (no unit means bytes); was %dGiB meant?" % (limit, limit))


def measured(r, case):
    m = r["time"].get("measured")
    if not m:
        return
    yield "measured %s a step on this machine, whose cores all devices share" % of_seconds(m["step_seconds"])
    if m["repeats"] > 1:
        yield "(median of %d; fastest %s, the first one %s; CPU %s)" % (
            m["repeats"] - 1, of_seconds(m["fastest_step_seconds"]), of_seconds(m["first_step_seconds"]),
            of_seconds(m["cpu_seconds"]))


def replayed(r, case):
    p = r["time"].get("replayed")
    if not p:
        return
    yield "replayed %s a step, with one CPU core per device" % of_seconds(p["step_seconds"])
    yield "transfers at %s, latency %s" % (of_rate(p["transfers"]["bytes_per_second"]),
                                           of_seconds(p["transfers"]["latency_seconds"]))
    yield "equal work has one time, the minimum of %s; spread %s" % (
        plural(p["repeats"], "repeat"), "not known" if p["step_spread"] is None else "%.1f %%" % (100 * p["step_spread"]))
    yield "of each device mean most mean/most most on"
    for key, name in (("busy", "busy"), ("waiting", "waiting"),
                      ("exposed_communication", "exposed communication"), ("idle", "idle at end")):
        each = p["per_device"][key + "_seconds"]
        mean, most = p[key + "_seconds"], max(each)
        assert abs(mean - sum(each) / len(each)) <= 1e-9 * most, key
        yield "%s %s %s %.3f %s" % (name, of_seconds(mean), of_seconds(most), mean / most if most else 1,
                                    "device %d" % each.index(most) if most else "-")
    path = p["critical_path"]
    assert path == sorted(path, key=lambda s: -s["seconds"])
    yield "critical path: %d steps one after another, by share of the time" % sum(s["count"] for s in path)
    for s in path[:6]:
        yield "%s %.0f %% %dx %s %s" % (of_seconds(s["seconds"]), 100 * s["seconds"] / p["step_seconds"], s["count"],
                                        s["op"], s["where"])


def training(r, case):
    t = r.get("training")
    if not t:
        return
    losses, norms = t["losses"], t["grad_norms"]
    words = "loss %.4f" % losses[0]
    if len(losses) > 1:
        words += " -> %.4f over %d steps, the least %.4f" % (losses[-1], len(losses), min(losses))
    yield words + "; norm of all gradients %.4g%s" % (
        norms[0], " -> %.4g" % norms[-1] if len(norms) > 1 else "")


def verified(r, case):
    v = r.get("verify")
    if not v:
        return
    kinds = [v["outputs"], v["gradients"], v.get("state", {})]
    checks = {name: max(k[name] for k in kinds if name in k) for kind in kinds for name in kind}
    steps = len(r.get("training", {}).get("losses", "1"))
    words = "verified ok: %s against the unsharded computation in float64, " % plural(sum(map(len, kinds)), "array")
    if steps > 1:
        words += "after the first of %d steps and after the last, " % steps
    words += "%d ops, each checked on its own inputs; largest error %.2g of its bound (KIND%s[INDEX])" % (
        v["steps"], max(checks.values()), max(checks, key=checks.get))
    off = v.get("relative_errors")
    if off:
        most = max(off, key=lambda name: off[name]["sharded"])
        if steps > 1:
            words += "; after the last step KIND%s is off by %.1e of its largest element" % (most, off[most]["sharded"])
            if v["without_bound"]:
                words += "; %d elements have no bound after the first step, %d after the last" % (
                    v["without_bound_after_first"], v["without_bound"])
    if steps == 1 and v["without_bound"]:
        words += "; %d elements have no bound" % v["without_bound"]
    if off:
        most = max(off, key=lambda name: off[name]["sharded"])
        if "unsharded" in off[most]:
            words += ("; KIND%s is off by %.1e of its largest element, the unsharded step in the same types by %.1e"
                      % (most, off[most]["sharded"], off[most]["unsharded"]))
    yield words


def change(was, now):
    percent = 100 * (now / was - 1) if was else 0
    if was == now:
        return "the same"
    if abs(percent) < 0.05:
        return "about the same" if was else "more than none"
    return "%.*f %% %s" % (1 if abs(percent) < 1 else 0, abs(percent), "less" if percent < 0 else "more")


def placement(r, case):
    s, total = r.get("search"), r["received_bytes"]["total"]
    if s and s["received_bytes"] >= total:
        yield "placement a search for the fewest bytes (placement: search) finds nothing better"
    elif s:
        yield ("placement a search for the fewest bytes (placement: search) would receive %s, not %s (%s); peak "
               "memory would be %s, work %s"
               % (of_bytes(s["received_bytes"]), of_bytes(total), change(total, s["received_bytes"]),
                  change(r["balance"]["peak_memory"]["max"], s["peak_bytes"]),
                  change(r["work"]["done_flops"], s["flops"])))


PARAGRAPHS = (head, serving, modelled, collectives, why, received, balance, ranks, layers, attention, experts, work,
              breakdown, memory, measured, replayed, training, verified, placement)


def seconds_of(text):
    value, unit = text.split()
    return float(value) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def check_layers(paragraph, r):
    """Rows sum to the total, within three digits; the bound of a row is its largest part."""
    time, m = r"([0-9.]+ [mun]?s)", r["time"]["modelled"]
    rows = re.findall(r"(\S+) +%s +%s +%s +%s +%s +%s +([0-9.]+) %% +(\w+)$" % ((time,) * 6), paragraph, re.M)
    assert len(rows) == paragraph.count("\n") - 1 > 2, paragraph
    shares = []
    for name, *times, share, what in rows:
        parts = [seconds_of(t) for t in times[:5]]
        if name == "optimizer":  # the optimizer's kernels are bound by the bytes that they touch
            assert parts[0] == 0 and times[1] == of_seconds(m["update_seconds"]), paragraph
        assert abs(sum(parts) - float(share) / 100 * m["step_seconds"]) <= 0.006 * sum(parts) + 6e-4 * m["step_seconds"]
        assert parts[("compute", "memory", "launch", "tiles", "network").index(what)] == max(parts), paragraph
        shares.append(float(share))
    assert shares == sorted(shares, reverse=True), shares
    whole = 100 * (1 - m["waiting_seconds"] / m["step_seconds"])
    assert abs(sum(shares) - whole) < 0.06 * len(shares), (shares, whole)


def check(case):
    r = case["result"]
    want = [" ".join(p(r, case)) for p in PARAGRAPHS]
    want = [w for w in want if w]
    found = [p for p in case["text"].strip("\n").split("\n\n")]
    assert max(len(line) for line in case["text"].split("\n")) <= 132
    for w, f in zip(want, found):
        if w == "LAYERS":
            check_layers(f, r)
            continue
        pattern = re.escape(w).replace("WORDS", ".*").replace("KIND", "(result |gradient of |next |)")
        pattern = pattern.replace(re.escape("[INDEX]"), r"\[[\d,]*\]")
        got = " ".join(f.split())
        if not re.fullmatch(pattern, got):
            at = next((i for i in range(len(got)) if not got.startswith(w[:i])), len(got))
            raise AssertionError("%s: expected\n%s\nnot (from %r on)\n%s" % (
                r["strategy"], w, got[max(at - 9, 0):at + 9], got))
    assert len(want) == len(found), (r["strategy"], [w[:12] for w in want], [f[:12] for f in found])


wrong = 0
with open(sys.argv[1], encoding="utf-8") as file:
    cases = [json.loads(line) for line in file]
assert cases
for one in cases:
    try:
        check(one)
    except AssertionError as fault:
        print(fault)
        wrong += 1
sys.exit(wrong > 0)
