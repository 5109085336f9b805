/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/units.h"
#include "base/wrap.h"
#include "cmd/explain/head.h"

#define NAMES_TOLD 7 /* most names listed of consecutive ops that do not communicate */

/* What an entry of the fold moves in a step. */
struct moved {
    uint128 received;
    uint64_t times;
};

/* State of the overview.  Below a heading of phase and layers, consecutive ops that do not
 * communicate share a line, and so do equal collectives over the same axes. */
struct page {
    const struct lesson *l;
    struct text *out;
    size_t numbers;                 /* columns of two op numbers, "1234-1250" */
    struct moved *moved;            /* by entry of the fold */
    struct text heading;            /* current heading, ... */
    const struct fold_entry *above; /* ... and the entry that it was printed for; NULL: none */
    struct text names;    /* names in the pending line, of ops that do not communicate: ",
                             "-separated */
    struct text op;       /* collective of the pending line: "all-gather over tp" */
    uint32_t first, last; /* first and last op of the pending line */
    uint32_t nops;        /* ops in the pending line, listed or not; 0: no pending line */
    uint32_t ntold;
    uint32_t most;      /* the collective that moves most bytes ... */
    struct moved total; /* ... and the sum of all in the line */
};

static const struct program_op *op_of(const struct page *p, uint32_t i)
{
    return &p->l->record->program->ops[i];
}

static const struct moved *moved_by(const struct page *p, uint32_t i)
{
    return &p->moved[p->l->fold->entry_of[i]];
}

/* Whether an op belongs to a layer by its name.  Gradients and optimizer state of a layer's
 * parameters do not: "opt/m/layers/3/mlp/up/kernel". */
static bool is_of_layer(const struct program_op *op)
{
    size_t length;
    const char *digits = fold_layer(op->name, &length);

    return digits && op->part != PROGRAM_ARGUMENTS && op->phase != PROGRAM_PHASE_UPDATE &&
           strncmp(op->name, "opt/", 4) != 0 &&
           strcspn(op->name, " (") >= (size_t)(digits - op->name);
}

/* ---- lines ---- */

static void add_numbers(const struct page *p)
{
    char numbers[32];

    if (p->first == p->last)
        snprintf(numbers, sizeof numbers, "%" PRIu32, p->first + 1);
    else
        snprintf(numbers, sizeof numbers, "%" PRIu32 "-%" PRIu32, p->first + 1, p->last + 1);
    text_addf(p->out, "%*s  ", (int)p->numbers, numbers);
}

/* Add ", 1280 times, 70.0 TiB: layers/<*>/attn/q needs ...; and 2 more like it". */
static void add_reason(const struct page *p, struct text *t)
{
    const char *why = op_of(p, p->most)->why;

    if (p->total.times > 1)
        text_addf(t, ", %" PRIu64 " times", p->total.times);
    text_addf(t, ", %s", units_print_bytes(p->total.received).text);
    if (why) {
        text_add(t, ": ");
        text_add_any_layer(t, why);
        if (p->nops > 1)
            text_addf(t, "; and %" PRIu32 " more like it", p->nops - 1);
    }
}

static void end_line(struct page *p)
{
    struct text t = TEXT_INIT;

    if (p->nops == 0)
        return;
    add_numbers(p);
    if (p->op.length > 0) {
        text_addf(p->out, "%s%s%s", p->l->colour ? "\033[1;33m" : "", text_get(&p->op),
                  p->l->colour ? "\033[0m" : "");
        add_reason(p, &t);
    } else {
        text_add(&t, text_get(&p->names));
        if (p->nops > p->ntold)
            text_addf(&t, " and %" PRIu32 " more", p->nops - p->ntold);
    }
    wrap_add(p->out, p->l->width, p->numbers + 2 + p->op.length, p->numbers + 2, text_get(&t));
    p->out->failed |= t.failed || p->names.failed || p->op.failed;
    text_fini(&t);
    text_clear(&p->names);
    text_clear(&p->op);
    p->nops = p->ntold = 0;
    p->total = (struct moved){0, 0};
}

