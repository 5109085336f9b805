/* torch_arrays.h - the arguments of an op as recorded in a trace: number and type of array
 * elements, and the numbers and words between arrays.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_ARRAYS_H
#define CAPTURE_TORCH_ARRAYS_H

#include "base/json_text.h"
#include "capture/torch_trace.h"

#define TORCH_ARGUMENTS_MAX 12 /* of an op; later arguments do not matter here */

struct torch_argument {
    bool is_array;    /* an array or a list of arrays */
    bool is_bytes;    /* `elements` counts bytes, whatever the type */
    int64_t elements; /* of all its arrays */
    int64_t narrays;
    int64_t element_bytes; /* TORCH_UNKNOWN; 0: unknown type, as in torch_call */
    bool is_number;
    int64_t number;
    struct json_piece word; /* a string, or the first of a list; or a number as written */
};

struct torch_arrays {
    struct torch_argument arguments[TORCH_ARGUMENTS_MAX];
    uint32_t n;
};

/* Read the profiler's lists, one entry per argument: "Input Dims" ([[8, 16], [[4], [4]], []]),
 * "Input type" (["float", "TensorList", ""]) and "Concrete Inputs" (["", "1", "False"]).  False:
 * `j` is not at an array. */
bool torch_arrays_read_dims(struct torch_arrays *arrays, struct json_text *j);
bool torch_arrays_read_types(struct torch_arrays *arrays, struct json_text *j);
bool torch_arrays_read_scalars(struct torch_arrays *arrays, struct json_text *j);

/* Read the values of a Chakra trace: an array is [id, storage, offset, elements, bytes of an
 * element, device]. */
bool torch_arrays_read_values(struct torch_arrays *arrays, struct json_text *j);

/* Take sizes, type, and a message's other rank from the arguments of an op or label. */
void torch_arrays_of_call(const struct torch_arrays *arrays, struct torch_call *call);

#endif /* CAPTURE_TORCH_ARRAYS_H */
