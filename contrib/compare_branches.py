"""compare_branches.py BASE HEAD [FOLDER]: print the changes between two checkouts as Markdown.

Plans every scenario and launch script of FOLDER (scenarios) in both with `shardsim compare --plan`, scripts with
what `shardsim check` was given for them (results/baselines), and prints first what
no longer fits the memory, then the figures that differ, the worst first.  Files are chosen as
`shardsim check` does.  A strategy that cannot be planned is listed with its error; it does not hide
the others.  contrib/github-actions.yml makes a comment of it.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

# A column of compare's CSV, its meaning, and its unit.
FIGURES = [("received_bytes", "total received", "B"),
           ("peak_memory_bytes_most", "peak memory of a device", "B"),
           ("modelled_memory_bytes", "modelled memory of a device", "B"),
           ("modelled_step_seconds", "modelled step", "s"),
           ("flops_most", "flops of a device", "flop"),
           ("collectives", "collectives", "")]


OTHERS = ("hardware", "models")  # folders of files that scenarios name
DEPTH_MAX = 15


# What the text of a job has, and the system whose job it is then, the first that fits.
SYSTEMS = [(r"(?m)^\s*\[(training|parallelism)\]", "torchtitan"), (r"\bsglang\b", "sglang"),
           (r"\bvllm\b", "vllm"), (r"\bpretrain_\w+\.py\b", "megatron")]
SCRIPT_BYTES_MAX = 1 << 20


def system_of(path):
    """The system whose job a file is; None: it is none."""
    if path.endswith((".yaml", ".yml")) or not os.path.isfile(path) or os.path.getsize(path) > SCRIPT_BYTES_MAX:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return next((system for pattern, system in SYSTEMS if re.search(pattern, text)), None)


def words_of(root, path):
    """What `shardsim check` was given for a script, from its baseline: options of import, and the cluster."""
    try:
        with open(os.path.join(root, "results", "baselines", path + ".yaml"), encoding="utf-8") as file:
            found = re.search(r"(?m)^read_with:\n((?:  - .*\n)*)", file.read())
    except OSError:
        return [], []
    words = [line.strip()[2:].strip("'\"") for line in found[1].splitlines()] if found else []
    return (["--" + word for word in words if not word.startswith("hardware=")],
            ["--set=" + word for word in words if word.startswith("hardware=")])


def scenarios(root, folder):
    """Paths of scenarios and jobs below a folder, from the root; none without the folder."""
    found, top = [], os.path.join(root, folder)
    for at, folders, names in os.walk(top, followlinks=True):
        depth = os.path.relpath(at, top).count(os.sep)  # the limit ends the walk through a link to a parent folder
        folders[:] = [f for f in folders
                      if f not in OTHERS and not f.startswith(".") and depth < DEPTH_MAX]
        found += [os.path.relpath(os.path.join(at, name), root) for name in names
                  if not name.startswith(".") and
                  (name.endswith((".yaml", ".yml")) or system_of(os.path.join(at, name)))]
    return sorted(found)


def shardsim(root, *arguments):
    """The program's output, and the first line of its errors."""
    done = subprocess.run(["shardsim", *arguments], cwd=root, capture_output=True, text=True,
                          check=False)
    wrong = done.stderr.strip().splitlines()
    return done.stdout, wrong[0] if wrong else f"shardsim ended with status {done.returncode}"


def plan_script(root, path, system):
    """The same of a job of another system, read as `shardsim check` reads it."""
    words, sets = words_of(root, path)
    with tempfile.TemporaryDirectory() as folder:
        scenario = os.path.join(folder, "job.yaml")
        _, wrong = shardsim(root, "import", "--allow-unknown", f"--from={system}", *words, "-o", scenario, path)
        if not os.path.exists(scenario):
            return {}, wrong
        out, wrong = shardsim(root, "compare", "--quiet", "--plan", "--format=csv", *sets, scenario)
    rows = {(path, row["strategy"]): row for row in csv.DictReader(out.splitlines())}
    return rows, None if rows else wrong


def plan(root, path, *strategy):
    """{(path, strategy): figures}, and the first line of why there are none."""
    system = system_of(os.path.join(root, path))
    if system:
        return plan_script(root, path, system)
    out, wrong = shardsim(root, "compare", "--quiet", "--plan", "--format=csv", *strategy, path)
    rows = {(path, row["strategy"]): row for row in csv.DictReader(out.splitlines())}
    return rows, None if rows else wrong


def plan_each(root, path):
    """The same of a file with errors, strategy by strategy: rows, and {(path, strategy): error}."""
    rows, wrong = {}, {}
    for strategy in shardsim(root, "show", "strategies", path)[0].splitlines():
        more, error = plan(root, path, f"--strategy={strategy}")
        rows.update(more)
        if error:
            wrong[(path, strategy)] = error
    return rows, wrong


def plan_all(root, folder):
    """Rows of all scenarios, and {layout: error} of those that have none."""
    rows, wrong = {}, {}
    for path in scenarios(root, folder):
        more, error = plan(root, path)
        if error and not system_of(os.path.join(root, path)):
            more, errors = plan_each(root, path)
            wrong.update(errors if more else {(path, "default"): error})
        elif error:
            wrong[(path, "default")] = error
        rows.update(more)
    return rows, wrong


def fits(row):
    """Whether a layout fits limits.memory and the cluster's memory; without limits it fits."""
    return row.get("fits") != "NO"


