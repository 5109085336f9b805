"""c_reference.py - the page of a public header: its comments as text, its declarations as code.

SPDX-License-Identifier: Apache-2.0
"""
import re

COMMENT = re.compile(r"/\*(.*?)\*/\n?", re.S)
NOT_SHOWN = re.compile(r"#(if|ifdef|ifndef|endif|include|else)\b.*|extern \"C\" \{|\}|#define SHD_\w+_H")
NAME = re.compile(r"\b(shd_\w+)\(|^(?:struct|enum|union|typedef) (?:\w+ )*?(shd_\w+)|^#define (SHD_\w+)|\(\*(shd_\w+)\)", re.M)


def words(comment):
    """The text of a comment.  Paragraphs stay apart, and indented lines stay code."""
    lines = [re.sub(r"^ \*( |$)", "", line).rstrip() for line in comment.strip().split("\n")]
    text = "\n".join(lines).replace("SPDX-License-Identifier: Apache-2.0", "").strip()
    text = re.sub(r"^(?!    ).*$", lambda line: line[0].replace("[", r"\["), text, flags=re.M)
    return re.sub(r"(?<![`\w])(?=[A-Za-z_*<])((?:\*\w+|\w*_\w+(?:\(\))?|<\w+/\w+\.h>))(?![`\w])", r"`\1`", text)


def blocks(body):
    """What stands between blank lines, but for those inside braces."""
    part, depth = [], 0
    for line in body.split("\n"):
        code = COMMENT.sub("", line)
        if not line.strip() and depth <= 0 and part:
            yield "\n".join(part)
            part = []
        elif line.strip() or part:
            part.append(line)
        depth += code.count("{") - code.count("}")
    if part:
        yield "\n".join(part)


def header_page(name, text):
    first = COMMENT.match(text)
    title, _, rest = words(first[1]).partition("\n\n")
    out = ["# shd/%s" % name, "", title.split(" - ", 1)[-1].replace("\n", " "), "", rest, "", "```c", "#include <shd/%s>" % name, "```"]
    body = "\n".join(line for line in text[first.end():].split("\n")
                     if not NOT_SHOWN.fullmatch(line.strip()) or line.startswith(" "))
    for block in blocks(body):
        comment = COMMENT.match(block)
        code = (block[comment.end():] if comment else block).strip("\n")
        names = list(dict.fromkeys(next(filter(None, found)) for found in NAME.findall(code)))
        code = code.replace("SHD_API ", "").replace("SHD_MUST_CHECK ", "")
        if names:
            out += ["", "## %s" % ", ".join("`%s`" % name for name in names)]
        if comment:
            out += ["", words(comment[1])]
        if code:
            out += ["", "```c", code, "```"]
    return "\n".join(out) + "\n"
