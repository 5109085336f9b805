/* Tests shell/shell.h: the commands that a script runs, and the words and commands that are in
 * doubt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "shell/shell.h"
#include "../support/tap.h"

/* Print a command: words in [], a ? before a doubtful word, and a ! before a command that may not
 * run. */
static void add_command(void *context, struct shell *s)
{
    struct text *out = context;

    text_add(out, s->under > 0 || s->doubtful ? "!" : "");
    for (size_t i = 0; i < s->words.count; i++) {
        size_t length = s->words.list[i].length;

        text_addf(out, "[%s%s]", shell_words_doubt(&s->words, i, 0, length) < length ? "?" : "",
                  shell_words_text(&s->words, i));
    }
    text_add(out, " ");
}

/* A copy without room to spare, so that reading past its end is reading past the allocation. */
static char *copy_of(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = malloc(length);

    if (copy)
        memcpy(copy, text, length);
    return copy;
}

static void read_script(const char *script, const char *given, struct text *out, struct diag *diag)
{
    char *text = copy_of(script);
    struct shell s;

    if (text && shell_reader_init(&s, (struct place){"sh", 1, 1}, text, diag)) {
        if (given)
            shell_give(&s, given);
        shell_run(&s, add_command, NULL, out);
        shell_reader_fini(&s);
    }
    free(text);
}

/* The script on one line, for the name of its test. */
static const char *name_of(const char *script)
{
    static char name[200];
    size_t i = 0;

    for (; script[i] && i + 1 < sizeof name; i++)
        name[i] = (char)(script[i] == '\n' ? '|' : script[i] == '#' ? '%' : script[i]);
    name[i] = '\0';
    return name;
}

