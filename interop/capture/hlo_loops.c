/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_loops.h"

#include <stdlib.h>

#include "base/array.h"

#define STEPS_MAX 20000  /* instructions visited for a loop */
#define FRAMES_MAX 256   /* fusions and calls entered for a loop */
#define WHOLE UINT32_MAX /* the value itself, not an item of a tuple */

/* Largest number; two of them add up without overflow. */
#define NUMBER_MAX (INT64_C(1) << 61)

enum op {
    OP_ADD,
    OP_CALL, /* also fusions */
    OP_COMPARE,
    OP_CONSTANT,
    OP_ITEM,
    OP_PARAMETER,
    OP_SAME, /* equal to its operand */
    OP_SUBTRACT,
    OP_TUPLE
};

struct hlo_kept {
    struct hlo_piece operands, attributes;
    enum op op;
};

void hlo_loops_fini(struct hlo_loops *loops)
{
    free(loops->kept);
    free(loops->roots);
    hlo_names_fini(&loops->names);
    *loops = (struct hlo_loops){.kept = NULL};
}

/* ---- instructions kept ---- */

static bool op_of(enum op *out, struct hlo_piece opcode)
{
    static const struct {
        const char *name;
        enum op op;
    } ops[] = {{"add", OP_ADD},
               {"bitcast", OP_SAME},
               {"call", OP_CALL},
               {"compare", OP_COMPARE},
               {"constant", OP_CONSTANT},
               {"convert", OP_SAME},
               {"copy", OP_SAME},
               {"fusion", OP_CALL},
               {"get-tuple-element", OP_ITEM},
               {"opt-barrier", OP_SAME},
               {"optimization-barrier", OP_SAME},
               {"parameter", OP_PARAMETER},
               {"reshape", OP_SAME},
               {"subtract", OP_SUBTRACT},
               {"tuple", OP_TUPLE}};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (hlo_equal(opcode, ops[i].name)) {
            *out = ops[i].op;
            return true;
        }
    return false;
}

/* Let a computation have a root; it and those before it that had none yet have none. */
static bool make_root(struct hlo_loops *loops, uint32_t computation)
{
    while (loops->nroots <= computation) {
        if (!array_make_room(&loops->roots, loops->nroots, sizeof *loops->roots))
            return false;
        loops->roots[loops->nroots++] = HLO_NO_NUMBER;
    }
    return true;
}

bool hlo_loops_keep(struct hlo_loops *loops, uint32_t computation,
                    const struct hlo_statement *statement, bool is_root)
{
    struct hlo_kept kept = {statement->operands, statement->attributes, OP_SAME};

    if (!op_of(&kept.op, statement->opcode))
        return true;
    if (!array_make_room(&loops->kept, loops->nkept, sizeof *loops->kept) ||
        !make_root(loops, computation) ||
        !hlo_names_put(&loops->names, statement->name, computation, loops->nkept))
        return false;
    if (is_root)
        loops->roots[computation] = loops->nkept;
    loops->kept[loops->nkept++] = kept;
    return true;
}

/* ---- operands and attributes ---- */

/* Name of operand i: the last word of "f32[8]{0} %x". */
static bool operand(struct hlo_piece *name, struct hlo_piece operands, uint32_t i)
{
    struct hlo_piece one = hlo_take_until(&operands, ',');

    for (; i > 0; i--) {
        if (!hlo_take(&operands, ','))
            return false;
        one = hlo_take_until(&operands, ',');
    }
    return hlo_last_name(one, name);
}

static uint32_t computation_of(const struct hlo_loops *loops, struct hlo_piece attributes,
                               const char *key)
{
    struct hlo_piece value, name;

    return hlo_attribute(attributes, key, &value) && hlo_take_name(&value, &name)
               ? hlo_names_find(loops->computations, name, 0)
               : HLO_NO_NUMBER;
}

/* ---- values ---- */

enum kind { UNKNOWN, NUMBER, ITEM };

/* An integer; or the loop state's item at the start of a round, plus an integer. */
struct value {
    enum kind kind;
    uint32_t item;
    int64_t number;
};

/* A computation that is evaluated, with the meaning of its parameters. */
struct frame {
    uint32_t computation;
    bool is_loop;               /* the parameter is the loop's state */
    const struct frame *caller; /* NULL: parameters are unknown, except a loop's state */
    struct hlo_piece operands;  /* of the call */
};

struct look {
    const struct hlo_loops *loops;
    struct frame frames[FRAMES_MAX];
    uint32_t nframes, nsteps;
};

static const struct hlo_kept *find(struct look *look, const struct frame *frame,
                                   struct hlo_piece name)
{
    uint32_t number = hlo_names_find(&look->loops->names, name, frame->computation);

    return number != HLO_NO_NUMBER && look->nsteps++ < STEPS_MAX ? &look->loops->kept[number]
                                                                 : NULL;
}

