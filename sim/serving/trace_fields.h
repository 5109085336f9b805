/* trace_fields.h - the fields of a request in a file of a trace: the names that they go by, and
 * their values.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_TRACE_FIELDS_H
#define SERVING_TRACE_FIELDS_H

#include "base/json_text.h"
#include "base/map.h"
#include "serving/trace.h"

enum trace_field { TRACE_ARRIVAL, TRACE_PROMPT, TRACE_OUTPUT, TRACE_BLOCKS, TRACE_NFIELDS };

/* A name of a field; names are compared without case, spaces and punctuation. */
struct trace_name {
    const char *name;
    enum trace_field field;
    int64_t csv_ns, json_ns; /* of an arrival: the unit that a number is in */
};

/* NULL: no field goes by this name. */
const struct trace_name *trace_find_name(struct json_piece name);

/* The name of a field in messages, such as "arrival (also timestamp)". */
const char *trace_field_name(enum trace_field field);

/* A request as it is read. */
struct trace_row {
    int64_t values[TRACE_BLOCKS]; /* ns of the arrival from any zero, and tokens */
    bool has[TRACE_BLOCKS];
};

/* Take the value of a field other than TRACE_BLOCKS; an error goes to `place`. */
void trace_take_value(struct trace_row *row, enum trace_field field, int64_t unit_ns,
                      struct json_piece value, struct place place, struct diag *diag);

/* A trace as it is read, with the numbers of blocks seen so far. */
struct trace_reading {
    struct request_trace *trace;
    struct map known; /* of `ids` by their hash */
    int64_t *ids;     /* [trace->nids] the number that the file gives each block */
    const char *path;
    struct diag *diag;
};

/* Add a number to the blocks of the request that is read next.  False: no memory. */
bool trace_add_block(struct trace_reading *reading, int64_t id);

/* Add a request, whose blocks are those from `block` on, or report what it lacks; `place` is where
 * the request begins. */
void trace_add_row(struct trace_reading *reading, const struct trace_row *row, uint32_t block,
                   struct place place);

/* Read all requests of the text. */
void trace_read_csv(struct trace_reading *reading, const char *text, size_t length);
void trace_read_jsonl(struct trace_reading *reading, const char *text, size_t length);

#endif /* SERVING_TRACE_FIELDS_H */
