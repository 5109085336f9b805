/* base/file_kind.h - the kind of a file that was given in place of another.
 *
 * The files of this program, and those of other programs that it reads, are easy to tell apart.  A
 * reader that would report every line of a wrong file reports once what the file is, and which
 * command reads it.
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
    FILE_GIN,      /* gin bindings of T5X */
    FILE_MEGATRON, /* a command with options of Megatron-LM */
    FILE_MODULE,   /* the text of a compiled XLA module */
    FILE_NCCL,     /* the output of nccl-tests */
    FILE_PAGE,     /* HTML */
    FILE_PYTHON,
    FILE_SERVER, /* a command of vLLM or SGLang */
    FILE_RESULT, /* printed by --json */
    FILE_RULES,  /* a list of EasyDeL partition rules */
    FILE_RUNS,   /* the database of --save */
    FILE_SCENARIO,
    FILE_STEPS,        /* measured steps, for calibrate */
    FILE_TITAN_PYTHON, /* torchtitan options as Python functions */
    FILE_TORCHTITAN,   /* torchtitan options as TOML or JSON */
    FILE_TRACE
};

/* Guess the kind from the content; FILE_UNKNOWN if nothing identifies it, as for FILE_NCCL and
 * FILE_STEPS. */
enum file_kind file_kind_guess(const char *text, size_t length);

/* Report at its first line a file of another kind than `wanted`, and what reads it: "this is a
 * result ..., expected a scenario; ...".  Returns false without a report if the kind is `wanted` or
 * unknown. */
bool file_kind_refuse(struct diag *diag, const char *path, const char *text, size_t length,
                      enum file_kind wanted);

#endif /* BASE_FILE_KIND_H */
