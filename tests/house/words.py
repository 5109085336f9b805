#!/usr/bin/env python3
"""words.py - find texts that point instead of naming: comments, sentences of pages, messages.

    words.py comments|pages|messages ROOM_PERCENT ALL_PERCENT FOLDER...

A text of 7 to 60 words is vague if at least a quarter of its words are pronouns and their like (it,
those, what, such ...).  Prints each room whose share of vague texts exceeds ROOM_PERCENT, then the
total if it exceeds ALL_PERCENT, with the vague texts; exit status 1 if anything is printed.  A room is a
folder below a FOLDER, with its subfolders, or the files directly in FOLDER; rooms with fewer than 40
texts count together.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

VAGUE = set(
    "it its them they that those these other others so as what who whom whose such one ones there which "
    "likewise same".split()
)
FEWEST_WORDS, MOST_WORDS, FEWEST_TEXTS = 7, 60, 40
STRING = r'"(?:\\.|[^"\\\n])*"'


def blank(match):
    """Line breaks in place of a text that is not counted, so that later line numbers stay right."""
    return "\n" * match.group().count("\n")


def sentences(text):
    return re.split(r"(?<=[.:;!?])\s+", text)


def comments(source):
    for found in re.finditer(r"/\*(.+?)\*/", source, re.S):
        lines = (line.strip().lstrip("* ") for line in found[1].split("\n"))
        text = " ".join(line for line in lines if line)
        if "SPDX" not in text and "----" not in text:
            yield found.start(), text


def pages(source):
    source = re.sub(r"^(```|~~~).*?^\1", blank, source, flags=re.M | re.S)
    for found in re.finditer(r"(?:^(?![ \t]*[|#>]| {4}).+\n?)+", source, re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found.group())
        for sentence in sentences(re.sub(r"`[^`]*`", " ", text)):
            yield found.start(), sentence


def messages(source):
    source = re.sub(r"/\*.*?\*/", blank, source, flags=re.S)
    for found in re.finditer(rf"{STRING}(?:\s*(?:PRI\w+\s*)?{STRING})*", source):
        text = "".join(part[1:-1] for part in re.findall(STRING, found.group()))
        for sentence in sentences(text.replace("\\n", " ")):
            yield found.start(), sentence


KINDS = {
    "comments": (comments, {".c", ".h", ".inc"}),
    "pages": (pages, {".md", ".rst"}),
    "messages": (messages, {".c", ".h", ".py"}),
}


def is_vague(words):
    return 4 * sum(word.lower() in VAGUE for word in words) >= len(words)


def read_rooms(kind, folders):
    """By room: the number of texts, and the vague texts with their places."""
    texts_of, endings = KINDS[kind]
    rooms = {}
    for top in map(pathlib.Path, folders):
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.suffix not in endings or not path.is_file():
                continue
            below = path.relative_to(top).parts
            room = rooms.setdefault(str(top / below[0]) if len(below) > 1 else str(top), [0, []])
            source = path.read_text(errors="replace")
            for at, text in texts_of(source):
                words = re.findall(r"[A-Za-z']+", text)
                if FEWEST_WORDS <= len(words) <= MOST_WORDS:
                    room[0] += 1
                    if is_vague(words):
                        line = 1 + source.count("\n", 0, at)
                        room[1].append(f"{path}:{line}: {' '.join(text.split())[:160]}")
    return rooms


def report(name, room, percent):
    """Print a room over the limit with its vague texts; whether it is."""
    share = 100 * len(room[1]) / max(room[0], 1)
    if share <= percent:
        return False
    print(f"{name}: {share:.1f} % of {room[0]} texts are vague, at most {percent:g} %", *room[1], sep="\n  ")
    return True


def main(kind, room_percent, all_percent, *folders):
    rooms = read_rooms(kind, folders)
    small = [name for name in rooms if rooms[name][0] < FEWEST_TEXTS]
    total = [sum(r[0] for r in rooms.values()), [t for r in rooms.values() for t in r[1]]]
    rest = [sum(rooms[name][0] for name in small), [t for name in small for t in rooms[name][1]]]
    rooms = {name: room for name, room in rooms.items() if name not in small}
    if small:
        rooms["small rooms"] = rest
    over = [report(name, rooms[name], float(room_percent)) for name in sorted(rooms)]
    return any(over) | report("all", total, float(all_percent))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
