#!/usr/bin/env python3
"""Ask `shardsim query` questions that are wrong in some way: golden ones, mutated.

    query_mutate.py --program PROGRAM [--count N] [--seed N] [--batch N] GOLDEN

Whatever a line holds, it is answered by one line: in order, with its id, with `out` or `err`; and the
program ends with status 0 when its input does.  GOLDEN is the folder of golden data, of which nothing
is kept.  A failure prints the seed and the line.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import subprocess
import sys

KINDS = {"invalid", "indivisible", "duplicate-axis", "axis-not-in-mesh", "spec-too-long", "not-found",
         "type", "range", "unsupported", "regex", "no-mesh", "bad-json", "bad-request", "unknown-op",
         "no-memory", "system", "device-memory"}
NUMBERS = [0, 1, -1, 2, 3, 7, 16, 17, 31, 32, 33, 64, 65, 255, 1024, 65536, 2**20, 2**24, 2**31 - 1,
           2**31, 2**32, 2**40, 2**50, 2**53, 2**62, 2**63 - 1, -2**31, -2**63, 0.5, -0.0, 1e-320,
           1e300, -1e300]
# jansson refuses these numbers, and with them the whole line
RAW = ["NaN", "Infinity", "-Infinity", "1e999", str(2**63), str(2**64), str(-2**63 - 1), "01", "+1"]
STRINGS = ["", " ", "a", "dp", "tp", "batch", "\u0000", "a\u0000b", "\u202e", "é", "/", "//", "a/", ".",
           "..", "*", "(", "[", "(a*)*b", "(?<=a+)b", "\\", "\\1", "(?P<x>a)(?P=x)", "a{1,100000}",
           "$", "%s%n", "float32", "int8", "bogus", "x" * 5000, "a," * 2000]
SECONDS = 300  # for a batch, on any machine; more counts as hanging


class Raw(str):
    """Text that needs no escape in a line."""


class Pairs(list):
    """An object with keys in order, some perhaps twice."""


def dump(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(json.dumps(k) + ":" + dump(v) for k, v in value) + "}"
    if isinstance(value, dict):
        return dump(Pairs(value.items()))
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value)


def places(value, found=None):
    """Every (container, key) below a value."""
    found = [] if found is None else found
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        found.append((value, key))
        if isinstance(value[key], (dict, list)) and not isinstance(value[key], Pairs):
            places(value[key], found)
    return found


class Mutator:
    def __init__(self, rng, questions):
        self.rng = rng
        self.by_op = collections.defaultdict(list)
        for question in questions:
            self.by_op[question["op"]].append(question)
        self.ops = sorted(self.by_op)

    def other(self, question):
        return self.rng.choice(self.by_op[question["op"]])["in"]

    def value(self):
        rng = self.rng
        return rng.choice([
            lambda: rng.choice(NUMBERS), lambda: rng.choice(STRINGS), lambda: None,
            lambda: rng.random() < 0.5, lambda: [], lambda: {}, lambda: [rng.choice(NUMBERS)],
            lambda: [rng.choice(STRINGS), rng.choice(NUMBERS)], lambda: {"a": rng.choice(NUMBERS)},
            lambda: [[["dp", rng.choice(NUMBERS)]]], lambda: [None] * rng.choice([1, 9, 17, 100]),
        ])()

    def mutate(self, question, given):
        """One change; whether the line may be no JSON by it."""
        rng = self.rng
        found = places(given)
        if not found:
            given["x"] = self.value()
            return False
        holder, key = rng.choice(found)
        old = holder[key]
        what = rng.randrange(13)
        if what == 0:
            del holder[key]
        elif what == 1:
            holder[key] = self.value()
        elif what == 2 and isinstance(old, (int, float)) and not isinstance(old, bool):
            holder[key] = rng.choice([old + 1, old - 1, -old, old * 2, old * 1000003, old / 2] + NUMBERS)
        elif what == 2:
            holder[key] = rng.choice(NUMBERS)
        elif what == 3 and isinstance(old, list):
            holder[key] = rng.choice([old[:-1], old + old, old[::-1], old + [self.value()], [old], [],
                                      old * rng.choice([3, 17, 70])])
        elif what == 3 and isinstance(old, str):
            holder[key] = rng.choice([old + old, old[:-1], old[::-1], old.upper()] + STRINGS)
        elif what == 4:
            to, to_key = rng.choice(found)
            holder[key], to[to_key] = json.loads(json.dumps(to[to_key])), json.loads(json.dumps(old))
        elif what == 5 or what == 6:
            theirs = places(self.other(question))
            if theirs:
                other, other_key = rng.choice(theirs)
                holder[key] = json.loads(json.dumps(other[other_key]))
        elif what == 7:
            theirs = self.other(question)
            if key in theirs if isinstance(key, str) else False:
                holder[key] = json.loads(json.dumps(theirs[key]))
        elif what == 8:
            holder[key] = rng.choice(STRINGS)
        elif what == 9 and rng.random() < 0.3:
            depth = rng.choice([3, 40, 100, 1000, 5000])
            holder[key] = Raw("[" * depth + "]" * depth)
            return depth > 100
        elif what == 10 and isinstance(old, dict) and old:
            again = rng.choice(list(old))
            holder[key] = Pairs(list(old.items()) + [(again, self.value())])
            return True
        elif what == 11 and rng.random() < 0.3:
            holder[key] = Raw(rng.choice(RAW))
            return True
        elif isinstance(holder, list):
            holder.insert(key, self.value())
        else:
            holder[rng.choice(STRINGS + list(holder))] = self.value()
        return False

    def damage(self, line):
        """Bytes of a line, changed without regard to what they mean."""
        rng = self.rng
        at = rng.randrange(len(line))
        return rng.choice([
            lambda: line[:at + 1], lambda: line[:at] + b"\xff" + line[at:],
            lambda: line[:at] + b"\xc3" + line[at + 1:], lambda: line[:at] + b"\xed\xa0\x80" + line[at:],
            lambda: line[:at] + bytes([rng.randrange(256)]) + line[at + 1:],
            lambda: line[:at] + rng.choice([b"{", b"}", b"[", b"]", b'"', b",", b"\0"]) + line[at:],
            lambda: line + line, lambda: b"[" * 100000, lambda: line[at:] or b"x",
        ])().replace(b"\n", b" ").replace(b"\r", b" ")

    def question(self, number):
        """A line and whether it may be no question at all."""
        rng = self.rng
        golden = rng.choice(self.by_op[rng.choice(self.ops)])
        given = json.loads(json.dumps(golden["in"]))
        loose = False
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
            try:
                loose |= self.mutate(golden, given)
            except (KeyError, IndexError, ValueError):  # a second mutation of the same place
                pass
        line = dump({"id": number, "op": golden["op"], "in": given}).encode("utf-8", "surrogatepass")
        loose |= b"\\u0000" in line or bool(re.search(rb"\d{19}|NaN|Infinity", line))  # JSON, but refused
        if rng.random() < 0.08:
            line, loose = self.damage(line), True
        return (line if line.strip(b" \t") else b"x"), loose


def judge(number, loose, text):
    """None where an answer is one, else why not."""
    try:
        answer = json.loads(text)
    except ValueError:
        return f"not JSON: {text[:200]!r}"
    if not isinstance(answer, dict) or list(answer) not in (["id", "out"], ["id", "err"]):
        return f"neither out nor err: {text[:200]!r}"
    if "err" in answer and not (answer["err"].get("kind") in KINDS and answer["err"].get("message")):
        return f"an odd error: {text[:200]!r}"
    if answer["id"] != number and not loose:
        return f"the id is {answer['id']!r}: {text[:200]!r}"
    return None


def ask(program, lines):
    """Answers, and how the program ended if not well."""
    try:
        run = subprocess.run([program, "query"], input=b"\n".join(lines) + b"\n", timeout=SECONDS,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"").splitlines(), f"no end within {SECONDS} s"
    wrong = f"status {run.returncode}: {run.stderr.decode('utf-8', 'replace')[-2000:]}"
    return run.stdout.splitlines(), wrong if run.returncode or run.stderr else None


def asks(path):
    """Whether a file has questions of `query`; other answers are beside them."""
    with open(path, encoding="utf-8") as file:
        return "in" in json.loads(file.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("golden")
    given = parser.parse_args()
    sys.path.insert(0, given.golden)
    sys.dont_write_bytecode = True
    from check import load  # how a question's files are put in

    questions = [case for path in sorted(glob.glob(os.path.join(given.golden, "*", "*.jsonl")))
                 if asks(path) for case in load(path) if isinstance(case["in"], dict)]
    heads = [json.dumps({"id": 0, "op": op, "in": {}}) for op in sorted({c["op"] for c in questions})]
    known, _ = ask(given.program, [h.encode() for h in heads])
    known = {json.loads(h)["op"] for h, a in zip(heads, known) if b'"unknown-op"' not in a}
    questions = [c for c in questions if c["op"] in known]
    mutator = Mutator(random.Random(given.seed), questions)
    answered = errors = 0
    for first in range(0, given.count, given.batch):
        asked = [mutator.question(first + i) for i in range(min(given.batch, given.count - first))]
        answers, ended = ask(given.program, [line for line, _ in asked])
        for i, (line, loose) in enumerate(asked):
            why = judge(first + i, loose, answers[i]) if i < len(answers) else ended or "no answer"
            if why:
                print(f"seed {given.seed}, question {first + i}: {why}\n{line[:4000]!r}")
                return 1
            errors += answers[i].find(b'"err":') >= 0
            answered += 1
        if ended or len(answers) != len(asked):
            print(f"seed {given.seed}, after question {first}: {ended or 'more answers than lines'}")
            return 1
    print(f"{answered} of {given.count} answered, {errors} by an error; seed {given.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
