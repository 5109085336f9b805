/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void hlo_slices_begin(struct hlo_slices *s)
{
    free(s->wholes);
    *s = (struct hlo_slices){.wholes = NULL};
}

void hlo_slices_fini(struct hlo_slices *s)
{
    hlo_slices_begin(s);
}

static bool is_whole(const struct hlo_slices *s, struct hlo_piece operand)
{
    struct hlo_piece name;
    size_t length;

    if (!hlo_last_name(operand, &name))
        return false;
    length = (size_t)(name.end - name.at);
    for (uint32_t i = 0; i < s->nwholes; i++)
        if ((size_t)(s->wholes[i].end - s->wholes[i].at) == length &&
            !memcmp(s->wholes[i].at, name.at, length))
            return true;
    return false;
}

/* Whether an operand of an instruction is whole: the first, and any. */
static bool reads(bool *first, const struct hlo_slices *s, struct hlo_piece operands)
{
    bool any = false;

    *first = false;
    for (uint32_t i = 0; s->nwholes > 0 && operands.at < operands.end; i++) {
        bool whole = is_whole(s, hlo_take_until(&operands, ','));

        *first |= whole && i == 0;
        any |= whole;
        if (!hlo_take(&operands, ','))
            break;
    }
    return any;
}

/* Ops that only give a value another form. */
static bool reshapes(struct hlo_piece opcode)
{
    static const char *const ops[] = {"bitcast", "bitcast-convert",   "convert",
                                      "copy",    "get-tuple-element", "pad",
                                      "reshape", "transpose"};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (hlo_equal(opcode, ops[i]))
            return true;
    return false;
}

static uint64_t bytes_of(struct hlo_piece shape)
{
    uint64_t bytes = 0;

    return hlo_take_shape(&shape, &bytes, 1) == 1 ? bytes : 0;
}

static bool add_whole(struct hlo_slices *s, struct hlo_piece name)
{
    if (!array_make_room32(&s->wholes, s->nwholes, sizeof *s->wholes))
        return false;
    s->wholes[s->nwholes++] = name;
    return true;
}

bool hlo_slices_see(struct hlo_slices *s, const struct hlo_statement *statement,
                    struct hlo_piece shape, bool is_root, bool is_reduced, uint64_t sliced)
{
    bool first, any;

    if (hlo_equal(statement->opcode, "dynamic-slice"))
        sliced = bytes_of(shape);
    s->root_bytes = is_root ? sliced : s->root_bytes;
    if (s->is_read_whole)
        return true;
    if (is_reduced) {
        s->is_read_whole = is_root || s->nwholes > 0;
        return add_whole(s, statement->name);
    }
    any = reads(&first, s, statement->operands);
    if (first && sliced > 0) {
        s->bytes += sliced < CAPTURE_BYTES_MAX ? sliced : CAPTURE_BYTES_MAX;
    } else if (first && !is_root && reshapes(statement->opcode)) {
        return add_whole(s, statement->name);
    } else {
        s->is_read_whole = any;
    }
    return true;
}

uint64_t hlo_slices_bytes(const struct hlo_slices *s)
{
    return s->is_read_whole ? 0 : s->bytes;
}

void hlo_slices_scatter(struct capture *capture, struct capture_collective *c, uint64_t slice_bytes)
{
    const struct capture_groups *groups = &capture->groups[c->groups];
    uint64_t members = capture_group_size(groups), bytes;

    if (c->kind != COLL_ALL_REDUCE || !capture_groups_equal_size(groups) ||
        slice_bytes >= c->bytes || __builtin_mul_overflow(slice_bytes, members, &bytes) ||
        bytes < c->bytes || bytes / 2 >= c->bytes || bytes > CAPTURE_BYTES_MAX)
        return;
    c->kind = COLL_REDUCE_SCATTER;
    c->op = "reduce-scatter";
    c->bytes = bytes;
}
