"""random_draw.py - scenarios drawn option by option: what a row of a table says is drawn.

A row is (option, chance, values): the chance that a scenario has the option, and its values, a list of which one is
drawn or a function of the Draw.  Options that the kind of model lacks are not drawn; which kinds have one the program
says (`show options`).  Mesh axes get roles first, so that sizes, rules and orders are made to fit each other.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess

NAMES = ["dp", "fsdp", "tp", "sp", "cp", "ep", "node"]  # of axes, whatever they are used for
ROLES = ["batch", "batch", "batch", "tensor", "tensor", "sequence", "expert"]
SCHEDULES = {"GPipe": 1, "1F1B": 1, "Interleaved1F1B": 2, "LoopedBFS": 2, "ZBH1": 1, "InterleavedZeroBubble": 2,
             "ZBVZeroBubble": 2, "DualPipeV": 2}  # and the stages of a rank
SKIP = object()  # a value that is not drawn after all


def product(numbers):
    n = 1
    for number in numbers:
        n *= number
    return n


def some(rng, chance, make):
    """A part of an option's map, or nothing of it."""
    return make() if rng.random() < chance else {}


def mesh_of(rng, names, most=8):
    """A mesh of at most so many devices."""
    mesh = {name: rng.choice([1, 2, 2, 2, 4]) for name in rng.sample(names, rng.choice([1, 2, 2, 3]))}
    while product(mesh.values()) > most:
        mesh[max(mesh, key=mesh.get)] //= 2
    return mesh


def options_of(program):
    """The options of scenarios as {option: kinds of models that have it; None: all}, from `show options`."""
    text = subprocess.run([program, "show", "options"], capture_output=True, text=True, check=True).stdout
    options = {}
    all_kinds = set(re.findall(r"\w+", re.search(r"^model.kind: one of ([^;]*)", text, re.M).group(1)))
    for option, told in re.findall(r"^([a-z_.]+):((?:.|\n(?=    [^A-Z]))*)", text, re.M):
        kinds = re.search(r"(not\s+)?for\s+models((?:,?\s+\w+\b(?!;? with))+)", told)
        named = set(re.findall(r"\w+", kinds.group(2))) if kinds else None
        options[option] = all_kinds - named if kinds and kinds.group(1) else named
    return options


def options_in(scenario, options):
    """Those of the options that a scenario, a strategy of a file, has."""
    keys = {f"{key}.{inner}" for key, value in scenario.items() if isinstance(value, dict) for inner in value}
    return (keys | set(scenario)) & set(options)


class Draw:
    """A scenario that grows by rows."""

    def __init__(self, rng, name, kind, options):
        self.rng, self.kind, self.options = rng, kind, options
        self.out = {"name": name, "mesh": {}, "model": {"kind": kind}}
        self.roles = {}  # role: its axes, the outermost first
        self.stages = 1

    def chance(self, part):
        return self.rng.random() < part

    def choice(self, values):
        return self.rng.choice(values)

    def get(self, option, otherwise=None):
        section, _, key = option.rpartition(".")
        return (self.out.get(section, {}) if section else self.out).get(key, otherwise)

    def put(self, option, value):
        section, _, key = option.rpartition(".")
        (self.out.setdefault(section, {}) if section else self.out)[key] = value

    def take(self, rows):
        for option, chance, values in rows:
            kinds = self.options[option]
            if (kinds is None or self.kind in kinds) and self.chance(chance):
                value = values(self) if callable(values) else self.choice(values)
                if value is not SKIP:
                    self.put(option, value)

    def axes(self, *roles):
        """The axes that have one of the roles, in the order of the mesh."""
        return [axis for axis in self.out["mesh"] if any(axis in self.roles.get(role, []) for role in roles)]

    def size(self, *roles):
        return product(self.out["mesh"][axis] for axis in self.axes(*roles))

    def some(self, values):
        """Some of the values, at least one; SKIP of none."""
        return self.rng.sample(values, self.rng.randint(1, len(values))) if values else SKIP

    def one_or_list(self, axes):
        return axes[0] if len(axes) == 1 and self.chance(0.5) else axes

    def draw_mesh(self, pipelined):
        """A mesh of at most twelve devices, each axis with a role, and stages of a pipeline over two or four."""
        mesh = mesh_of(self.rng, NAMES, self.choice([2, 4, 4] if pipelined else [4, 4, 8]))
        if len(mesh) < 3 and self.chance(0.1):
            mesh[self.choice(list(mesh))] = 3
        names = list(mesh)
        for name in names:
            self.roles.setdefault(self.choice(ROLES), []).append(name)
        if pipelined:
            names.insert(self.rng.randint(0, len(names)), "pp")
            mesh["pp"] = 2 if self.chance(0.9) or product(mesh.values()) > 2 else 4
            self.roles["stage"] = ["pp"]
        self.out["mesh"] = {name: mesh[name] for name in names}
        for role, axes in self.roles.items():
            self.roles[role] = [name for name in names if name in axes]


def spec(rng, mesh, rank):
    """A spec of a rank that may have any axis anywhere."""
    free = list(mesh)
    rng.shuffle(free)
    return [free.pop() if free and rng.random() < 0.4 else None for _ in range(rank)]
