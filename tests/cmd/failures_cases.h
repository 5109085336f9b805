/* failures_cases.h - runs of the program that must survive failures: a line of arguments, the
 * input files, and the files that the program may write.
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
    const char *name;      /* also describes the case in reports */
    const char *arguments; /* with spaces between */
    struct {
        const char *path, *content;
        size_t length; /* 0: up to the NUL */
    } inputs[CASE_INPUTS_MAX];
    const char *outputs[CASE_OUTPUTS_MAX]; /* paths; one that is an input too is replaced */
    const char
        *questions; /* a file of questions for standard input; each line is answered by a line */
    bool is_tap;
    bool measures; /* its output has measured times */
    int exit;      /* the exit status if nothing fails */
};

/* Ended by a case without a name. */
extern const struct failure_case failure_cases[];

#endif /* FAILURES_CASES_H */
