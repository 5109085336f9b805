/* import/shell.h - the commands of a shell script, as words.
 *
 * Read, never run: quotes, lines that go on, comments, and variables that the script sets itself:
 *
 *   TP=2   N=${N:-8}   ARGS="$ARGS --a $TP"   LIST=(--b 1 --c)   LIST+=(--d)   export X=1
 *   $TP   ${TP}   ${TP:-2}   ${TP:=2}   ${TP:+2}   $ARGS   "${LIST[@]}"   "$@" (nothing)
 *
 * Whatever only a shell knows (the output of commands, arithmetic, other forms of ${}, variables
 * that the script does not set or sets under a condition) is SHELL_UNKNOWN in a word, which costs
 * nothing until somebody needs the word.  Expansion is bounded.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_H
#define IMPORT_SHELL_H

#include "base/diag.h"
#include "import/shell_words.h"

#define SHELL_EXPANDED_BYTES_MAX                                              \
    ((size_t)16 << 20)           /* of all that variables come to in a script \
                                  */
#define SHELL_VARIABLES_MAX 1000 /* far more than people write */

#define SHELL_DEPTH_MAX 16 /* ${A:-${B:-...}} */

struct shell_variable {
    char *name;
    struct shell_words value; /* one word, or those of an array */
};

/* Fields are private but for `words`. */
struct shell {
    const char *text;
    const char *file;
    size_t at;
    struct shell_place {
        int line, column;
    } * places; /* of each byte, and of the end */
    struct shell_words words;
    struct shell_variable *variables;
    size_t nvariables;
    size_t expanded;
    int depth;
    int conditions; /* open: if, for, while, until, case */
    struct diag *diag;
};

/* The text lives as long as the shell; at most UINT32_MAX bytes.  False, reported: no memory. */
bool shell_init(struct shell *shell, struct place first, const char *text, struct diag *diag);
void shell_fini(struct shell *shell);

/* The words of the next command into `words`, maybe none.  False: there is no other. */
bool shell_next(struct shell *shell);

/* Where a byte of a word stands, and the end of what was read. */
struct place shell_place(const struct shell *shell, size_t word, size_t byte);
struct place shell_end(const struct shell *shell);

/* Whether a part of the word is not known, and an error that says what and why. */
bool shell_is_unknown(const struct shell *shell, size_t word);
void shell_report_unknown(const struct shell *shell, size_t word);

/* The name if the whole word is a variable that the script does not set, "$NAME"; free it; or
 * NULL. */
char *shell_unset(const struct shell *shell, size_t word);

#endif /* IMPORT_SHELL_H */
