# manual.awk - the help texts of the program to a manual page; sim/cmd/args.h says what they look like.
#
#   awk -v name=shardsim-run -v section=1 -v what='execute, verify, record' -v date=2026-11-21
#       -v version='shardsim 0.1.0' -v see='shardsim(1), shardsim-scenario(5)' -f manual.awk
#
# Reads one help text, or several one behind the other: each after the first is a subsection.  Every
# paragraph is to be one line but those without options, which are joined here.  Ops of `query` are
# subsections, too: man/manual.sh says what they look like.
#
# SPDX-License-Identifier: Apache-2.0

# As roff wants it: hyphens that can be copied, and no line that begins with a control character.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/"/, "\\(dq", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

function bold(text) { return "\\fB" roff(text) "\\fR" }
function italic(text) { return "\\fI" roff(text) "\\fR" }

function trim(text) {
    gsub(/^ +| +$/, "", text)
    gsub(/  +/, " ", text)
    return text
}

# Text in lines of at most 78 bytes, broken between words.
function put(text,    n, i, words, line) {
    n = split(trim(text), words, " ")
    for (i = 1; i <= n; i++) {
        if (line != "" && length(roff(line " " words[i])) > 78) {
            print roff(line)
            line = ""
        }
        line = line == "" ? words[i] : line " " words[i]
    }
    print roff(line)
}

# "-s, --set=KEY=VALUE", "--color[=auto|never]": what is typed is bold, what stands for a value italic.
function option(text,    at) {
    at = index(text, "[=")
    if (at)
        return bold(substr(text, 1, at - 1)) "[=" italic(substr(text, at + 2, length(text) - at - 2)) "]"
    at = index(text, "=")
    if (at)
        return bold(substr(text, 1, at - 1)) "=" italic(substr(text, at + 1))
    return bold(text)
}

# JSON in lines of at most 72 bytes, broken behind commas and between words where that is possible.
function fold(text,    line, at, indent) {
    while (length(text) > 72 - length(indent)) {
        line = substr(text, 1, 72 - length(indent))
        at = match(line, /[, ][^, ]*$/)
        if (!at)
            at = length(line)
        print roff(indent substr(text, 1, at))
        text = substr(text, at + 1)
        sub(/^ /, "", text)
        indent = "  "
    }
    print roff(indent text)
}

# Close what is open: a paragraph that was collected, an example.
function flush() {
    if (text != "") {
        if (ntexts++)
            print ".PP"
        put(text)
    }
    text = ""
    if (literal)
        print ".fi\n.RE"
    literal = 0
}

function heading(title) {
    flush()
    in_options = 0
    ntexts = 0
    place = title
    if (nhelps < 2)
        print ".SH " toupper(title)
    else {
        ntexts = 1
        if (title != "Description" && title != "Options")
            print ".PP\n" bold(title ":")
    }
}

function item(term, about) {
    flush()
    ntexts = 1
    print ".TP\n" term
    if (about != "")
        put(about)
}

function synopsis(text,    at) {
    at = match(text, / \[?[A-Z]/)
    if (!at)
        print bold(text)
    else
        print bold(substr(text, 1, at - 1)) " " italic(substr(text, at + 1))
}

BEGIN {
    print ".\\\" Made of the program's help texts by man/manual.sh."
    printf ".TH %s %s %s \"%s\" \"%s\"\n", toupper(roff(name)), section, date, version,
        section == 5 ? "File formats" : section == 7 ? "Protocols" : "User commands"
    print ".SH NAME\n" roff(name) " \\- " roff(what)
}

/^Usage: / {
    flush()
    nhelps++
    sub(/^Usage: /, "")
    sub(/ +$/, "")
    command = $0
    sub(/ \[?[A-Z].*/, "", command)
    print nhelps < 2 ? ".SH SYNOPSIS" : ".SS " roff(command)
    synopsis($0)
    in_synopsis = 1
    skipped = 0
    next
}

# One of the ops of `query`: a subsection, and so are the parts below.
/^Op: / {
    flush()
    nhelps = 2
    in_ops = 1
    ntexts = 0
    place = ""
    print ".SS " roff(substr($0, 5))
    next
}

in_ops && /^(Output|Errors): / {
    flush()
    at = index($0, ":")
    print ".PP\n" bold(substr($0, 1, at))
    put(substr($0, at + 1))
    next
}

in_synopsis && /^ +or: / {
    sub(/^ +or: +/, "")
    print ".br"
    synopsis($0)
    next
}

in_synopsis && /^[^ ]/ {
    in_synopsis = 0
    heading("Description")
}

/^$/ { flush(); next }

# Said once for all.
/^Exit status:$/ && nhelps > 1 { flush(); skipped = 1; next }
/^ +-\?, --help|^ +--usage/ && nhelps > 1 { next }

/^[A-Z][a-z ]*:$/ {
    skipped = 0
    sub(/:$/, "")
    heading($0)
    next
}

skipped { next }

/^[^ ]/ {
    if (in_options)
        heading("Notes")
    text = text " " $0
    next
}

/^ +-/ && place != "Examples" {
    if (!in_options)
        heading("Options")
    in_options = 1
    line = $0
    sub(/^ +/, "", line)
    at = match(line, /   ?/) && line !~ /^-.,   ?[^ ]*$/ ? match(line, /  +/) : 0
    item(option(at ? substr(line, 1, at - 1) : line), at ? substr(line, at) : "")
    next
}

# What an option with a long name means stands below it.
in_options { put($0); next }

place ~ /^Examples?$/ && /^    / {
    if (!literal) {
        flush()
        print ".RS\n.nf"
    }
    literal = 1
    if (in_ops)
        fold(substr($0, 5))
    else
        print roff(substr($0, 5))
    next
}

place == "Examples" { flush(); text = $0; flush(); next }

# "  TERM  what it is"
{
    line = substr($0, 3)
    at = match(line, /  +/)
    term = at ? substr(line, 1, at - 1) : line
    bracket = in_ops ? index(term, " (") : 0
    term = bracket ? bold(substr(term, 1, bracket - 1)) roff(substr(term, bracket)) : bold(term)
    item(term, at ? substr(line, at) : "")
}

END {
    flush()
    print ".SH SEE ALSO"
    put(see)
}
