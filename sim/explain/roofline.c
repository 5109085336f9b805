/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "explain/roofline.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* Ops alike: of one name but for the number of its layer, of one work. */
struct line {
    uint32_t op; /* the first of them */
    uint64_t times;
    double seconds; /* of one, done once */
    struct hardware_work work;
};

struct table {
    struct op_seconds seconds;
    struct line *lines;
    uint32_t nlines;
};

/* Names that differ in numbers of layers alone. */
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

static bool alike(const struct table *t, const struct line *a, const struct line *b)
{
    const struct program_op *x = &t->seconds.program->ops[a->op],
                            *y = &t->seconds.program->ops[b->op];

    return x->kind == y->kind && x->kernel == y->kernel && x->phase == y->phase &&
           x->again == y->again && a->seconds == b->seconds && a->work.flops == b->work.flops &&
           a->work.bytes == b->work.bytes && named_alike(x->name, y->name);
}

static void add_line(struct table *t, struct line line)
{
    for (uint32_t k = t->nlines; k-- > 0;)
        if (alike(t, &t->lines[k], &line)) {
            t->lines[k].times += line.times;
            return;
        }
    t->lines[t->nlines++] = line;
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    double tx = x->seconds * (double)x->times, ty = y->seconds * (double)y->times;

    return tx > ty ? -1 : tx < ty ? 1 : x->op < y->op ? -1 : x->op > y->op;
}

static void collect(struct table *t, int32_t position)
{
    const struct program *program = t->seconds.program;
    uint32_t rank = program_rank(program, position);

    for (uint32_t i = program->first_op; i < program->nops; i++) {
        struct line line = {.op = i, .times = program->ops[i].times};

        if (!program_holds(program, rank, &program->ops[i]))
            continue;
        (void)op_seconds_work(&line.work, &t->seconds, i, position);
        line.seconds = op_seconds_of(&t->seconds, i, position);
        if (t->seconds.chain_bytes[i] > 0)
            line.work.bytes = t->seconds.chain_bytes[i];
        if (line.seconds > 0)
            add_line(t, line);
    }
    qsort(t->lines, t->nlines, sizeof *t->lines, by_time);
}

/* ---- the text ---- */

/* Flops a byte from which the rate of flops bounds a kernel. */
static double ridge(const struct hardware *h, enum shd_dtype dtype)
{
    return hardware_flops_per_s(h, dtype) / h->memory_bytes_per_s;
}

static const char *bound(const struct table *t, const struct line *line)
{
    const struct hardware *h = t->seconds.hardware;
    double moving = line->work.bytes / hardware_kernel_bytes_per_s(h, &line->work);

    if (program_communicates(&t->seconds.program->ops[line->op]))
        return "network";
    return moving >= line->seconds * 0.999 ? "memory" : "compute";
}

static void print_name(struct text *out, const struct program_op *op)
{
    char name[64];
    size_t n = 0;

    for (const char *c = op->name; *c && n + 1 < sizeof name;) {
        if (c > op->name && c[-1] == '/' && isdigit((unsigned char)*c)) {
            name[n++] = '*';
            c += strspn(c, "0123456789");
        } else
            name[n++] = *c++;
    }
    name[n] = '\0';
    if (program_communicates(op))
        text_addf(out, "%-14s of %-23.23s", program_step_name(op), name);
    else
        text_addf(out, "%-34.34s%s", name, op->again ? " again" : "      ");
}

static void print_line(struct text *out, const struct table *t, const struct line *line, double all)
{
    const struct program_op *op = &t->seconds.program->ops[line->op];
    char flops[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX], each[UNITS_TEXT_MAX];
    bool moves = program_communicates(op);
    double total = line->seconds * (double)line->times;

    print_name(out, op);
    text_addf(out, " %-9s %6" PRIu64 "  %8s  %9s  ", program_phase_name(op->phase), line->times,
              moves ? "" : units_print_count(flops, sizeof flops, (uint128)line->work.flops),
              moves ? "" : units_print_bytes(bytes, sizeof bytes, (uint128)line->work.bytes));
    if (!moves && line->work.bytes > 0)
        text_addf(out, "%7.1f", line->work.flops / line->work.bytes);
    else
        text_addf(out, "%7s", "");
    text_addf(out, "  %8s  %5.1f %%  %s\n", units_print_seconds(each, sizeof each, line->seconds),
              all > 0 ? 100 * total / all : 0, bound(t, line));
}

static void print(struct text *out, const struct table *t, int32_t position)
{
    const struct hardware *h = t->seconds.hardware;
    double all = 0;

    for (uint32_t k = 0; k < t->nlines; k++)
        all += t->lines[k].seconds * (double)t->lines[k].times;
    text_addf(
        out,
        "What each op takes on device %" PRId32 " of %s, longest first.  A kernel of fewer "
        "than %.0f\nflops a byte is bound by memory (bfloat16: %.0f TFLOP/s over %.0f GB/s).  "
        "Transfers may go\non beside computations.\n\n",
        position, h->name, ridge(h, SHD_BF16), hardware_flops_per_s(h, SHD_BF16) * 1e-12,
        h->memory_bytes_per_s * 1e-9);
    text_addf(out, "%-40s %-9s %6s  %8s  %9s  %7s  %8s  %7s  %s\n", "op", "phase", "times", "flops",
              "bytes", "flops/B", "each", "of all", "bound by");
    for (uint32_t k = 0; k < t->nlines; k++)
        print_line(out, t, &t->lines[k], all);
}

int roofline_text(const struct program *program, const struct hardware *hardware, int32_t position,
                  struct text *out, struct shd_error *err)
{
    struct table t = {.lines = NULL};
    int status = op_seconds_init(&t.seconds, program, hardware, err);

    if (status != SHD_OK)
        return status;
    t.lines = calloc((size_t)program->nops + 1, sizeof *t.lines);
    if (t.lines) {
        collect(&t, position);
        print(out, &t, position);
    }
    if (!t.lines || out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a table of ops");
    free(t.lines);
    op_seconds_fini(&t.seconds);
    return status;
}
