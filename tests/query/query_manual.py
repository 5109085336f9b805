#!/usr/bin/env python3
"""Hold what is told of the ops of `shardsim query` to what they do.

usage: query_manual.py CHECK NAMES TOLD TOP_SRCDIR COMMAND...

NAMES is what `query --list` prints, TOLD what it prints with all these names, COMMAND answers
questions.  Prints what is wrong.

SPDX-License-Identifier: Apache-2.0
"""

import copy
import json
import os
import random
import re
import subprocess
import sys

# Errors that any op may give, which the page names below its list.
COMMON = {"type", "invalid", "range", "unsupported", "no-memory", "system"}
NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
WRONG = []


def wrong(*words):
    print(*words)
    WRONG.append(words)


class Op:
    """The text of an op, in its parts."""

    def __init__(self, text):
        head, *rest = text.rstrip("\n").split("\n\n")
        self.name, self.about = head.split(": ", 1)
        self.inputs, self.outputs, self.errors, self.lines = {}, {}, [], []
        for part in rest:
            first, *lines = part.split("\n")
            if first == "Input:":
                self.inputs = self.fields(lines)
            elif first.startswith("Output: "):
                self.gives = first[len("Output: "):]
                self.outputs = self.fields(lines)
            elif first.startswith("Errors: "):
                self.errors = first[len("Errors: "):].split(", ")
            elif first == "Example:":
                self.lines = [line[2:] for line in lines]
            else:
                raise ValueError("%s: what is '%s'?" % (self.name, first))

    def fields(self, lines):
        """Type and meaning by name."""
        fields = {}
        for term, about in zip(lines[::2], lines[1::2]):
            name, kind = re.match(r"  (\S.*?): (.*)$", term).groups()
            assert about.startswith("      ") and about.strip(), (self.name, name)
            assert name not in fields, (self.name, name, "twice")
            fields[name] = (kind, about.strip())
        return fields

    def question(self):
        return json.loads(self.lines[0])["in"]

    def tells(self, fields, key):
        """Whether a key is among fields: itself, or where capitals, dots or a star stand for it."""
        return any(re.fullmatch(re.sub(r"[A-Z]+|^\*$", ".+", f.replace("...", ".+")), key)
                   for f in fields)

    def without(self, name):
        """The question without the field of that name; None if absent."""
        question = at = self.question()
        *way, last = name.split(".")
        for key in way:
            at = at.get(key, {})
        if last not in at:
            return None
        del at[last]
        return question


def read_ops(names, told):
    with open(names, encoding="utf-8") as file:
        names = file.read().split()
    with open(told, encoding="utf-8") as file:
        starts = "|".join(re.escape(name) for name in names)
        texts = re.split(r"\n(?=(?:%s): )" % starts, "\n" + file.read())[1:]
    ops = [Op(text) for text in texts]
    assert [op.name for op in ops] == names and len(ops) > 70
    return ops


def ask(command, questions):
    """Answers to (op, in)."""
    lines = [json.dumps({"id": 1, "op": op, "in": question}) for op, question in questions]
    return ask_lines(command, lines)


def ask_lines(command, lines):
    run = subprocess.run(command, input="\n".join(lines) + "\n", stdout=subprocess.PIPE,
                         encoding="utf-8", check=False)
    answers = run.stdout.splitlines()
    if len(answers) != len(lines):
        sys.exit("not answered, status %d: %s" % (run.returncode, lines[len(answers)]))
    return answers


def is_answer(told, answer):
    """Whether texts are equal; '...' matches anything, and numbers agree in all printed digits."""
    parts = re.split(r"(\.\.\.|(?<![\w.])%s(?![\w.]))" % NUMBER, told)
    numbers = [p for p in parts[1::2] if p != "..."]
    pattern = "".join(re.escape(p) if i % 2 == 0 else ".*?" if p == "..." else "(%s)" % NUMBER
                      for i, p in enumerate(parts))
    found = re.fullmatch(pattern, answer)
    return found is not None and all(
        abs(float(a) - float(b)) <= 1e-5 * max(abs(float(a)), 1e-30)
        for a, b in zip(numbers, found.groups()))


def check_texts(ops, _):
    for op in ops:
        if not re.fullmatch(r"[A-Z].*\.", op.about):
            wrong(op.name, "what it answers is no sentence:", op.about)
        if not op.inputs or not op.gives or len(op.lines) != 2:
            wrong(op.name, "lacks a part")
        for name, (kind, about) in op.inputs.items():
            if not re.search(r"; (required|default .+)$", kind):
                wrong(op.name, name, "has neither a default nor the word required")
            if not about.endswith("."):
                wrong(op.name, name, "is no sentence:", about)
        for key in op.question():
            if not op.tells(op.inputs, key):
                wrong(op.name, "has a key in its example of which nothing is told:", key)


def check_examples(ops, command):
    for op, answer in zip(ops, ask_lines(command, [op.lines[0] for op in ops])):
        if not is_answer(op.lines[1], answer):
            wrong(op.name, "answers", answer)


def check_required(ops, command):
    asked = [(op, name) for op in ops for name, (kind, _) in op.inputs.items()
             if kind.endswith("; required")]
    questions = [(op.name, op.without(name) or {}) for op, name in asked]
    for (op, name), answer in zip(asked, ask(command, questions)):
        above = name.rpartition(".")[0]
        if op.without(name) is None:
            if not above or op.without(above) is not None:
                wrong(op.name, "has an example without the required", name)
        elif "err" not in json.loads(answer):
            wrong(op.name, "needs no", name)