static const struct {
    const char *script;
    const char *commands; /* as add_command() prints them */
    const char *given;
} cases[] = {
    /* words and variables */
    {"run a 'b c' \"d $X\" e\\ f", "[run][a][b c][?d ?][e f] ", NULL},
    {"N=4; run $N ${N} \"$N\" '$N' \\$N", "[run][4][4][4][$N][$N] ", NULL},
    {"A='1 2'; run $A \"$A\" x$A", "[run][1][2][1 2][x1][2] ", NULL},
    {"A=; run $A \"$A\"", "[run][] ", NULL},
    {"A=(1 '2 3' # no\n 4); run ${A[@]}; run \"${A[@]}\"; run $A",
     "[run][1][2][3][4] [run][1][2 3][4] [run][1] ", NULL},
    {"A=(); run \"${A[@]}\" \"$@\" x", "[run][x] ", NULL},
    {"A=(1); A+=(2); A+=3; run ${A[@]}", "[run][13][2] ", NULL},
    {"A=(a b); M=\"x ${A[@]} y\"; run $M; run \"$M\"", "[run][x][a][b][y] [run][x a b y] ", NULL},
    {"A=(1 2); A[0]=3; run ${A[@]}", "[run][??] ", NULL},
    {"export M=3 \"N=4\"; declare -a L=(5 6); run $M $N ${L[@]}", "[run][3][4][5][6] ", NULL},
    {"N=2; unset N; run $N", "[run][??] ", NULL},
    {"set -- a 'b c'; run $1 \"$2\" $# \"$@\"; shift; run $1 $#",
     "[run][a][b c][2][a][b c] [run][b][c][1] ", NULL},
    /* defaults */
    {"run ${1:-2} ${X-3} ${X:+4} ${X:=5} $X ${X:+6}", "[run][2][3][5][5][6] ", NULL},
    {"X=; run ${X:-1} ${X-2} ${X:+3} ${X+4}", "[run][1][4] ", NULL},
    {"run ${A:-${B:-\"1 2\"}} \"${A:-${B:-1 2}}\"", "[run][1][2][1 2] ", NULL},
    {"run ${1:-2}", "[run][7] ", "1=7"},
    {"TP=1; run $TP ${TP:-2}", "[run][8][8] ", "TP=8"},
    {"X=$(cmd); run ${X:-1}", "[run][??] ", NULL},
    /* sums */
    {"G=8 N=2; run $((G*N/8)) $(($G - $N * 2)) $(( (G+N) % 3 )) $((2**3**1)) $((-N))",
     "[run][2][4][1][8][-2] ", NULL},
    {"run $((1 < 2 && 3 >= 3)) $((1 << 4 | 0)) $((7 / 0)) $((9223372036854775807 + 1))",
     "[run][1][??][??][??] ", NULL},
    {"run $((N + 1)) $((010)) $((i++)) $((${N:-3} + 1))", "[run][??][??][??][4] ", NULL},
    {"((N = 3)); run $N; (( 2 > 1 )) && run a; let M=2; run $M", "[run][??] [run][a] [run][??] ",
     NULL},
    /* substitutions that need no command to run */
    {"run $(basename /a/b.sh) $(dirname \"/a/b\") $(dirname b) $(echo x)", "[run][b.sh][/a][.][x] ",
     NULL},
    {"run $(basename $X) $(cat x) `date`", "[run][??][??][??] ", NULL},
    /* decided conditions */
    {"if true; then run a; else run b; fi", "[run][a] ", NULL},
    {"N=2; if [ $N = 1 ]; then run a; elif [ $N -gt 1 ]; then run b; else run c; fi", "[run][b] ",
     NULL},
    {"N=2; [ \"$N\" == 2 ] && run a || run b; [ $N != 2 ] && run c || run d",
     "[run][a] ![run][b] [run][d] ", NULL},
    {"N=ab; [[ $N == a* && ! $N == *c ]] && run a; [[ $N == \"a*\" ]] || run b",
     "[run][a] [run][b] ", NULL},
    {"N=2; [ $N -eq 2 -a -n \"$N\" ] && run a; test -z \"$N\" || run b", "[run][a] [run][b] ",
     NULL},
    {"A='x y'; if [ -z $A ]; then run a; fi; run b", "[run][b] ", NULL},
    {"case ab in a) run 1;; b|a?) run 2;; *) run 3;; esac", "[run][2] ", NULL},
    {"case z in [a-c]*) run 1 ;; \"*\") run 2 ;; (*) run 3 ; esac", "[run][3] ", NULL},
    {"case b in [a-c]) run 1;; esac; case d in [!a-c]) run 2;; esac", "[run][1] [run][2] ", NULL},
    {"case - in [a-]) run 1;; esac; case ] in [!]a]) ;; []a]) run 2;; esac", "[run][1] [run][2] ",
     NULL},
    {"if [ 1 = 1 ]; then exit 1; fi; run a", "", NULL},
    {"true || exit 1; run a; false && run b", "[run][a] ", NULL},
    {"if [ -z \"$BIG\" ]; then run a; fi", "", "BIG=1"},
    /* undecided conditions */
    {"[ \"$BIG\" = 1 ] && L=\"--tp 2\"; run $L x", "[run][?--tp][?2][x] ", NULL},
    {"A=(1); if [ $BIG ]; then A+=(2 3); fi; run ${A[@]}", "[run][1][?2][?3] ", NULL},
    {"if a; then N=1; else N=2; fi; run $N", "[a] [run][?1][?2] ", NULL},
    {"if a; then N=1; else N=1; fi; run $N", "[a] [run][1] ", NULL},
    {"L='a b'; if x; then L=\"$L c\"; fi; run $L", "[x] [run][a][b][?c] ", NULL},
    {"if a; then run 1; fi; run 2", "[a] ![run][1] [run][2] ", NULL},
    {"case $X in a) N=1;; *) N=2;; esac; run $N", "[run][?1][?2] ", NULL},
    {"if [ ! -f x ]; then exit 1; fi; N=1; run $N", "[run][1] ", NULL},
    {"if a; then N=1; else exit; fi; run $N", "[a] [run][1] ", NULL},
    {"if a; then exit; else run 1; fi", "[a] [run][1] ", NULL},
    {"cmd || { echo no; exit 1; }; run 1", "[cmd] [run][1] ", NULL},
    {"if a && [ 1 = 2 ]; then run 1; fi; if a || true; then run 2; fi", "[a] [a] [run][2] ", NULL},
    /* the default of a variable */
    {"if [ -z \"$TP\" ]; then TP=1 X=2; fi; run $TP $X", "[run][1][?2] ", NULL},
    {"[ -z $TP ] && TP=2; [[ -n $PP ]] || PP=3; run $TP $PP", "[run][2][3] ", NULL},
    {"if [ -n \"$TP\" ]; then :; else TP=4; fi; run $TP", "[run][4] ", NULL},
    {"if [ ! -z \"$TP\" ]; then TP=5; fi; run $TP", "[run][?5] ", NULL},
    {"if [ -z \"$A\" ] && [ -z \"$B\" ]; then B=1; fi; run $B", "[run][?1] ", NULL},
    /* loops */
    {"for i in 1 2; do run $i; done; run $i", "[run][1] [run][2] [run][2] ", NULL},
    {"for i in 1 2 3; do if [ $i = 2 ]; then continue; fi; run $i; done", "[run][1] [run][3] ",
     NULL},
    {"for i in 1 2 3; do [ $i = 2 ] && break; run $i; done; run x", "[run][1] [run][x] ", NULL},
    {"N=1; for i in 1 2; do if a; then break; fi; N=$i; done; run $N", "[a] ![a] [run][?2][?1] ",
     NULL},
    {"N=1; for i in $X; do A+=($N); N=2; done; run ${A[@]} $N",
     "[run][?1][?2][?1][?2][?2][?1][?2][?2][?2][?1] ", NULL},
    {"N=1; for ((i = 0; i < 2; i++)); do N=2; done; run $N", "[run][?2][?2][?2][?1] ", NULL},
    {"while [ $# -gt 0 ]; do N=$1; shift; done; run $N x", "[run][a][x] ", "1=a"},
    {"N=0; while [ $N -lt 3 ]; do N=$((N+1)); done; run $N", "[run][3] ", NULL},
    {"N=1; cat f | while read x; do N=2; done; run $N", "[run][1] ", NULL},
    /* functions and groups */
    {"f() { run a $1 $#; }\nf; f b", "[run][a][??][0] [run][a][b][1] ", NULL},
    {"function f { if [ $1 = x ]; then return 0; fi; return 1; }; f x && run 1; f y && run 2",
     "[run][1] ", NULL},
    {"N=1; f() { N=2; }; (N=3); f; run $N", "[run][2] ", NULL},
    {"f() { if a; then return; fi; N=2; }; N=1; f; run $N", "[a] [run][?2][?1] ", NULL},
    {"{ N=1; run $N; } 2>&1 | tee log", "[run][1] ", NULL},
    /* here-documents, and scripts in words */
    {"cat <<END > x\nrun '\nEND\nrun a", "[run][a] ", NULL},
    {"N=1; bash <<END\nrun $N \\$M\nEND\nsbatch <<-'X'\n\trun $N\n\tX\nrun b",
     "[bash] [run][1][??] [sbatch] [run][1] [run][b] ", NULL},
    {"N=2; srun -n 1 bash -c \"run $N\"; eval \"run ${N}x\"", "[run][2] [run][2x] ", NULL},
    {"run a > f 2>&1 < g <<< h &>/dev/null &\nrun b", "[run][a] [run][b] ", NULL},
    {"exec time run a", "[run][a] ", NULL},
};

