/* shell/reader.h - the state of reading a shell script: position, variables, and reasons why
 * values are unknown.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_READER_H
#define SHELL_READER_H

#include "base/diag.h"
#include "shell/state.h"

/* Limit on the bytes of expanded variables, of text that loops and functions read again, and of
 * variables that are copied before branches. */
#define SHELL_EXPANDED_BYTES_MAX ((size_t)1 << 20)

#define SHELL_DEPTH_MAX 16   /* ${A:-${B:-...}} */
#define SHELL_NESTED_MAX 64  /* commands in commands, functions in functions */
#define SHELL_CAUSES_MAX 1000
#define SHELL_UNNAMED 1 /* a cause without a variable, such as a command */
#define SHELL_FUNCTIONS_MAX 100
#define SHELL_HERE_TEXTS_MAX 8 /* here-documents of one line */
#define SHELL_FILES_MAX 16     /* files that a script reads, given by the caller */

enum shell_tri { SHELL_NO, SHELL_YES, SHELL_UNSURE };

/* Why a value is in doubt: an undecided condition, or an assignment to a variable. */
struct shell_cause {
    uint32_t at;
    char *name;              /* variable that decides the doubt; NULL: none */
    enum shell_tri is_empty; /* YES, NO: the condition is that the variable, which is not set, is
                                empty, or not empty; UNSURE: another condition */
};

/* How commands are left: by break, continue, return or exit. */
enum shell_leave { SHELL_STAYS, SHELL_CONTINUES, SHELL_BREAKS, SHELL_RETURNS, SHELL_EXITS };

/* The text being read: the file, or a text that a command gets as a script. */
struct shell_text {
    const char *bytes; /* ended by NUL */
    size_t at;
    const struct shell_origin *origins; /* of each byte; NULL: `bytes` is the file */
};

struct shell_function {
    char *name;
    struct shell_text body; /* at its first byte */
};

/* A here-document, <<END, that begins at the next line. */
struct shell_here {
    char *end;
    bool tabs;   /* tabs at the beginning of lines are ignored: <<-END */
    bool quoted; /* nothing in the text is expanded */
    bool script; /* a command reads the text as a script */
};

struct shell;

/* How commands run; by these pointers what consists of commands (branches, loops, functions) runs
 * them, too. */
struct shell_runner {
    enum shell_tri (*list)(struct shell *shell); /* up to a closing word; the last status */
    enum shell_tri (*command)(struct shell *shell);
};

struct shell {
    const struct shell_runner *run;
    struct shell_text in;
    const char *text; /* of all files, each ended by NUL; causes and places refer to this text */
    struct shell_place {
        int line, column;
    } * places; /* of each byte of `text` */
    struct shell_file {
        const char *path;
        size_t from; /* in the text */
        bool read;
    } files[1 + SHELL_FILES_MAX]; /* the script itself first */
    size_t nfiles, length;        /* length of `text`, with its last NUL */
    char *joined;                 /* `text` if there are several files; NULL: the caller's text */
    struct shell_state state;
    struct shell_words words; /* of the current command */
    struct shell_cause *causes;
    size_t ncauses;
    struct shell_function *functions;
    size_t nfunctions;
    struct shell_here here[SHELL_HERE_TEXTS_MAX];
    size_t nhere;
    size_t expanded;
    int depth, nested;
    int skipping;   /* > 0: commands are read and not run */
    uint16_t under; /* the condition under which a command is run; 0: certainly run */
    uint16_t cause; /* of the last undecided condition */
    int rehearsing; /* > 0: commands are not passed on, because they are read again */
    bool doubtful;  /* a loop or function may have been left before its end */
    enum shell_leave leave;
    enum shell_tri left_status; /* of `return` */
    int left_line; /* where `exit` was; 0: nowhere */
    bool asked_arguments; /* the script uses its arguments */
    void (*on_command)(void *context, struct shell *shell);
    void (*on_operand)(void *context, struct shell *shell, const struct shell_variable *variable);
    void *context;
    struct text unread; /* names of files that the script reads and that are not given */
    uint32_t unread_at; /* where the last of these files is named */
    struct diag *diag;
};

/* False, reported: no memory. */
bool shell_reader_init(struct shell *shell, struct place first, const char *text,
                       struct diag *diag);
void shell_reader_fini(struct shell *shell);

/* Give the text of a file that the script may read (`source`, `.`), before the script is run; a
 * file is known by the part of its path after the last '/'.  False, reported: more than
 * SHELL_FILES_MAX files, two files of one name, or no memory. */
bool shell_add_file(struct shell *shell, const char *path, const char *text);

/* The given file that a path names, or NULL. */
struct shell_file *shell_find_file(struct shell *shell, const char *path);

/* The text to read next, ended by NUL. */
const char *shell_here(const struct shell *shell);

/* The origin of a byte of the current text, and the place of a byte of the files. */
struct shell_origin shell_origin(const struct shell *shell, size_t at);
struct place shell_place_at(const struct shell *shell, uint32_t at);

/* Report a fault, `what`, at a byte of the current text. */
void shell_report(const struct shell *shell, size_t at, const char *what);

/* Use up bytes of SHELL_EXPANDED_BYTES_MAX; false: the limit is reached, which is reported. */
bool shell_spend(struct shell *shell, size_t nbytes);

/* Whether reading ends: too many faults, or the limit on expansion. */
bool shell_is_over(const struct shell *shell);

/* Add a cause; SHELL_UNNAMED if the name is NULL, or after too many causes. */
uint16_t shell_cause_add(struct shell *shell, uint32_t at, const char *name,
                         enum shell_tri is_empty);

/* Leave a status undecided, without a variable that would settle it. */
enum shell_tri shell_unsure(struct shell *shell);

/* Change the last cause to the cause of the opposite condition, or of one condition among
 * several. */
void shell_cause_change(struct shell *shell, bool opposite);

/* The variable that would settle a doubt, to be freed; NULL: none would. */
char *shell_deciding(const struct shell *shell, struct shell_origin origin);

/* Length of an unknown value's text in the file: up to its bracket or quote, or its name. */
size_t shell_unknown_length(const char *text);

/* ---- words with a meaning ---- */

/* Whether a word comes next; whether a word comes next that ends a list of commands. */
bool shell_at_word(const struct shell *shell, const char *word);
bool shell_at_closing(const struct shell *shell);

/* Pass a word; another word in its place is reported, and ends reading. */
bool shell_expect(struct shell *shell, const char *word);

/* ---- letters ---- */

size_t shell_name_length(const char *text);

bool shell_is_space(char c);

/* Length of a backslash at the end of a line, with the line's end; else 0. */
size_t shell_goes_on(const char *text);

#endif /* SHELL_READER_H */