def check_keys(ops, command):
    """Of objects: all keys are told; and documented keys exist, except keys of special cases."""
    for op, answer in zip(ops, ask_lines(command, [op.lines[0] for op in ops])):
        value = json.loads(answer).get("out")
        if value is None and op.outputs:
            wrong(op.name, "has no answer to its example")
            continue
        if op.gives == "list of objects":
            value = {key: one[key] for one in value for key in one}
        elif op.gives.startswith("object, by"):
            value = {key: one[key] for one in value.values() if isinstance(one, dict)
                     for key in one}
        if not isinstance(value, dict):
            continue
        for key in value:
            if not op.tells(op.outputs, key):
                wrong(op.name, "answers with a key of which nothing is told:", key)
        for name, (_, about) in op.outputs.items():
            case = re.match("With|Instead|Or |Only", about)
            if re.fullmatch("[a-z_0-9]+", name) and name not in value and not case:
                wrong(op.name, "does not answer with", name)


def objects(value, way=""):
    """Yield each object of a question with its path."""
    if isinstance(value, dict):
        yield way, value
        for key, below in value.items():
            yield from objects(below, way + "." + key if way else key)


def check_unknown(ops, command):
    """An undocumented key is an error with the key's name, in every object whose keys are documented."""
    asked = []
    for op in ops:
        for way, _ in objects(op.question()):
            names = [n for n, (kind, _) in op.inputs.items() if re.fullmatch(
                re.escape(way).replace(r"\.", ".") + (r"\." if way else "") + r"[^.]+", n)]
            if (way and not names) or any(n.endswith("*") for n in names):
                continue
            question = op.question()
            at = question
            for key in way.split(".") if way else []:
                at = at[key]
            at["zzzz"] = 1
            asked.append((op, way, question))
    answers = ask(command, [(op.name, question) for op, _, question in asked])
    for (op, way, _), answer in zip(asked, answers):
        error = json.loads(answer).get("err", {})
        if error.get("kind") != "invalid" or "'zzzz'" not in error.get("message", ""):
            wrong(op.name, "takes an unknown key in", way or "'in'", answer[:120])
    if len({op.name for op, _, _ in asked}) < 70 or len(asked) < 80:
        wrong("only", len(asked), "objects")


# A whole number has a range: that of 32 bits unless the text names another.
def check_ranges(ops, command):
    asked = [(op, name, kind) for op in ops for name, (kind, _) in op.inputs.items()
             if kind.startswith("whole number") and "of 64 bits" not in kind and "." not in name]
    questions = [(op.name, dict(op.question(), **{name: number})) for op, name, _ in asked
                 for number in (2 ** 63 - 1, -2 ** 63)]
    answers = ask(command, questions)
    for n, answer in enumerate(answers):
        error = json.loads(answer).get("err", {})
        if error.get("kind") != "range":
            wrong(questions[n][0], "takes", asked[n // 2][1], "of 64 bits:", answer[:120])
    if len(asked) < 60:
        wrong("only", len(asked), "whole numbers")


def check_kinds(ops, _):
    with open(os.path.join(SRC, "lib/error.c"), encoding="utf-8") as file:
        known = set(re.findall(r'\] = "([a-z-]+)"', file.read())) - {"ok"}
    with open(os.path.join(SRC, "man/query.txt"), encoding="utf-8") as file:
        page = file.read()
    listed = re.findall(r"^  ([a-z-]+)  ", page[page.index("\nErrors:"):page.index("\nLimits:")], re.M)
    if set(listed) != known | {"bad-json", "bad-request", "unknown-op"} or len(known) < 17:
        wrong("the page lists", sorted(listed), "there are", sorted(known))
    for op in ops:
        for kind in op.errors:
            if kind not in known - COMMON:
                wrong(op.name, "documents errors of kind", kind)


POOL = [None, True, 0, -1, 3, 7, 1.5, 10 ** 12, "", "dp", "zz", "(?P<", [], ["dp", "dp"], ["zz"],
        [["zz"]], {}, [3, 5], [["(", ["dp"]]], [["dp", 3]], "a->b->c"]


def places(value, path=()):
    """The paths to what is in a question."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield path + (key,)
        if isinstance(value[key], (dict, list)):
            yield from places(value[key], path + (key,))


def mutate(question):
    question = copy.deepcopy(question)
    paths = list(places(question))
    if not paths:
        return question
    path, at = random.choice(paths), question
    for key in path[:-1]:
        at = at[key]
    if random.random() < 0.3:
        del at[path[-1]]
    else:
        at[path[-1]] = random.choice(POOL)
    return question


def check_mutated(ops, command):
    random.seed(17)
    asked = [op for op in ops for _ in range(12)]
    answers = ask(command, [(op.name, mutate(op.question())) for op in asked])
    nerrors = 0
    for op, answer in zip(asked, answers):
        error = json.loads(answer).get("err")
        nerrors += error is not None
        if error and error["kind"] not in COMMON | set(op.errors):
            wrong(op.name, "has an error of kind", error["kind"], "of which nothing is told:",
                  error["message"])
    if nerrors < len(asked) / 3:
        wrong("only", nerrors, "errors of", len(asked))


def check_page(_, command):
    with open(os.path.join(SRC, "man/query.txt"), encoding="utf-8") as file:
        page = file.read()
    lines = re.findall(r"^    (\{.*\})$", page, re.M)
    questions = [line for line in lines if '"op"' in line]
    told = [line for line in lines if '"op"' not in line]
    assert len(questions) == len(told) >= 2
    for line, answer in zip(told, ask_lines(command, questions)):
        if not is_answer(line, answer):
            wrong("the page says", line, "and the answer is", answer)


SRC = sys.argv[4]
if __name__ == "__main__":
    globals()["check_" + sys.argv[1]](read_ops(*sys.argv[2:4]), sys.argv[5:])
    sys.exit(1 if WRONG else 0)
