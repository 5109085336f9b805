/* moves.h - a program's communication as an answer, both planned and executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_MOVES_H
#define QUERY_MOVES_H

#include <shd/error.h>

#include "base/json_out.h"
#include "program/program.h"

/* Write the keys received_bytes, collectives and executed_received_bytes into an open object.  For
 * the last the program runs on device threads, and bytes are counted where they are copied. */
SHD_MUST_CHECK int moves_write(struct json_out *out, const struct program *program,
                               struct shd_error *err);

#endif /* QUERY_MOVES_H */
