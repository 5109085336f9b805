#!/bin/sh
# Tests completion of command lines in the shells themselves, and that the program accepts each
# offer.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
completion=$top_srcdir/contrib/completion
# The user's settings for help and sorting must not matter.
unset ARGP_HELP_FMT LC_COLLATE
# zsh wakes a job that stops, and the leak checker stops its own process by ptrace, so that both
# would wait for ever.  Other tests check these commands for leaks.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export ASAN_OPTIONS

# Complete the last word of a line in bash; prints an answer a line, sorted.
cat >"$tmp/bash" <<'END'
source "$1"
cd "$2"
shift 2
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_shardsim
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}" | sort
END
# The same in zsh, whose builtins that only work while a key is handled are replaced by functions.
cat >"$tmp/zsh" <<'END'
file=$1 dir=$2
shift 2
words=("$@")
CURRENT=$#
PREFIX=$words[CURRENT]
offer() { print -rl -- ${(M)@:#${(b)PREFIX}*} }
compset() { [[ $2 != '*=' ]] || PREFIX=${PREFIX#*=}; [[ $2 != '*,' ]] || PREFIX=${PREFIX##*,} }
compadd() { local suffix; [[ $1 != -S ]] || { suffix=$2; shift 2 }; shift; [[ $# -eq 0 ]] || offer ${^@}$suffix }
_describe() { [[ $1 != -o ]] || shift; offer ${${(P)2}%%:*} }
_files() {
    local ending
    setopt nullglob extendedglob
    case $1 in
        -g) offer ${~2} *(/) ;;
        -/) offer *(/) ;;
        *) offer * ;;
    esac
}
cd $dir
source $file | grep . | sort
END

mkdir -p "$tmp/here/layouts"
cp "$scenarios/strategies.yaml" "$scenarios/dp_tp.yaml" "$tmp/here"
: >"$tmp/here/notes.txt"
# Names in a scenario are never executed.
# shellcheck disable=SC2016
sed 's/name: fsdp$/name: "$(touch ran)"/' "$scenarios/strategies.yaml" >"$tmp/here/odd.yaml"

# completes TEXT 'ANSWER...' WORD...: complete the words behind the program's name, in each
# installed shell
completes() {
    what=$1
    printf '%s\n' "$2" | tr ' ' '\n' | grep . | sort >"$tmp/real"
    shift 2
    for shell in $shells; do
        case $shell in
            bash)
                # bash cuts words at =, which stands alone.
                (
                    set -- "$shardsim" "$@"
                    n=$#
                    while [ "$n" -gt 0 ]; do
                        word=$1
                        shift
                        case $word in
                            --*=?*) set -- "$@" "${word%%=*}" = "${word#*=}" ;;
                            --*=) set -- "$@" "${word%=}" = ;;
                            *) set -- "$@" "$word" ;;
                        esac
                        n=$((n - 1))
                    done
                    exec bash --norc "$tmp/bash" "$completion/shardsim" "$tmp/here" "$@"
                ) >"$tmp/shown" 2>&1
                ;;
            zsh) zsh -f "$tmp/zsh" "$completion/_shardsim" "$tmp/here" "$shardsim" "$@" >"$tmp/shown" 2>&1 ;;
        esac
        diff "$tmp/real" "$tmp/shown" >"$tmp/wrong"
        ok $? "$shell: $what"
        diag <"$tmp/wrong"
    done
}

# said [COMMAND...]: the long options of the command's help, on one line
said() {
    "$shardsim" "$@" --help | LC_ALL=C sed -n 's/^ *\(-[^-], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | tr '\n' ' ' | sed 's/ $//'
}

shells=
for shell in bash zsh; do
    if command -v "$shell" >/dev/null; then
        shells="$shells $shell"
    else
        skip "completion in $shell" "no $shell"
    fi
done
if command -v bash >/dev/null; then
    bash -n "$completion/shardsim"
    ok $? "bash: the file can be read"
fi
if command -v zsh >/dev/null; then
    zsh -n "$completion/_shardsim"
    ok $? "zsh: the file can be read"
    [ "$(head -n 1 "$completion/_shardsim")" = '#compdef shardsim' ]
    ok $? "zsh: the file names the command that it completes"
fi