static const struct hlo_kept *root_of(const struct look *look, uint32_t computation)
{
    const struct hlo_loops *loops = look->loops;

    return computation < loops->nroots && loops->roots[computation] != HLO_NO_NUMBER
               ? &loops->kept[loops->roots[computation]]
               : NULL;
}

/* Enter the computation that a call calls; returns its root, and its frame.  NULL: the root was not
 * kept. */
static const struct hlo_kept *enter(struct look *look, const struct frame **frame,
                                    const struct hlo_kept *call)
{
    uint32_t callee = computation_of(look->loops, call->attributes, "calls");
    struct frame *inner;

    if (callee == HLO_NO_NUMBER)
        callee = computation_of(look->loops, call->attributes, "to_apply");
    if (callee == HLO_NO_NUMBER || look->nframes == FRAMES_MAX || look->nsteps++ >= STEPS_MAX)
        return NULL;
    inner = &look->frames[look->nframes++];
    *inner = (struct frame){callee, false, *frame, call->operands};
    *frame = inner;
    return root_of(look, callee);
}

static struct value sum(struct value a, struct value b, bool subtract)
{
    if (a.kind == UNKNOWN || b.kind == UNKNOWN || (a.kind == ITEM && b.kind == ITEM) ||
        (subtract && b.kind == ITEM))
        return (struct value){UNKNOWN, 0, 0};
    if (b.kind == ITEM)
        a.item = b.item;
    a.kind = a.kind == ITEM ? ITEM : b.kind;
    a.number += subtract ? -b.number : b.number;
    if (a.number > NUMBER_MAX || a.number < -NUMBER_MAX)
        a.kind = UNKNOWN;
    return a;
}

static struct value constant(struct hlo_piece operands)
{
    struct value value = {NUMBER, 0, 0};

    if (!hlo_take_integer(&operands, &value.number) || operands.at != operands.end ||
        value.number > NUMBER_MAX || value.number < -NUMBER_MAX)
        value.kind = UNKNOWN;
    return value;
}

/* Value of an instruction, or of an item of the tuple that it returns. */
static struct value value_of(struct look *look, const struct frame *frame,
                             const struct hlo_kept *kept, uint32_t item)
{
    static const struct value unknown = {UNKNOWN, 0, 0};
    struct hlo_piece name, index;
    uint64_t number;

    while (kept) {
        struct hlo_piece operands = kept->operands;
        uint32_t which = 0;

        switch (kept->op) {
        case OP_CONSTANT:
            return item == WHOLE ? constant(operands) : unknown;
        case OP_PARAMETER:
            if (frame->is_loop)
                return (struct value){ITEM, item, 0};
            if (!frame->caller || !hlo_take_number(&operands, &number) || number >= WHOLE)
                return unknown;
            which = (uint32_t)number;
            operands = frame->operands;
            frame = frame->caller;
            break;
        case OP_TUPLE:
            if (item == WHOLE)
                return unknown;
            which = item;
            item = WHOLE;
            break;
        case OP_ITEM:
            if (item != WHOLE || !hlo_attribute(kept->attributes, "index", &index) ||
                !hlo_take_number(&index, &number) || number >= WHOLE)
                return unknown;
            item = (uint32_t)number;
            break;
        case OP_CALL:
            kept = enter(look, &frame, kept);
            continue;
        case OP_ADD:
        case OP_SUBTRACT: {
            struct value values[2] = {unknown, unknown};

            for (uint32_t i = 0; i < 2 && item == WHOLE; i++)
                if (operand(&name, operands, i))
                    values[i] = value_of(look, frame, find(look, frame, name), WHOLE);
            return sum(values[0], values[1], kept->op == OP_SUBTRACT);
        }
        case OP_SAME:
            break;
        case OP_COMPARE:
            return unknown;
        }
        kept = operand(&name, operands, which) ? find(look, frame, name) : NULL;
    }
    return unknown;
}

/* ---- loops ---- */

/* Relations between item and bound; GT and GE are LT and LE of the negated numbers. */
enum relation { LT, LE, NE, EQ, GT, GE, NRELATIONS };

static const struct {
    const char *direction, *words;
    enum relation mirrored; /* the same relation with sides exchanged */
} relations[NRELATIONS] = {
    [LT] = {"LT", "less than", GT}, [LE] = {"LE", "at most", GE},   [NE] = {"NE", "other than", NE},
    [EQ] = {"EQ", "equal to", EQ},  [GT] = {"GT", "more than", LT}, [GE] = {"GE", "at least", LE}};

/* Number of rounds while a number that begins at `start`, and grows by `step` each round, is
 * `relation` to the bound.  False: it would wrap around first. */
