/* torch_arrays.h - the arguments of an op as a trace records them: how many elements the arrays of
 * each have, of which type, and the numbers and words between them.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_ARRAYS_H
#define CAPTURE_TORCH_ARRAYS_H

#include "base/json_text.h"
#include "capture/torch_trace.h"

#define TORCH_ARGUMENTS_MAX 12 /* of one op: those behind them tell nothing here */

struct torch_argument {
    bool is_array;    /* or a list of them */
    bool is_bytes;    /* elements are bytes, of whatever type */
    int64_t elements; /* of all its arrays */
    int64_t narrays;
    int64_t element_bytes; /* TORCH_UNKNOWN, and 0 for a type that is not known, as torch_call */
    bool is_number;
    int64_t number;
    struct json_piece word; /* a string, or the first of a list; a number as it is written */
};

struct torch_arrays {
    struct torch_argument arguments[TORCH_ARGUMENTS_MAX];
    uint32_t n;
};

/* Take the profiler's lists, one entry an argument: "Input Dims" ([[8, 16], [[4], [4]], []]),
 * "Input type" (["float", "TensorList", ""]) and "Concrete Inputs" (["", "1", "False"]).  False:
 * `j` does not stand before an array. */
bool torch_arrays_read_dims(struct torch_arrays *arrays, struct json_text *j);
bool torch_arrays_read_types(struct torch_arrays *arrays, struct json_text *j);
bool torch_arrays_read_scalars(struct torch_arrays *arrays, struct json_text *j);

/* Take the values of a Chakra trace: an array is [id, storage, offset, elements, bytes of an
 * element, device]. */
bool torch_arrays_read_values(struct torch_arrays *arrays, struct json_text *j);

/* What a call of an op or a label has of that: sizes, the type, and the other of a message. */
void torch_arrays_of_call(const struct torch_arrays *arrays, struct torch_call *call);

#endif /* CAPTURE_TORCH_ARRAYS_H */
