/* import/shell_reader.h - a shell script while it is read: where, with which variables, and why
 * something in it is not known.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_READER_H
#define IMPORT_SHELL_READER_H

#include "base/diag.h"
#include "import/shell_state.h"

/* Of all that variables come to, of the text that loops and functions read again, and of variables
 * that are copied before branches. */
#define SHELL_EXPANDED_BYTES_MAX ((size_t)1 << 20)

#define SHELL_DEPTH_MAX 16   /* ${A:-${B:-...}} */
#define SHELL_NESTED_MAX 64  /* commands in commands, functions in functions */
#define SHELL_CAUSES_MAX 1000
#define SHELL_UNNAMED 1 /* the cause that no variable decides, such as a command */
#define SHELL_FUNCTIONS_MAX 100
#define SHELL_HERE_TEXTS_MAX 8 /* of one line */
#define SHELL_FILES_MAX 16     /* that a script reads, given by the caller */

enum shell_tri { SHELL_NO, SHELL_YES, SHELL_UNSURE };

/* Why there is doubt: a condition that is not decided, or what was assigned to a variable. */
struct shell_cause {
    uint32_t at;
    char *name;              /* of the variable that decides it; NULL: none does */
    enum shell_tri is_empty; /* YES, NO: the condition is that the variable, which is not set, is
                                empty, or that it is not; UNSURE: another */
};

/* What is left by break, continue, return, exit. */
enum shell_leave { SHELL_STAYS, SHELL_CONTINUES, SHELL_BREAKS, SHELL_RETURNS, SHELL_EXITS };

/* What is being read: the file, or a text that a command gets as a script. */
struct shell_text {
    const char *bytes; /* ended by NUL */
    size_t at;
    const struct shell_origin *origins; /* of each byte; NULL: it is the file */
};

struct shell_function {
    char *name;
    struct shell_text body; /* at its first byte */
};

/* A text of several lines, <<END, that begins at the next line. */
struct shell_here {
    char *end;
    bool tabs;   /* at the beginning of its lines say nothing: <<-END */
    bool quoted; /* nothing in it is expanded */
    bool script; /* a command reads it as one */
};

struct shell {
    struct shell_text in;
    const char *text; /* of all files, each ended by NUL; causes and places are of it */
    struct shell_place {
        int line, column;
    } * places; /* of each byte of it */
    struct shell_file {
        const char *path;
        size_t from; /* in the text */
        bool read;
    } files[1 + SHELL_FILES_MAX]; /* the script itself first */
    size_t nfiles, length;        /* of the text, with its last NUL */
    char *joined;                 /* the text, of several files; NULL: it is the caller's */
    struct shell_state state;
    struct shell_words words; /* of the command */
    struct shell_cause *causes;
    size_t ncauses;
    struct shell_function *functions;
    size_t nfunctions;
    struct shell_here here[SHELL_HERE_TEXTS_MAX];
    size_t nhere;
    size_t expanded;
    int depth, nested;
    int skipping;   /* > 0: what is read is not run */
    uint16_t under; /* the condition under which a command is run, if any; 0: it is run */
    uint16_t cause; /* of what was last not decided */
    int rehearsing; /* > 0: commands are not told, for they are read again */
    bool doubtful;  /* a loop or function may have been left before its end */
    enum shell_leave leave;
    enum shell_tri left_status; /* of `return` */
    int left_line; /* where `exit` was; 0: nowhere */
    bool asked_arguments; /* whether the script looks at its arguments */
    void (*on_command)(void *context, struct shell *shell);
    void *context;
    struct text unread; /* other files that the script reads, which are not */
    uint32_t unread_at; /* where the last of them is named */
    struct diag *diag;
};

/* False, reported: no memory. */
bool shell_reader_init(struct shell *shell, struct place first, const char *text,
                       struct diag *diag);
void shell_reader_fini(struct shell *shell);

/* Give the text of a file that the script may read (`source`, `.`), before it is run; a file is
 * known by what follows the last '/' of its path.  False, reported: over SHELL_FILES_MAX, another
 * of that name, or no memory. */
bool shell_add_file(struct shell *shell, const char *path, const char *text);

/* The file that such a word names, or NULL. */
struct shell_file *shell_find_file(struct shell *shell, const char *path);

/* What is read next; ended by NUL. */
const char *shell_here(const struct shell *shell);

/* Where a byte of what is read comes from. */
struct shell_origin shell_origin(const struct shell *shell, size_t at);
struct place shell_place_at(const struct shell *shell, uint32_t at);

/* Report what stands at a byte of what is read. */
void shell_report(const struct shell *shell, size_t at, const char *what);

/* Take from what a script may come to; false: there is no more, which is reported. */
bool shell_spend(struct shell *shell, size_t nbytes);

/* Whether reading ends: too many faults, or too much. */
bool shell_is_over(const struct shell *shell);

/* A cause; SHELL_UNNAMED where the name is NULL, or where there are too many. */
uint16_t shell_cause_add(struct shell *shell, uint32_t at, const char *name,
                         enum shell_tri is_empty);

/* Make of the last cause that of its opposite, or of one condition among several. */
void shell_cause_change(struct shell *shell, bool opposite);

/* The variable that would make known what is in doubt there; free it; NULL: none would. */
char *shell_deciding(const struct shell *shell, struct shell_origin origin);

/* How long what is not known is in the file: up to its bracket or quote, or its name. */
size_t shell_unknown_length(const char *text);

/* ---- words with a meaning ---- */

/* Whether such a word comes next, and whether a list of commands ends before what does. */
bool shell_at_word(const struct shell *shell, const char *word);
bool shell_at_closing(const struct shell *shell);

/* Pass a word; where another stands that is reported, and nothing more is read. */
bool shell_expect(struct shell *shell, const char *word);

/* ---- letters ---- */

size_t shell_name_length(const char *text);

/* Whether a word is one of a list that NULL ends. */
bool shell_is_one_of(const char *word, const char *const *words);
bool shell_is_space(char c);

/* A backslash at the end of a line: its length with the line's end, or 0. */
size_t shell_goes_on(const char *text);

#endif /* IMPORT_SHELL_READER_H */
