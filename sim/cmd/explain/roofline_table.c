/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/roofline_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Whether two names differ only in layer numbers. */
static bool named_alike(const char *a, const char *b)
{
    while (*a || *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++)
            return false;
    }
    return true;
}

static bool alike(const struct roofline_table *t, const struct roofline_line *a,
                  const struct roofline_line *b)
{
    const struct program_op *x = &t->seconds.program->ops[a->op],
                            *y = &t->seconds.program->ops[b->op];

    return x->kind == y->kind && x->kernel == y->kernel && x->phase == y->phase &&
           x->again == y->again && a->seconds == b->seconds && a->work.flops == b->work.flops &&
           a->work.bytes == b->work.bytes && named_alike(x->name, y->name);
}

static void add_line(struct roofline_table *t, struct roofline_line line)
{
    for (uint32_t k = t->nlines; k-- > 0;)
        if (alike(t, &t->lines[k], &line)) {
            t->lines[k].times += line.times;
            return;
        }
    t->lines[t->nlines++] = line;
}

double roofline_line_seconds(const struct roofline_line *line)
{
    return line->seconds * (double)line->times;
}

static int by_time(const void *a, const void *b)
{
    const struct roofline_line *x = a, *y = b;
    double tx = roofline_line_seconds(x), ty = roofline_line_seconds(y);

    return tx > ty ? -1 : tx < ty ? 1 : x->op < y->op ? -1 : x->op > y->op;
}

static void collect(struct roofline_table *t, int32_t position)
{
    const struct program *program = t->seconds.program;
    uint32_t rank = program_rank(program, position);

    for (uint32_t i = program->first_op; i < program->nops; i++) {
        struct roofline_line line = {.op = i, .times = program->ops[i].times};

        if (!program_holds(program, rank, &program->ops[i]))
            continue;
        (void)op_seconds_timed(&line.work, &t->seconds, i, position);
        line.seconds = op_seconds_of(&t->seconds, i, position);
        if (line.seconds > 0)
            add_line(t, line);
    }
    qsort(t->lines, t->nlines, sizeof *t->lines, by_time);
    for (uint32_t k = 0; k < t->nlines; k++)
        t->all_s += roofline_line_seconds(&t->lines[k]);
}

int roofline_table_init(struct roofline_table *out, const struct program *program,
                        const struct hardware *hardware, int32_t position, struct shd_error *err)
{
    int status;

    *out = (struct roofline_table){.lines = NULL};
    status = op_seconds_init(&out->seconds, program, hardware, err);
    if (status != SHD_OK)
        return status;
    out->lines = calloc((size_t)program->nops + 1, sizeof *out->lines);
    if (!out->lines) {
        roofline_table_fini(out);
        return shd_error_set(err, SHD_ENOMEM, "no memory for a table of ops");
    }
    collect(out, position);
    return SHD_OK;
}

void roofline_table_fini(struct roofline_table *table)
{
    free(table->lines);
    table->lines = NULL;
    op_seconds_fini(&table->seconds);
}

const char *roofline_line_bound(const struct roofline_table *t, const struct roofline_line *line,
                                int32_t position)
{
    const struct program_op *op = &t->seconds.program->ops[line->op];

    if (program_is_beside(op))
        return program_communicates(op) ? "network" : "host";
    return hardware_bound_name(op_seconds_bound(&t->seconds, line->op, position));
}

void roofline_add_name(struct text *out, const struct program_op *op)
{
    for (const char *c = op->name; *c;) {
        if (c > op->name && c[-1] == '/' && isdigit((unsigned char)*c)) {
            text_add_char(out, '*');
            c += strspn(c, "0123456789");
        } else {
            text_add_char(out, *c++);
        }
    }
}