def shown(value, unit):
    """A figure for people: 1.50 MiB, 12.3 ms, 1.94 Mflop."""
    if unit == "B":
        steps, names = 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    elif unit == "s":
        value, steps, names = value * 1e9, 1000, ("ns", "us", "ms", "s")
    elif unit:
        steps, names = 1000, tuple(p + unit for p in ("", "k", "M", "G", "T", "P", "E"))
    else:
        return f"{value:g}"
    power = 0
    while value >= steps and power + 1 < len(names):
        value, power = value / steps, power + 1
    return f"{value:.3g} {names[power]}" if value < 1000 else f"{value:.0f} {names[power]}"


def changes(base, head):
    """(how much more, layout, what, was, now) of figures that differ, the largest increase first."""
    found = []
    for layout in base.keys() & head.keys():
        for key, what, unit in FIGURES:
            was, now = base[layout].get(key) or "", head[layout].get(key) or ""
            if was == now or not was or not now:
                continue
            was, now = float(was), float(now)
            more = now / was - 1 if was else float("inf")
            found.append((more, layout, what, shown(was, unit), shown(now, unit)))
    return sorted(found, key=lambda c: (-c[0], c[1], c[2]))


def name(layout):
    path, strategy = layout
    return f"`{path}`" if strategy == "default" else f"`{path}`, {strategy}"


def verdict(found, both):
    """The answer in a sentence; `both`: how many layouts there are on both sides."""
    if both == 0:
        return "Nothing to compare: no scenario can be planned on both branches."
    worse = {c[1] for c in found if c[0] > 0}
    better = {c[1] for c in found} - worse
    if not found:
        return "Bytes, memory, flops and collectives are the same."
    said = []
    if worse:
        most = found[0]
        said.append(f"{len(worse)} layout{'s' * (len(worse) > 1)} got worse in a figure; the most is "
                    f"{most[2]} of {name(most[1])}: {most[4]}, was {most[3]}")
    if better:
        said.append(f"{len(better)} layout{'s' * (len(better) > 1)} got better")
    return "; ".join(said) + "."


def needs(layout, row):
    """A layout, and the memory that it needs beyond the limit."""
    bytes_needed = max(float(row.get(key) or 0)
                       for key in ("peak_memory_bytes_most", "modelled_memory_bytes"))
    return f"{name(layout)} ({shown(bytes_needed, 'B')} a device)"


def fit_lines(base, head):
    """What does not fit, before all else."""
    over = sorted(layout for layout, row in head.items() if not fits(row))
    new = [layout for layout in over if layout not in base]
    kinds = [("**No longer fits**", [n for n in over if n in base and fits(base[n])]),
             ("**New, does not fit**", new),
             ("Does not fit, nor on the base branch", [n for n in over if n in base
                                                       and not fits(base[n])])]
    lines = []
    for what, layouts in kinds:
        if layouts:
            lines += [f"{what}: " + "; ".join(needs(n, head[n]) for n in layouts) + ".", ""]
    mended = sorted(n for n in base.keys() & head.keys() if not fits(base[n]) and fits(head[n]))
    if mended:
        lines += ["Fits now: " + "; ".join(name(n) for n in mended) + ".", ""]
    return lines


def report(base, head, wrong_base, wrong_head):
    found = changes(base, head)
    lines = ["### Layouts, beside the base branch", "", *fit_lines(base, head),
             verdict(found, len(base.keys() & head.keys()))]
    if found:
        lines += ["", "| scenario | | base | now | |", "|---|---|--:|--:|--:|"]
        lines += [f"| {name(layout)} | {what} | {was} | {now} | "
                  f"{'from 0' if more == float('inf') else f'{100 * more:+.1f} %'} |"
                  for more, layout, what, was, now in found]
    for what, rows, others, wrong in (("New", head, base, wrong_base),
                                      ("Gone", base, head, wrong_head)):
        # A strategy or file that cannot be planned is in the list below instead.
        names = [n for n in rows.keys() - others.keys()
                 if n not in wrong and (n[0], "default") not in wrong]
        if names:
            lines += ["", f"{what}: " + "; ".join(name(n) for n in sorted(names)) + "."]
    if wrong_head:
        lines += ["", "Cannot be planned:", ""]
        lines += [f"- {name(layout)}{' (nor on the base branch)' * (layout in wrong_base)}: "
                  f"`{error}`" for layout, error in sorted(wrong_head.items())]
    mended = sorted(layout for layout in wrong_base if layout in head or
                    (layout[1] == "default" and any(path == layout[0] for path, _ in head)))
    if mended:
        lines += ["", "Can be planned now, and could not before: "
                  + ", ".join(name(layout) for layout in mended) + "."]
    return "\n".join(lines)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: compare_branches.py BASE HEAD [FOLDER]")
    if not shutil.which("shardsim"):
        sys.exit("compare_branches.py: shardsim is not in PATH; add the folder it was built in")
    for root in sys.argv[1:3]:
        if not os.path.isdir(root):
            sys.exit(f"compare_branches.py: there is no folder '{root}'; expected two checkouts")
    folder = sys.argv[3] if len(sys.argv) == 4 else "scenarios"
    base, wrong_base = plan_all(sys.argv[1], folder)
    head, wrong_head = plan_all(sys.argv[2], folder)
    print(report(base, head, wrong_base, wrong_head))


if __name__ == "__main__":
    main()