completes "the commands" \
    'init run plan compare check bench calibrate search serve show explain replay export import report trace runs query --help --version' ''
completes "a command that is begun" 'compare check calibrate' c
completes "nothing begins so" '' xyz
for command in init run plan compare check bench calibrate search serve explain replay export import report trace runs query 'show array' 'show groups' 'show matrix' \
    'show curves' 'show memory' 'show mesh' 'show options' 'show schema' 'show strategies' 'show timetable' \
    'show tree' 'show hardware' 'explain collective'; do
    # The words of $command are meant to be split.
    # shellcheck disable=SC2086
    completes "options of $command" "$(said $command)" $command --
done
# Builds with MPI also have --spread.
[ "$(said run | sed 's/--spread //')" = "--color --json --memory --outputs --quiet --repeat --save --set --strategy --threads --verbose --help --usage" ]
ok $? "options of run: all of them"
completes "subjects of show" 'array curves figures functions groups hardware matrix memory mesh names options schema strategies timetable tree' show ''
completes "scenarios and folders" 'dp_tp.yaml layouts odd.yaml strategies.yaml' run ''
completes "scenarios of explain" 'dp_tp.yaml' explain d
completes "folders" 'layouts' check ''
completes "any file" 'notes.txt' compare --output n
completes "any file behind =" 'notes.txt' check --junit=n
completes "choices" 'table markdown csv json' compare --format ''
completes "choices behind =" 'markdown' compare --format=m
completes "choices that may be left out" 'auto always' show mesh --color=a
completes "such have no word behind them" 'dp_tp.yaml' explain --color d
completes "published models" 'gpt2-small gpt2-medium gpt2-large gpt2-xl' init --model gpt2
completes "choices of a search" 'schedule= split= sp= shards=' search dp_tp.yaml --range s
completes "keys" 'model.d_model= model.d_ff=' run -s model.d_
completes "keys of a long option" 'transfers.rate= transfers.latency=' plan --set tr
completes "strategies of the file" 'data data-and-tensor' compare strategies.yaml -S da
completes "strategies of no file" '' compare -S ''
completes "collectives" 'all-reduce all-gather all-to-all' explain collective all-
completes "the word collective" 'collective' explain col
completes "algorithms" 'recursive-doubling recursive-halving' explain collective all-gather --algorithm recu
completes "clusters" 'tpu-v5e tpu-v5p' explain collective all-gather --hardware tpu-v5
completes "values of which nothing is known" '' show tree --large ''
for shell in $shells; do
    case $shell in
        bash) bash --norc "$tmp/bash" "$completion/shardsim" "$tmp/here" "$shardsim" run odd.yaml -S '' ;;
        zsh) zsh -f "$tmp/zsh" "$completion/_shardsim" "$tmp/here" "$shardsim" run odd.yaml -S '' ;;
    esac >"$tmp/shown" 2>&1
    grep -q 'touch' "$tmp/shown" && [ ! -e "$tmp/here/ran" ]
    ok $? "$shell: a strategy's name is not run"
done

# taken STATUS COMMAND...: run a choice that completion offers.
taken() {
    timeout "$LIMIT" "$shardsim" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# choices: the program accepts each offered choice and no other.
choices() {
    for choice in $("$shardsim" "$command" --help |
        sed -n "s/^.*--$option\[\{0,1\}=\([^] ]*\).*/\1/p" | tr '|' ' '); do
        taken "$command" "--$option=$choice" "$@"
        is 0 "$command --$option=$choice"
    done
    taken "$command" "--$option=other" "$@"
    is 2 "$command --$option=other is refused"
    grep -q "expected" "$tmp/err" || [ "$option" = dtype ]
    ok $? "$command --$option=other: what is expected is said"
}
COLUMNS=80
export COLUMNS
"$shardsim" --help >"$tmp/help"
for line in 'compare format --plan strategies.yaml' 'compare color --plan strategies.yaml' \
    'explain color dp_tp.yaml --op 1' 'bench redop --sizes 8 --devices 2' 'bench dtype --sizes 8 --devices 2'; do
    # shellcheck disable=SC2086
    set -- $line
    command=$1
    option=$2
    shift 2
    cd "$tmp/here" || exit 1
    choices "$@"
done
done_testing