static void test_commands(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text out = TEXT_INIT;
        struct diag errors = DIAG_INIT;

        read_script(cases[i].script, cases[i].given, &out, &errors);
        ok(!strcmp(text_get(&out), cases[i].commands) && errors.nerrors == 0, "%s",
           name_of(cases[i].script));
        if (strcmp(text_get(&out), cases[i].commands) != 0)
            diag("got %s, expected %s", text_get(&out), cases[i].commands);
        text_clear(&out);
        diag_print(&errors, &out);
        if (out.length > 0)
            diag("%s", text_get(&out));
        text_fini(&out);
        diag_fini(&errors);
    }
}

static const struct {
    const char *script, *error;
} faults[] = {
    {"A=\"--x", "sh:1:3: error: a quote is not closed"},
    {"run a'", "sh:1:6: error: a quote is not closed"},
    {"run \"$", "sh:1:5: error: a quote is not closed"},
    {"run \"${", "a bracket is not closed"},
    {"run $((1", "a bracket is not closed"},
    {"run `x", "a quote is not closed"},
    {"A=(1", "sh:1:3: error: a bracket is not closed"},
    {"run ${", "a bracket is not closed"},
    {"if true; then run a", "expected 'fi' here"},
    {"for i in 1; run; done", "sh:1:13: error: expected 'do' here"},
    {"case a in b) run", "expected 'esac' here"},
    {"run a; fi; run b", "sh:1:8: error: this ends a block that was not begun"},
    {"A=<x> (e.g. b)", "unexpected bracket in a command"},
    {"cat <<END\nx", "the here-document (<<)"},
    {"run |", "expected a command"},
    {"run && ", "expected a command"},
    {"case a in a) run ;", "expected 'esac' here"},
    {"[[ a == ", "expected ']]' here"},
    {"run <", NULL},
    {"run 2>&", NULL},
    {"run \\", NULL},
    {"A=(a\\", "a bracket is not closed"},
    {"export \"$K=1\"", "the name of the variable to set is unknown"},
    {"case a in a) x ;& b) y ;; esac", "a case that falls through to the next"},
    {"N=1; while true; do N=$N$N; done", "over 1 MiB"},
    {"f() { f; f; }; f", "nested over 64 deep"},
    {"f() { g; g; }; g() { for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do f; done; "
     "done; }; f",
     "nested over 64 deep"},
};

