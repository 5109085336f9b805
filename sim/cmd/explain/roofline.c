/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/roofline.h"

#include <inttypes.h>

#include "base/units.h"
#include "cmd/explain/roofline_table.h"

/* Arithmetic intensity (flops per byte) above which the rate of flops bounds a kernel. */
static double ridge(const struct hardware *h, enum shd_dtype dtype)
{
    return hardware_flops_per_s(h, dtype) / h->memory_bytes_per_s;
}

static void print_name(struct text *out, const struct program_op *op)
{
    struct text name = TEXT_INIT;

    roofline_add_name(&name, op);
    if (program_communicates(op))
        text_addf(out, "%-14s of %-23.23s", program_step_name(op), text_get(&name));
    else
        text_addf(out, "%-34.34s%s", text_get(&name), op->again ? " again" : "      ");
    out->failed |= name.failed;
    text_fini(&name);
}

static void print_line(struct text *out, const struct roofline_table *t,
                       const struct roofline_line *line, int32_t position)
{
    const struct program_op *op = &t->seconds.program->ops[line->op];
    bool moves = program_communicates(op);
    double total = roofline_line_seconds(line), all = t->all_s;

    print_name(out, op);
    text_addf(out, " %-9s %6" PRIu64 "  %8s  %9s  ", program_phase_name(op->phase), line->times,
              moves ? "" : units_print_count((uint128)line->work.flops).text,
              moves ? "" : units_print_bytes((uint128)line->work.bytes).text);
    if (!moves && line->work.bytes > 0)
        text_addf(out, "%7.1f", line->work.flops / line->work.bytes);
    else
        text_addf(out, "%7s", "");
    text_addf(out, "  %8s  %5.1f %%  %s\n", units_print_seconds(line->seconds).text,
              all > 0 ? 100 * total / all : 0, roofline_line_bound(t, line, position));
}

static void print(struct text *out, const struct roofline_table *t, int32_t position)
{
    const struct hardware *h = t->seconds.hardware;
    text_addf(out,
              "Time of each op on device %" PRId32
              " of %s, longest first. Kernels below %.0f flops/byte\n"
              "are memory-bound (bfloat16: %.0f TFLOP/s over %.0f GB/s). Transfers may overlap\n"
              "with computation.\n\n",
              position, h->name, ridge(h, SHD_BF16), hardware_flops_per_s(h, SHD_BF16) * 1e-12,
              h->memory_bytes_per_s * 1e-9);
    text_addf(out, "%-40s %-9s %6s  %8s  %9s  %7s  %8s  %7s  %s\n", "op", "phase", "times", "flops",
              "bytes", "flops/B", "each", "of all", "bound by");
    for (uint32_t k = 0; k < t->nlines; k++)
        print_line(out, t, &t->lines[k], position);
}

int roofline_text(const struct program *program, const struct hardware *hardware, int32_t position,
                  struct text *out, struct shd_error *err)
{
    struct roofline_table t;
    int status = roofline_table_init(&t, program, hardware, position, err);

    if (status != SHD_OK)
        return status;
    print(out, &t, position);
    if (out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a table of ops");
    roofline_table_fini(&t);
    return status;
}