static bool rounds(uint64_t *out, enum relation relation, int64_t start, int64_t bound,
                   int64_t step)
{
    int64_t distance;

    if (relation == GT || relation == GE) {
        start = -start;
        bound = -bound;
        step = -step;
        relation = relation == GT ? LT : LE;
    }
    distance = bound - start + (relation == LE);
    *out = 0;
    if (relation == EQ ? distance != 0 : relation == NE ? distance == 0 : distance <= 0)
        return true;
    if (step == 0)
        return false;
    if (relation == EQ) {
        *out = 1;
        return true;
    }
    if ((step > 0) != (distance > 0) || (relation == NE && distance % step))
        return false;
    *out = (uint64_t)(distance / step + (distance % step != 0));
    return true;
}

/* Follow calls and copies from the condition's root to its comparison.  NULL: none found. */
static const struct hlo_kept *find_comparison(struct look *look, const struct frame **frame)
{
    const struct hlo_kept *kept = root_of(look, (*frame)->computation);
    struct hlo_piece name, operands;
    uint64_t number;

    while (kept && kept->op != OP_COMPARE) {
        operands = kept->operands;
        if (kept->op == OP_CALL) {
            kept = enter(look, frame, kept);
            continue;
        }
        number = 0;
        if (kept->op == OP_PARAMETER && (*frame)->caller && hlo_take_number(&operands, &number)) {
            operands = (*frame)->operands;
            *frame = (*frame)->caller;
        } else if (kept->op != OP_SAME) {
            return NULL;
        }
        kept = number < WHOLE && operand(&name, operands, (uint32_t)number)
                   ? find(look, *frame, name)
                   : NULL;
    }
    return kept;
}

static bool read_relation(enum relation *out, const struct hlo_kept *comparison)
{
    struct hlo_piece value;

    if (!hlo_attribute(comparison->attributes, "direction", &value))
        return false;
    for (enum relation r = 0; r < NRELATIONS; r++)
        if (hlo_take_word(&value, relations[r].direction)) {
            *out = r;
            return true;
        }
    return false;
}

struct loop {
    struct frame outside, condition, body;
    struct hlo_piece operands;
};

/* Value of an item before the loop. */
static struct value value_before(struct look *look, const struct loop *loop, uint32_t item)
{
    struct hlo_piece name;

    return operand(&name, loop->operands, 0)
               ? value_of(look, &loop->outside, find(look, &loop->outside, name), item)
               : (struct value){UNKNOWN, 0, 0};
}

/* Replace an item that the body never changes by its value before the loop; keep other values. */
static struct value invariant(struct look *look, const struct loop *loop, struct value value)
{
    struct value next, before;

    if (value.kind != ITEM)
        return value;
    next = value_of(look, &loop->body, root_of(look, loop->body.computation), value.item);
    if (next.kind != ITEM || next.item != value.item || next.number != 0)
        return value;
    before = value_before(look, loop, value.item);
    return before.kind == NUMBER ? sum(before, (struct value){NUMBER, 0, value.number}, false)
                                 : value;
}

/* The two sides of the condition: the item that changes on the left, a number on the right. */
static bool find_sides(struct value sides[2], enum relation *relation, struct look *look,
                       const struct loop *loop)
{
    const struct frame *frame = &loop->condition;
    const struct hlo_kept *comparison = find_comparison(look, &frame);
    struct value exchanged;
    struct hlo_piece name;

    if (!comparison || !read_relation(relation, comparison))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (!operand(&name, comparison->operands, i))
            return false;
        sides[i] = invariant(look, loop, value_of(look, frame, find(look, frame, name), WHOLE));
    }
    if (sides[0].kind == NUMBER) {
        exchanged = sides[0];
        sides[0] = sides[1];
        sides[1] = exchanged;
        *relation = relations[*relation].mirrored;
    }
    return sides[0].kind == ITEM && sides[1].kind == NUMBER;
}

static bool count(struct hlo_count *out, struct look *look, const struct loop *loop)
{
    struct value sides[2], next, before;
    enum relation relation;

    if (!find_sides(sides, &relation, look, loop))
        return false;
    next = value_of(look, &loop->body, root_of(look, loop->body.computation), sides[0].item);
    before = value_before(look, loop, sides[0].item);
    if (next.kind != ITEM || next.item != sides[0].item || before.kind != NUMBER)
        return false;
    out->start = before.number;
    out->step = next.number;
    out->bound = sides[1].number - sides[0].number;
    out->relation = relations[relation].words;
    return rounds(&out->trips, relation, out->start, out->bound, out->step);
}

bool hlo_loops_count(struct hlo_count *out, const struct hlo_loops *loops, uint32_t computation,
                     const struct hlo_statement *statement)
{
    struct loop loop = {.outside = {.computation = computation},
                        .condition = {.is_loop = true},
                        .body = {.is_loop = true},
                        .operands = statement->operands};
    struct look look = {.loops = loops};

    loop.condition.computation = computation_of(loops, statement->attributes, "condition");
    loop.body.computation = computation_of(loops, statement->attributes, "body");
    return count(out, &look, &loop);
}
