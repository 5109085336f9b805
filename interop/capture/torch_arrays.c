/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_arrays.h"

/* Overflowing sums and products saturate at INT64_MAX, which no call can have. */
static int64_t add(int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

static int64_t multiply(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

/* Argument i; arguments beyond the last one kept share `spare`. */
static struct torch_argument *argument(struct torch_arrays *arrays, uint32_t i,
                                       struct torch_argument *spare)
{
    if (i >= TORCH_ARGUMENTS_MAX)
        return spare;
    for (; arrays->n <= i; arrays->n++)
        arrays->arguments[arrays->n] = (struct torch_argument){.element_bytes = TORCH_UNKNOWN};
    return &arrays->arguments[i];
}

/* ---- the profiler's lists ---- */

/* Read dimensions: [8, 16] is an array; [[8], [4]] are two; [] is no array, or a scalar. */
static void read_dims(struct torch_argument *a, struct json_text *j)
{
    int64_t elements = 1, extent;
    bool plain = false;

    if (!json_text_open(j, '[')) {
        (void)json_text_skip(j);
        return;
    }
    while (json_text_item(j)) {
        if (json_text_int(j, &extent)) {
            elements = multiply(elements, extent < 0 ? 0 : extent);
            plain = true;
        } else if (json_text_peek(j) == '[') {
            struct torch_argument one = {.elements = 0};
            struct json_text inside = json_text_again(j);
            struct json_piece first;

            /* One level down are extents only; [] is one element. */
            (void)json_text_open(&inside, '[');
            one.narrays = json_text_item(&inside) && !json_text_number(&inside, &first);
            if (one.narrays) {
                (void)json_text_skip(j);
                continue;
            }
            read_dims(&one, j);
            a->is_array = true;
            a->elements = add(a->elements, one.is_array ? one.elements : 1);
            a->narrays++;
        } else {
            (void)json_text_skip(j);
        }
    }
    if (plain) {
        a->is_array = true;
        a->elements = add(a->elements, elements);
        a->narrays++;
    }
}

bool torch_arrays_read_dims(struct torch_arrays *arrays, struct json_text *j)
{
    struct torch_argument spare;

    if (!json_text_open(j, '['))
        return false;
    for (uint32_t i = 0; json_text_item(j); i++)
        read_dims(argument(arrays, i, &spare), j);
    return true;
}

bool torch_arrays_read_types(struct torch_arrays *arrays, struct json_text *j)
{
    struct torch_argument spare;
    struct json_piece type;

    if (!json_text_open(j, '['))
        return false;
    for (uint32_t i = 0; json_text_item(j); i++) {
        struct torch_argument *a = argument(arrays, i, &spare);

        if (!json_text_string(j, &type))
            (void)json_text_skip(j);
        else if (type.length && !json_piece_begins(type, "Scalar") &&
                 !json_piece_is(type, "TensorList") && !json_piece_is(type, "GenericList"))
            a->element_bytes = (int64_t)torch_element_bytes(type);
    }
    return true;
}

/* Read an integer from a string. */
static bool whole(struct json_piece piece, int64_t *out)
{
    struct json_text j;

    json_text_init(&j, piece.at, piece.length);
    return piece.length && json_text_int(&j, out) && j.at == j.end;
}

bool torch_arrays_read_scalars(struct torch_arrays *arrays, struct json_text *j)
{
    struct torch_argument spare;

    if (!json_text_open(j, '['))
        return false;
    for (uint32_t i = 0; json_text_item(j); i++) {
        struct torch_argument *a = argument(arrays, i, &spare);
        struct json_piece piece = {NULL, 0};

        if (json_text_string(j, &piece))
            a->is_number = whole(piece, &a->number);
        else
            (void)json_text_skip(j);
        if (piece.length && *piece.at == '[')
            a->word = piece; /* a list of numbers */
    }
    return true;
}

/* ---- values of Chakra ---- */

/* Read an array: [id, storage, offset, elements, bytes of an element, "device"].  False: none. */
static bool read_array(struct torch_argument *a, struct json_text *j)
{
    struct json_text inside = json_text_again(j);
    int64_t numbers[5];
    struct json_piece device;
    int n = 0;

    if (!json_text_open(&inside, '['))
        return false;
    while (n < 5 && json_text_item(&inside) && json_text_int(&inside, &numbers[n]))
        n++;
    if (n < 5 || !json_text_item(&inside) || !json_text_string(&inside, &device) ||
        json_text_item(&inside) || inside.fault)
        return false;
    *j = inside;
    a->is_array = a->is_bytes = true;
    a->elements = numbers[3] < 0 || numbers[4] < 0
                      ? INT64_MAX
                      : add(a->elements, multiply(numbers[3], numbers[4]));
    a->narrays++;
    return true;
}

/* Read a value: an array, a list of arrays, or lists of lists, up to a fixed depth. */
static void read_value(struct torch_argument *a, struct json_text *j, int depth)
{
    struct json_piece piece;

    if (json_text_peek(j) == '[' && depth < 4) {
        if (read_array(a, j))
            return;
        (void)json_text_open(j, '[');
        while (json_text_item(j))
            read_value(a, j, depth + 1);
        return;
    }
    if (depth == 0 && json_text_number(j, &piece)) {
        a->is_number = whole(piece, &a->number);
        a->word = piece;
    } else if (!json_text_string(j, &piece)) {
        (void)json_text_skip(j);
    } else if (!a->word.at) {
        a->word = piece;
    }
}

bool torch_arrays_read_values(struct torch_arrays *arrays, struct json_text *j)
{
    struct torch_argument spare;

    if (!json_text_open(j, '['))
        return false;
    for (uint32_t i = 0; json_text_item(j); i++)
        read_value(argument(arrays, i, &spare), j, 0);
    return true;
}

/* ---- a call's sizes ---- */

/* Whether an op's first argument is the result and the second the operand: ops whose result differs
 * in size. */
static bool has_result(const struct torch_call *call)
{
    return call->role == TORCH_OP && call->op &&
           (call->op->kind == COLL_ALL_GATHER || call->op->kind == COLL_REDUCE_SCATTER ||
            call->op->kind == COLL_ALL_TO_ALL || call->op->kind == COLL_GATHER ||
            call->op->kind == COLL_SCATTER);
}

static void take_type(struct torch_call *call, const struct torch_argument *a)
{
    if (call->element_bytes == TORCH_UNKNOWN)
        call->element_bytes = a->is_bytes ? 1 : a->element_bytes;
}

void torch_arrays_of_call(const struct torch_arrays *arrays, struct torch_call *call)
{
    uint32_t operand = has_result(call) ? 1 : 0, first_number = arrays->n;

    for (uint32_t i = 0; i < arrays->n; i++) {
        const struct torch_argument *a = &arrays->arguments[i];

        if (a->is_number && first_number == arrays->n)
            first_number = i;
        if (!a->is_array || i > operand)
            continue;
        if (i == operand) {
            call->in_elements = a->elements;
            call->npieces = a->narrays;
        } else {
            call->out_elements = a->elements;
        }
        take_type(call, a);
    }
    /* All arrays of a label are operands. */
    for (uint32_t i = 1; call->role == TORCH_LABEL && i < arrays->n; i++)
        if (arrays->arguments[i].is_array) {
            call->in_elements = add(call->in_elements, arrays->arguments[i].elements);
            call->npieces++;
        }
    if (call->role == TORCH_OP && call->op && (call->op->sends || call->op->receives) &&
        first_number < arrays->n && !json_piece_has(call->name, "any"))
        call->other_in_group = arrays->arguments[first_number].number;
}
