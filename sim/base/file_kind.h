/* base/file_kind.h - what a file is that was given in another's place.
 *
 * The files of this program, and those that it reads of others, look unlike each other.  A reader
 * that would find fault with every line of a file of another kind says once what the file is, and
 * what reads it.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FILE_KIND_H
#define BASE_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum file_kind {
    FILE_UNKNOWN,
    FILE_CLUSTER,  /* a hardware file */
    FILE_CONFIG,   /* config.json of a published model */
    FILE_GIN,      /* bindings, as T5X has them */
    FILE_MEGATRON, /* a command with options of Megatron-LM */
    FILE_MODULE,   /* the text of a compiled XLA module */
    FILE_NCCL,     /* the output of nccl-tests */
    FILE_PAGE,     /* HTML */
    FILE_PYTHON,
    FILE_RESULT, /* what --json printed */
    FILE_RULES,  /* a list of partition rules, as EasyDeL has them */
    FILE_RUNS,   /* the database of --save */
    FILE_SCENARIO,
    FILE_STEPS,      /* steps that were measured, for calibrate */
    FILE_TITAN_PYTHON, /* functions of torchtitan's options */
    FILE_TORCHTITAN,   /* its options, as TOML or JSON */
    FILE_TRACE
};

/* By what a text has in it; FILE_UNKNOWN where nothing tells, as for FILE_NCCL and FILE_STEPS. */
enum file_kind file_kind_guess(const char *text, size_t length);

/* Report a file of another kind than the wanted one, and what reads it, at its first line: "this is
 * a result ..., expected a scenario; ...".  False without a report if the kind is the wanted one or
 * nothing tells which it is. */
bool file_kind_refuse(struct diag *diag, const char *path, const char *text, size_t length,
                      enum file_kind wanted);

#endif /* BASE_FILE_KIND_H */