static void test_faults(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct text out = TEXT_INIT;
        struct diag errors = DIAG_INIT;

        read_script(faults[i].script, NULL, &out, &errors);
        text_clear(&out);
        diag_print(&errors, &out);
        bool told =
            faults[i].error ? strstr(text_get(&out), faults[i].error) != NULL : out.length == 0;

        ok(told, "%s: %s", name_of(faults[i].script), faults[i].error ? faults[i].error : "read");
        if (!told)
            diag("got %s", text_get(&out));
        text_fini(&out);
        diag_fini(&errors);
    }
}

/* A sourced file is recognized by the end of its path.  Its functions and variables stay, its
 * `return` does not end the script, and its errors name the file itself. */
static void test_files(void)
{
    char *script = copy_of("f() { return; }; . $D/a.sh x y; run $A $1; source b.sh; g; . a.sh; "
                           "run $A"),
         *a = copy_of("A=$1\nreturn\nrun"), *b = copy_of("g() { run \"$A\"; }\nif");
    struct text out = TEXT_INIT;
    struct diag errors = DIAG_INIT;
    struct shell s;

    if (script && a && b && shell_reader_init(&s, (struct place){"sh", 1, 1}, script, &errors)) {
        ok(shell_add_file(&s, "in/a.sh", a) && shell_add_file(&s, "b.sh", b) &&
               !shell_add_file(&s, "c/a.sh", a) && errors.nerrors == 1,
           "files: each name once");
        shell_give(&s, "1=z");
        shell_run(&s, add_command, NULL, &out);
        shell_reader_fini(&s);
    }
    ok(!strcmp(text_get(&out), "[run][x][z] [run][x] [run][z] "),
       "files: a script goes on behind them");
    text_clear(&out);
    diag_print(&errors, &out);
    ok(strstr(text_get(&out), "b.sh:2:3: error: expected 'then' here") != NULL,
       "files: errors are reported at the file with the error");
    diag("%s", text_get(&out));
    text_fini(&out);
    diag_fini(&errors);
    free(script);
    free(a);
    free(b);
}

int main(void)
{
    plan(0);
    test_commands();
    test_files();
    test_faults();
    return done();
}
