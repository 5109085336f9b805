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
#include "serving/trace_times.h"

#define TRACE_SKIPPED_MAX 16 /* skipped field names that a message lists */

enum trace_field { TRACE_ARRIVAL, TRACE_PROMPT, TRACE_OUTPUT, TRACE_BLOCKS, TRACE_NFIELDS };

/* A name of a field; names are compared without case, spaces and punctuation. */
struct trace_name {
    const char *name;
    enum trace_field field;
    int64_t csv_ns, json_ns; /* of an arrival: the unit that a number is in */
    bool is_unit_named;      /* of an arrival: the name says the unit */
};

/* NULL: no field goes by this name. */
const struct trace_name *trace_find_name(struct json_piece name);

/* The name of a field in messages, such as "arrival (also timestamp)". */
const char *trace_field_name(enum trace_field field);

/* A request as it is read. */
struct trace_row {
    int64_t values[TRACE_BLOCKS]; /* ns since 1970 of an arrival that is a date; tokens */
    double time;                  /* of an arrival that is a number */
    bool is_date;
    bool has[TRACE_NFIELDS];
};

/* A trace as it is read, with the numbers of blocks seen so far. */
struct trace_reading {
    struct request_trace *trace;
    struct map known; /* of `ids` by their hash */
    int64_t *ids;     /* [trace->nids] the number that the file gives each block */
    struct trace_times times;
    struct json_piece skipped[TRACE_SKIPPED_MAX]; /* names of other fields */
    size_t nskipped;
    const char *path;
    struct diag *diag;
};

/* Note a field that is no field of a request. */
void trace_skip_field(struct trace_reading *reading, struct json_piece name);

/* Take the value of a field other than TRACE_BLOCKS, whose numbers are in `unit_ns` if it is an
 * arrival; an error goes to `place`. */
void trace_take_value(struct trace_reading *reading, struct trace_row *row,
                      const struct trace_name *name, int64_t unit_ns, struct json_piece value,
                      struct place place);

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
