/* args.h - command lines: parsing with argp, suggestions for unknown options, and the common parts
 * of help texts.
 *
 * A help text is argp's: the text before \v comes before the options, the rest after them.  The
 * manual pages are made from it (man/manual.awk): a line that ends with a colon begins a section;
 * in "Examples:" a line indented by two says what an example does, and a line indented by four is
 * the command; in other sections a line is "  TERM  description".  The name of an option's value is
 * its type for completion (contrib/completion): 'a|b' lists all values, FILE and DIR are files.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <shd/export.h>

#define ARGS_COLOUR "auto|always|never"

/* The value of --memory: where the memory of devices comes from. */
#define ARGS_MEMORY "jemalloc|mmap|malloc"
#define ARGS_MEMORY_DOC                                                                           \
    "Device memory from an arena of jemalloc for each device, from pages mapped for it, or from " \
    "malloc. If not given: jemalloc, but mmap from the number of devices on at which arenas "     \
    "would take more than the devices' arrays (and than 16 MiB)"

/* Exit statuses; `failed` is the line of status 1, or "". */
#define ARGS_EXIT_STATUS(failed)                                                                   \
    "Exit status:\n"                                                                               \
    "  0    all well\n" failed "  2    bad input or usage\n"                                       \
    "  3    could not run here: no memory, no threads, or a file cannot be written\n"              \
    "  130  interrupted"

/* Parse a command line; does not return when it is not good, nor after --help. */
void args_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Print an error, with names shown as base/escape.h says, and end the program. */
_Noreturn void args_error(const struct argp_state *state, const char *fmt, ...) SHD_PRINTF(2, 3);

/* The value of --OPTION, a whole number in a range; any other value ends the program. */
long args_parse_count(const char *option, const char *arg, long least, long most,
                      const struct argp_state *state);

/* As args_parse_count(), with suffixes: 4k is 4096. */
long args_parse_size(const char *option, const char *arg, long least, long most,
                     const struct argp_state *state);

/* Read a number as args_parse_size() does, without ending the program: false, with *out unchanged,
 * if it is none. */
bool args_read_size(long *out, const char *arg, long least, long most);

/* The value of --OPTION, a size with its unit (units_parse_memory()); any other value ends the
 * program. */
uint64_t args_parse_bytes(const char *option, const char *arg, const struct argp_state *state);

/* The value of --memory, a kind of memory that this program has; any other value ends the
 * program. */
const char *args_parse_memory(const char *arg, const struct argp_state *state);

#endif /* CMD_ARGS_H */