static void begin_op(struct page *p, uint32_t i)
{
    if (p->nops == 0)
        p->first = p->most = i;
    p->last = i;
}

/* Add an op's name without the layer that the heading names: "layers/3/mlp/up" becomes mlp/up. */
static void add_name(const struct program_op *op, struct text *out)
{
    size_t length;
    const char *digits = fold_layer(op->name, &length);
    bool leads = is_of_layer(op) && digits[length] == '/';

    text_add_any_layer(out, leads ? digits + length + 1 : op->name);
}

static bool has_name(const struct text *names, const char *name)
{
    size_t length = strlen(name); /* 0 if there was no memory for the name */

    for (const char *at = text_get(names); length > 0 && (at = strstr(at, name)); at++) {
        bool begins = at == names->data || at[-1] == ' ';

        if (begins && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void add_local(struct page *p, uint32_t i)
{
    const struct program_op *op = op_of(p, i);
    struct text name = TEXT_INIT;

    if (p->op.length > 0)
        end_line(p);
    begin_op(p, i);
    if (op->kind == PROGRAM_RESHARD)
        text_addf(&name, "%s for ", program_step_name(op));
    add_name(op, &name);
    if (!has_name(&p->names, text_get(&name))) {
        p->nops++;
        if (p->ntold < NAMES_TOLD) {
            text_addf(&p->names, "%s%s",
                      p->ntold                        ? ", "
                      : op->part == PROGRAM_ARGUMENTS ? "given are "
                                                      : "",
                      text_get(&name));
            p->ntold++;
        }
    }
    p->out->failed |= name.failed;
    text_fini(&name);
}

/* Name a collective with its axes: "all-gather over tp". */
static void name_collective(const struct program *program, const struct program_op *op,
                            struct text *out)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    char names[256] = "";
    size_t n = program_op_axes(op, axes);

    if (op->kind == PROGRAM_RECV && program->stage_axis >= 0) {
        axes[0] = (uint8_t)program->stage_axis;
        n = 1;
    }
    program_axes_print(program, axes, (uint32_t)n, names, sizeof names);
    text_addf(out, "%s%s%s", op->kind == PROGRAM_RECV ? "send-recv" : program_step_name(op),
              n ? " over " : "", names);
}

static void add_collective(struct page *p, uint32_t i)
{
    const struct moved *m = moved_by(p, i);
    struct text name = TEXT_INIT;

    name_collective(p->l->record->program, op_of(p, i), &name);
    if (strcmp(text_get(&name), text_get(&p->op)) != 0) {
        end_line(p);
        text_add(&p->op, text_get(&name));
    }
    begin_op(p, i);
    if (m->received > moved_by(p, p->most)->received)
        p->most = i;
    p->nops++;
    p->total.received += m->received;
    p->total.times += m->times;
    p->out->failed |= name.failed;
    text_fini(&name);
}

/* ---- headings ---- */

/* Add the name's part before the layer's number: "layers", "encoder/layers"; for one layer
 * "layer". */
static void add_place(const struct program_op *op, bool one, struct text *out)
{
    size_t length;
    const char *digits = fold_layer(op->name, &length), *from = op->name, *end;

    if (!digits || digits == from)
        return;
    end = digits - 1;
    for (const char *c = from; c < end && !is_of_layer(op); c++)
        if (strchr(" (/", *c))
            from = c + 1; /* start of the last word before the number */
    if (one && end - from > 1 && end[-1] == 's')
        end--;
    text_addf(out, "%.*s ", (int)(end - from), from);
}

/* Whether an op of no layer belongs under the current heading, by its parameter's layers. */
static bool goes_on(const struct page *p, uint32_t i)
{
    const struct fold_entry *above = p->above, *e = fold_entry(p->l->fold, i);
    const struct program_op *op = op_of(p, i);

    if (!above || op_of(p, above->op)->phase != op->phase || is_of_layer(op))
        return false;
    return e->lowest >= 0 && e->lowest == above->lowest && e->highest == above->highest;
}

static void add_heading(struct page *p, uint32_t i)
{
    const struct program_op *op = op_of(p, i);
    const struct fold_entry *e = fold_entry(p->l->fold, i);
    const char *phase =
        op->part == PROGRAM_ARGUMENTS ? "before the step" : program_phase_name(op->phase);
    struct text heading = TEXT_INIT;

    if (goes_on(p, i))
        return;
    text_add(&heading, phase);
    if (op->part != PROGRAM_ARGUMENTS && e->lowest >= 0) {
        text_add(&heading, ", ");
        add_place(op, e->lowest == e->highest, &heading);
        fold_add_layers(e, &heading);
    }
    if (strcmp(text_get(&heading), text_get(&p->heading)) != 0) {
        end_line(p);
        if (strncmp(text_get(&p->heading), phase, strlen(phase)) != 0)
            text_add(p->out, "\n");
        text_add(p->out, p->l->colour ? "\033[1m" : "");
        escape_add(p->out, text_get(&heading));
        text_add(p->out, p->l->colour ? "\033[0m\n" : "\n");
        text_clear(&p->heading);
        text_add(&p->heading, text_get(&heading));
    }
    p->above = op->part == PROGRAM_ARGUMENTS ? NULL : e;
    p->out->failed |= heading.failed || p->heading.failed;
    text_fini(&heading);
}

static void add_all(struct page *p)
{
    const struct program *program = p->l->record->program;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        /* A send is listed with its receive. */
        if (!fold_leads(p->l->fold, i) || op->kind == PROGRAM_SEND)
            continue;
        add_heading(p, i);
        if (program_communicates(op))
            add_collective(p, i);
        else
            add_local(p, i);
    }
    end_line(p);
}

/* Whether the loss is made from the outputs with a cotangent input that the model does not name. */
static bool has_cotangent(const struct program *program)
{
    for (uint32_t i = 0; i < program->first_op; i++) {
        const char *name = program->ops[i].name;

        if (!strncmp(name, "ct", 2) && (!name[2] || name[2] == '/'))
            return true;
    }
    return false;
}

static void add_foot(const struct lesson *l, struct text *out)
{
    text_add(out, "\n");
    if (has_cotangent(l->record->program))
        wrap_add(out, l->width, 0, 0,
                 "The input ct weighs the outputs: the loss is the sum of out * ct.");
    wrap_add(out, l->width, 0, 0,
             "Bytes are received in total, summed over equal layers; op numbers are of the first. "
             "More: --collectives, or --op N for one op, with shardings, transfers and alternative "
             "placements; --ops for all ops; -v for every layer.");
}

int overview_text(const struct lesson *lesson, struct text *out, struct shd_error *err)
{
    const struct program *program = lesson->record->program;
    struct page page = {.l = lesson,
                        .out = out,
                        .moved = calloc((size_t)program->nops + 1, sizeof *page.moved),
                        .heading = TEXT_INIT,
                        .names = TEXT_INIT,
                        .op = TEXT_INIT};
    char last[16];

    if (!page.moved)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the overview");
    for (uint32_t i = 0; i < program->nops; i++) {
        struct moved *m = &page.moved[lesson->fold->entry_of[i]];

        if (!program_communicates(&program->ops[i]))
            continue;
        m->received += record_op_received(lesson->record, i);
        m->times += program->ops[i].times;
    }
    page.numbers = 2 * (size_t)snprintf(last, sizeof last, "%" PRIu32, program->nops) + 2;
    head_add(lesson, out);
    add_all(&page);
    add_foot(lesson, out);
    free(page.moved);
    text_fini(&page.heading);
    text_fini(&page.names);
    text_fini(&page.op);
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the overview") : SHD_OK;
}
