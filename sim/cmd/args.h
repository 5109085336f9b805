/* args.h - command lines: their options as rows, suggestions for unknown ones, and the common parts
 * of help texts.
 *
 * A row is an option: its name, its help, the field of the command's struct that its value goes to,
 * and the function that takes it there, which ends the program with a message if the value is bad.
 * Values of a kind that only one command has are taken by a function of that command.
 *
 * A help text is argp's: the text before \v comes before the options, the rest after them, and \f
 * stands for what `more` prints.  The manual pages are made from it (man/manual.awk): a line that
 * ends with a colon begins a section; in "Examples:" a line indented by two says what an example
 * does, and a line indented by four is the command; in other sections a line is "  TERM
 * description".  The name of an option's value is its type for completion (contrib/completion):
 * 'a|b' lists all values, FILE and DIR are files.
 *
 * Thread class: owned by one thread; tables are immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/export.h>

#include "base/text.h"

#define ARGS_COLOUR "auto|always|never"

/* The row of --force of a command that writes a file for users to edit (cmd_check_new()). */
#define ARGS_FORCE(type, field)                                                                 \
    {                                                                                           \
        "force", 0, NULL, args_switch, ARGS_AT(type, field), 0, 0, "Overwrite an existing FILE" \
    }

/* The value of --memory: where the memory of devices comes from. */
#define ARGS_MEMORY "jemalloc|mmap|malloc"
#define ARGS_MEMORY_DOC                                                                          \
    "Device memory: a jemalloc arena for each device, pages mapped for each device, or malloc. " \
    "Default: jemalloc, or mmap if the arenas themselves would take more than the devices' "     \
    "arrays and more than 16 MiB"

/* Exit statuses; `failed` is the line of status 1, or "". */
#define ARGS_EXIT_STATUS(failed)                                                      \
    "Exit status:\n"                                                                  \
    "  0    success\n" failed "  2    invalid input or usage\n"                       \
    "  3    cannot run here: out of memory or threads, or a file cannot be written\n" \
    "  130  interrupted"

struct args_line; /* a command line that is being parsed */

/* The value of an option, or an operand. */
struct args_value {
    const struct args_line *line;
    const struct args_row *row;
    char *arg; /* NULL: left out */
    void *at;  /* the field to set */
};

/* Store a value in its field. */
typedef void args_take(const struct args_value *value);

struct args_row {
    const char *name; /* NULL: `help` is a heading of the following rows */
    int letter;       /* the short form, or 0; with ARGS_BARE the value may be left out */
    const char *value;
    args_take *take; /* NULL: the name is an alias of the previous row */
    size_t at;       /* the field's offset in the command's struct */
    size_t size;     /* the field's bytes; of a list, the offset of its count */
    long least, most;
    const char *help;
};
#define ARGS_BARE 0x1000

/* `at` and `size` of a field; of a list and its size_t. */
#define ARGS_AT(type, field) offsetof(type, field), sizeof(((type *)0)->field)
#define ARGS_LIST(type, list, count) offsetof(type, list), offsetof(type, count)

/* Operands: words that are not options. */
struct args_word {
    args_take *take;     /* NULL: there are none */
    size_t at, size;     /* as of a row */
    const char *again;   /* message for an excess word, %s; NULL: any number is accepted */
    const char *missing; /* message if there is none; NULL: optional */
};

/* Options and operands of a struct that several commands embed in their own. */
struct args_part {
    const struct args_row *rows; /* ended by {0}; NULL: none */
    struct args_word word;
    /* Set the struct's defaults, and allocate room for `argc` words; false: no memory, with a
     * message.  NULL: nothing to do. */
    bool (*begin)(void *part, int argc);
};

struct args {
    struct args_part own;
    struct {
        const struct args_part *part; /* NULL: no more */
        size_t at;                    /* the offset of its struct */
    } parts[4];
    const char *operands; /* the words in the line of usage; NULL: none */
    const char *help;
    void (*more)(struct text *out); /* prints the text for \f; NULL: the help has no \f */
    /* Check combinations of options, at the end of the line; NULL: all are valid. */
    void (*check)(const struct args_line *line, void *input);
};

/* Parse a command line into *input, the command's struct with its defaults; does not return if the
 * line is invalid, nor after --help. */
void args_parse(const struct args *args, int argc, char **argv, void *input);

/* Print an error, with names shown as base/escape.h says, and end the program. */
_Noreturn void args_error(const struct args_line *line, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Whether the line has the option of this name. */
bool args_given(const struct args_line *line, const char *name);

/* Kinds of values.  Numbers are of `least` to `most`, in fields of four or eight bytes. */
args_take args_switch; /* bool: true */
args_take args_set;    /* an int or enum: `least` */
args_take args_text;   /* const char *: the value, of argv */
args_take args_count;  /* a whole number */
args_take args_size;   /* a whole number, or with a suffix: 4k is 4096 */
args_take args_bytes;  /* uint64_t: a size with its unit (units_parse_memory()) */
args_take args_choice; /* an int or enum: which of the words in `value`; `least` if left out */
args_take args_list;   /* const char *[most]: one more */
args_take args_words;  /* const char **, with room for all words of the line: one more */
args_take args_memory; /* const char *: a kind of memory that this program has */

#endif /* CMD_ARGS_H */
