/* failures_cases.h - runs of the program that shall survive failures: a line of arguments, the
 * files it finds and those it may write.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FAILURES_CASES_H
#define FAILURES_CASES_H

#include <stdbool.h>
#include <stddef.h>

#define CASE_INPUTS_MAX 4
#define CASE_OUTPUTS_MAX 3

struct failure_case {
    const char *name;      /* also says what it is, in reports */
    const char *arguments; /* with spaces between */
    struct {
        const char *path, *content;
        size_t length; /* 0: up to the NUL */
    } inputs[CASE_INPUTS_MAX];
    const char *outputs[CASE_OUTPUTS_MAX]; /* paths; may be among the inputs: replaced */
    const char
        *questions; /* a file beside this one: lines on standard input, whose answers are lines */
    bool is_tap;
    bool measures; /* its numbers are times */
    int exit;      /* when nothing fails */
};

/* Ended by a case without a name. */
extern const struct failure_case failure_cases[];

#endif /* FAILURES_CASES_H */
