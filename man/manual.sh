#!/bin/sh
# manual.sh SHARDSIM PAGE DATE - a manual page, such as shardsim-run.1, made of what the program says.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
shardsim=$1
page=${2%.[157]}
section=${2##*.}
date=$3
here=$(dirname "$0")

# Long lines, so that a paragraph is one, and no note on options below each list of them.
ARGP_HELP_FMT=rmargin=5000,no-dup-args-note
COLUMNS=4000
export ARGP_HELP_FMT COLUMNS
LC_ALL=C
export LC_ALL

# names TITLE COMMAND...: the names that a help text lists below a title
names() {
    title=$1
    shift
    "$shardsim" "$@" --help | sed -n "/^$title:\$/,/^\$/s/^  \([a-z]*\) .*/\1/p"
}

# What a scenario can say, as a help text would.
print_options() {
    echo 'Options:'
    "$shardsim" show options |
        sed -n 'N; s/^\([^:]*\): *\(.*\)\n *\(.*\)/  \1  \3 Value: \2./; s/ Value: \.$//; p'
}

# What the lines of a graph can call, likewise.
print_functions() {
    printf '\nFunctions:\n'
    "$shardsim" show functions | awk '
        /^[^ ]/ { if (term) print "  " term "  " about; term = $0; about = ""; next }
        { sub(/^ */, ""); about = about (about ? " " : "") $0 }
        END { print "  " term "  " about }'
}

# What every op of `query` takes and answers, likewise: a field's type in brackets.
print_ops() {
    # Names are words.
    # shellcheck disable=SC2046
    "$shardsim" query --list $("$shardsim" query --list) | awk '
        /^[a-z0-9_]+\.[A-Za-z0-9_]+: / {
            at = index($0, ": ")
            print "Op: " substr($0, 1, at - 1) "\n" substr($0, at + 2)
            next
        }
        /^  \{/ { print "  " $0; next }
        /^  [^ ]/ { term = $0; next }
        /^      / {
            at = index(term, ": ")
            sub(/^ */, "")
            print substr(term, 1, at - 1) " (" substr(term, at + 2) ")  " $0
            next
        }
        { print }'
}

see='shardsim(1), shardsim-scenario(5)'
case $page.$section in
    shardsim.1)
        what='run the layout of a model over many devices on one machine'
        see=$(names Commands | sed 's/.*/shardsim-&(1),/' | tr '\n' ' ')'shardsim-scenario(5)'
        ;;
    shardsim-query.7)
        what='questions in JSON, and answers, for other languages'
        see='shardsim(1), shardsim-query(1), shardsim-scenario(5)'
        ;;
    shardsim-scenario.5) what='what shardsim executes and plans: a model and its layout' ;;
    *) what=$("$shardsim" --help | sed -n "s/^  ${page#shardsim-}  *//p") ;;
esac
case $page.$section in
    shardsim.1 | shardsim-query.1) see="$see, shardsim-query(7)" ;;
esac

{
    case $page.$section in
        shardsim.1) "$shardsim" --help ;;
        shardsim-query.7)
            cat "$here/query.txt"
            print_ops
            ;;
        shardsim-scenario.5)
            cat "$here/scenario.txt"
            print_options
            print_functions
            sed '/^#/d; s/^/    /' "$here/../scenarios/tensor_parallel.yaml" |
                sed "1i\\
Examples:\\
  Two layers of an MLP whose inner width is sharded over eight devices:"
            ;;
        shardsim-show.1)
            "$shardsim" show --help
            for subject in $(names What show); do
                "$shardsim" show "$subject" --help
            done
            ;;
        shardsim-explain.1)
            "$shardsim" explain --help
            "$shardsim" explain collective --help
            "$shardsim" explain reshard --help
            ;;
        *) "$shardsim" "${page#shardsim-}" --help ;;
    esac
} | ${AWK:-awk} -v name="$page" -v section="$section" -v what="$what" -v date="$date" \
    -v version="$("$shardsim" --version)" -v see="$see" -f "$here/manual.awk"
