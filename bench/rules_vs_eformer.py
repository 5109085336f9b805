#!/usr/bin/env python3
"""rules_vs_eformer.py LIBSHD [-o FILE] - time match_partition_rules of libshd and of the original.

LIBSHD is libshd.so (build/.libs/libshd.so); the table goes to FILE too.  The original is eformer's own
function if eformer can be imported (pip install eformer "jax[cpu]"), else the loop of its documentation over
Python's re; the table says which.  Both match the same names to the same rules, in turns, and must agree.
The patterns are compiled before ("warm") or within ("cold") the measured time; the specs are existing objects
on both sides.  The C side is called through ctypes, whose cost is included.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import platform
import re
import statistics
import time

ROUNDS = 15
F32 = 0


def original():
    """The function, and what it is."""
    try:
        import eformer
        import jax
        from eformer.escale import match_partition_rules
        from jax.sharding import PartitionSpec

        def prepare(rules, params):
            tree = {n: jax.ShapeDtypeStruct(s, "float32") for n, s in params}
            specs = [(p, PartitionSpec(*[tuple(e) if isinstance(e, list) else e for e in s]))
                     for p, s in rules]
            return lambda: match_partition_rules(specs, tree, min_size=0)

        return prepare, "eformer " + getattr(eformer, "__version__", "?")
    except ImportError:
        def prepare(rules, params):
            def run():
                out = {}
                for name, shape in params:
                    size = 1
                    for d in shape:
                        size *= d
                    for pattern, spec in rules:
                        if re.search(pattern, name) is not None:
                            out[name] = spec[:len(shape)]
                            break
                    else:
                        raise ValueError(name)
                return out
            return run

        return prepare, "the documented loop over re (eformer is not installed)"


class Leaf(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_size_t),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("axes", ctypes.c_void_p)]


class Match(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_size_t), ("spec", ctypes.c_void_p), ("nentries", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("min_elements", ctypes.c_int64), ("strict", ctypes.c_bool)]


def check(status):
    if status:
        raise SystemExit(f"libshd: status {status}")


class Ours:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("rules", "tree", "spec", "mesh"):
            getattr(self.lib, f"shd_{name}_destroy").argtypes = [ctypes.c_void_p]
        self.lib.shd_rules_match.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p,
                                             ctypes.c_void_p]

    def new(self, name, *args):
        out = ctypes.c_void_p()
        check(getattr(self.lib, name)(ctypes.byref(out), *args, None))
        return out

    def specs(self, rules):
        """Patterns and specs as C literals; free the specs."""
        return [(pattern.encode(), self.new("shd_spec_parse", repr(
            tuple(tuple(e) if isinstance(e, list) else e for e in spec)).encode()))
                for pattern, spec in rules]

    def rules(self, specs):
        handle = self.new("shd_rules_create")
        for pattern, spec in specs:
            check(self.lib.shd_rules_add(handle, pattern, spec, None))
        return handle

    def tree(self, params):
        handle = self.new("shd_tree_create")
        for name, shape in params:
            extents = (ctypes.c_int64 * len(shape))(*shape)
            leaf = Leaf(name.encode(), F32, len(shape), extents, None)
            check(self.lib.shd_tree_add(handle, ctypes.byref(leaf), None))
        return handle

    def match(self, rules, tree, out, options):
        check(self.lib.shd_match_tree(out, rules, tree, ctypes.byref(options), None))

    def matcher(self, rules, tree, n):
        out, options = (Match * n)(), Options(0, False)
        return lambda: (self.match(rules, tree, out, options), out)[1]


def timed(fn):
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def llama():
    """Llama 3 8B, by names and shapes as in a Flax tree."""
    params = [("model/embed_tokens/embedding", (128256, 4096))]
    for i in range(32):
        layer = f"model/layers/{i}/"
        params += [(layer + "self_attn/q_proj/kernel", (4096, 4096)),
                   (layer + "self_attn/k_proj/kernel", (4096, 1024)),
                   (layer + "self_attn/v_proj/kernel", (4096, 1024)),
                   (layer + "self_attn/o_proj/kernel", (4096, 4096)),
                   (layer + "mlp/gate_proj/kernel", (4096, 14336)),
                   (layer + "mlp/up_proj/kernel", (4096, 14336)),
                   (layer + "mlp/down_proj/kernel", (14336, 4096)),
                   (layer + "input_layernorm/kernel", (4096,)),
                   (layer + "post_attention_layernorm/kernel", (4096,))]
    return params + [("model/norm/kernel", (4096,)), ("lm_head/kernel", (4096, 128256))]


LLAMA_RULES = [
    ("model/embed_tokens/embedding", ["tp", ["fsdp", "sp"]]),
    ("self_attn/(q_proj|k_proj|v_proj)/kernel", [["fsdp", "sp"], "tp"]),
    ("self_attn/o_proj/kernel", ["tp", ["fsdp", "sp"]]),
    ("mlp/gate_proj/kernel", [["fsdp", "sp"], "tp"]),
    ("mlp/down_proj/kernel", ["tp", ["fsdp", "sp"]]),
    ("mlp/up_proj/kernel", [["fsdp", "sp"], "tp"]),
    ("input_layernorm/kernel", [None]),
    ("post_attention_layernorm/kernel", [None]),
    ("model/norm/kernel", [None]),
    ("lm_head/kernel", [["fsdp", "sp"], "tp"]),
    (".*", [["fsdp", "sp"]]),
]


def large():
    """10,000 parameters; most rules are tried in vain for most names."""
    rules = [(f"block_{i}_(query|key)/kernel$", ["dp", "tp"]) for i in range(49)] + [(".*", [])]
    params = [(f"model/layers/{i // 10}/block_{i % 60}_query/kernel", (256, 256))
              for i in range(10000)]
    return rules, params


def compare(ours, prepare, what, rules, params, say):
    theirs = prepare(rules, params)
    given = ours.specs(rules)
    tree, handle = ours.tree(params), ours.rules(given)
    match = ours.matcher(handle, tree, len(params))
    specs = theirs()
    for (name, shape), found in zip(params, match()):
        want = [tuple(e) if isinstance(e, (list, tuple)) else e for e in specs[name]]
        have = [tuple(e) if isinstance(e, list) else e for e in rules[found.rule][1]][:len(shape)]
        if want != have:
            raise SystemExit(f"{name}: {want} there, {have} here")
    warm, cold = ([], []), ([], [])
    for _ in range(ROUNDS):  # both sides take turns
        warm[0].append(timed(theirs))
        warm[1].append(timed(match))
        re.purge()
        cold[0].append(timed(theirs))

        def fresh():
            made = ours.rules(given)
            ours.matcher(made, tree, len(params))()
            ours.lib.shd_rules_destroy(made)
        cold[1].append(timed(fresh))
    for kind, (a, b) in (("warm", warm), ("cold", cold)):
        x, y = statistics.median(a), statistics.median(b)
        say(f"| {what}, {kind} | {x * 1e3:.3f} | {y * 1e3:.3f} | {x / y:.0f} |")
    for _, spec in given:
        ours.lib.shd_spec_destroy(spec)
    ours.lib.shd_rules_destroy(handle)
    ours.lib.shd_tree_destroy(tree)


def rss_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


def million(ours, say):
    """Time and memory to find one array's shard on a mesh of a million devices."""
    names = (ctypes.c_char_p * 2)(b"dp", b"tp")
    sizes = (ctypes.c_int32 * 2)(1000, 1000)
    sharding = ctypes.create_string_buffer(4096)
    groups = ctypes.create_string_buffer(4096)
    shape, offset = (ctypes.c_int64 * 2)(4000, 8000), (ctypes.c_int64 * 2)()
    axes = (ctypes.c_uint8 * 1)(1)
    spec = ours.new("shd_spec_parse", b"[dp, tp]")
    before, start = rss_kib(), time.perf_counter()
    mesh = ours.new("shd_mesh_create", names, sizes, 2)
    check(ours.lib.shd_sharding_bind(sharding, mesh, spec, 2, None))
    ours.lib.shd_sharding_offset(sharding, shape, 777777, offset)
    check(ours.lib.shd_groups_init(groups, mesh, axes, 1, None))
    seconds, grown = time.perf_counter() - start, rss_kib() - before
    assert list(offset) == [777 * 4, 777 * 8]
    say(f"\nA mesh of 1000 x 1000 devices, its 1000 groups along tp, and the shard of device "
        f"777777: {seconds * 1e6:.0f} us, {grown} KiB more memory.")
    ours.lib.shd_mesh_destroy(mesh)
    ours.lib.shd_spec_destroy(spec)


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libshd", help="libshd.so")
    parser.add_argument("-o", "--output", help="keep the table in this file")
    args = parser.parse_args()
    lines = []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    ours = Ours(args.libshd)
    prepare, what = original()
    say("# Rules matched to names, beside eformer\n")
    say("`python3 bench/rules_vs_eformer.py build/.libs/libshd.so -o FILE`; "
        f"{processor()}, Python {platform.python_version()}.\n"
        f"Original: {what}. Medians of {ROUNDS} rounds, in milliseconds; cold: patterns are compiled "
        "within the time.\n")
    say("| rules to names | original | libshd | times as fast |")
    say("|---|--:|--:|--:|")
    compare(ours, prepare, "Llama 3 8B: 291 names, 11 rules", LLAMA_RULES, llama(), say)
    rules, params = large()
    compare(ours, prepare, "10,000 names, 50 rules", rules, params, say)
    million(ours, say)
    if args.output:
        with open(args.output, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
