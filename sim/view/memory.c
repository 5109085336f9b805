/* What memory is for over a step, of each rank of the pipeline: its devices have the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/moments.h"
#include "view/html.h"
#include "view/parts.h"

#define WIDTH 240 /* columns: of more moments a column is the fullest of its own */
#define HEIGHT 100
#define LIMIT_TIMES 3 /* a limit so many times the peak is above the picture */

/* From what stays through a step to what lives an op: the lowest first. */
static const enum program_use order[PROGRAM_NUSES] = {
    PROGRAM_PARAMETERS, PROGRAM_OPTIMIZER,   PROGRAM_GRADIENTS, PROGRAM_DATA,
    PROGRAM_GATHERED,   PROGRAM_ACTIVATIONS, PROGRAM_WORKSPACE};

struct film {
    const struct program *program;
    struct program_moments moments;
    uint32_t rank;
    size_t ncolumns;
    const struct program_moment *columns[WIDTH];
    const struct program_moment *peak;
    uint128 limit;
    double top; /* of the picture, bytes */
};

static void choose_columns(struct film *f)
{
    size_t n = f->moments.n;

    f->ncolumns = n < WIDTH ? n : WIDTH;
    for (size_t c = 0; c < f->ncolumns; c++) {
        const struct program_moment *most = &f->moments.each[c * n / f->ncolumns];

        for (size_t i = c * n / f->ncolumns; i < (c + 1) * n / f->ncolumns; i++)
            if (program_moment_bytes(&f->moments.each[i]) > program_moment_bytes(most))
                most = &f->moments.each[i];
        f->columns[c] = most;
        if (!f->peak || program_moment_bytes(most) > program_moment_bytes(f->peak))
            f->peak = most;
    }
}

static int film_init(struct film *f, const struct result *result, uint32_t rank,
                     struct shd_error *err)
{
    int status;

    *f = (struct film){
        .program = result->record->program, .rank = rank, .limit = result->memory_limit_bytes};
    status = program_moments_init(&f->moments, f->program, rank, err);
    if (status != SHD_OK)
        return status;
    choose_columns(f);
    if (f->peak)
        f->top = (double)program_moment_bytes(f->peak);
    if ((double)f->limit > f->top && (double)f->limit <= LIMIT_TIMES * f->top)
        f->top = (double)f->limit;
    f->top = f->top > 0 ? 1.04 * f->top : 1; /* so that the highest line is seen */
    return SHD_OK;
}

static double height_of(const struct film *f, double bytes)
{
    return HEIGHT - HEIGHT * bytes / f->top;
}

/* Bytes of the lowest `nkinds` at a column. */
static double stacked(const struct film *f, size_t column, int nkinds)
{
    double bytes = 0;

    for (int k = 0; k < nkinds; k++)
        bytes += (double)f->columns[column]->uses[order[k]];
    return bytes;
}

/* The area of a kind: along its upper edge, then back along its lower. */
static void print_area(const struct film *f, int kind, struct text *out)
{
    bool any = false;

    for (size_t c = 0; c < f->ncolumns; c++)
        any |= f->columns[c]->uses[order[kind]] > 0;
    if (!any)
        return;
    text_addf(out, "<path class=m%d d=\"M0 %.1f", kind, height_of(f, stacked(f, 0, kind + 1)));
    for (size_t c = 0; c < f->ncolumns; c++)
        text_addf(out, "V%.1fH%zu", height_of(f, stacked(f, c, kind + 1)), c + 1);
    for (size_t c = f->ncolumns; c-- > 0;)
        text_addf(out, "V%.1fH%zu", height_of(f, stacked(f, c, kind)), c);
    text_addf(out, "Z\"><title>%s</title></path>", program_use_name(order[kind]));
}

static bool limit_is_seen(const struct film *f)
{
    return f->limit > 0 && (double)f->limit <= f->top;
}

static void add_peak(const struct film *f, struct text *out)
{
    const struct program_op *op = &f->program->ops[f->peak->op];

    if (f->program->nranks > 1)
        text_addf(out, "rank %u: ", f->rank);
    text_add(out, "most ");
    html_add_bytes(out, program_moment_bytes(f->peak));
    html_addf(out, " in %s, %s", op->name, program_phase_name(op->phase));
    if (f->limit > 0) {
        text_add(out, "; limit ");
        html_add_bytes(out, f->limit);
        text_add(out, limit_is_seen(f) ? "" : ", above the picture");
    }
}

static void print_film(const struct film *f, struct text *out)
{
    text_addf(out, "<figure class=memory data-peak=%s><figcaption>",
              UINT128_DIGITS(program_moment_bytes(f->peak)));
    add_peak(f, out);
    text_addf(out,
              "</figcaption><svg viewBox=\"0 0 %zu %d\" preserveAspectRatio=none role=img "
              "aria-label=\"Memory from op to op, ",
              f->ncolumns, HEIGHT);
    add_peak(f, out);
    text_add(out, "\">");
    for (int kind = 0; kind < PROGRAM_NUSES; kind++)
        print_area(f, kind, out);
    if (limit_is_seen(f))
        text_addf(out, "<line class=limit x1=0 x2=%zu y1=%.1f y2=%.1f><title>limit</title></line>",
                  f->ncolumns, height_of(f, (double)f->limit), height_of(f, (double)f->limit));
    text_add(out, "</svg></figure>\n");
}

static void print_legend(struct text *out)
{
    text_add(out, "<p class=legend>");
    for (int kind = 0; kind < PROGRAM_NUSES; kind++)
        text_addf(out, "<span><i class=m%d></i>%s</span> ", kind, program_use_name(order[kind]));
    text_add(out, "<span><i class=limit></i>limit</span></p>\n");
}

static void print_row(const struct film *f, struct text *out)
{
    text_addf(out, "<tr><th scope=row>%u</th><td class=n>", f->rank);
    html_add_bytes(out, program_moment_bytes(f->peak));
    text_add(out, "</td>");
    for (int kind = 0; kind < PROGRAM_NUSES; kind++) {
        text_add(out, "<td class=n>");
        html_add_bytes(out, f->peak->uses[order[kind]]);
        text_add(out, "</td>");
    }
    text_add(out, "</tr>\n");
}

static void print_head(size_t id, struct text *out)
{
    text_addf(out,
              "<div class=wide role=region aria-label=\"Memory of strategy %zu\" tabindex=0>\n"
              "<table class=list><caption>What the memory of a device is for at its peak, by rank "
              "of the pipeline.</caption>\n"
              "<thead><tr><th scope=col>rank</th><th scope=col class=n>most</th>",
              id);
    for (int kind = 0; kind < PROGRAM_NUSES; kind++)
        text_addf(out, "<th scope=col class=n>%s</th>", program_use_name(order[kind]));
    text_add(out, "</tr></thead>\n<tbody>\n");
}

/* Pictures go to `out`, rows to `rows`. */
static int print_rank(const struct result *result, uint32_t rank, struct text *out,
                      struct text *rows, struct shd_error *err)
{
    struct film f;
    int status = film_init(&f, result, rank, err);

    if (status == SHD_OK && f.peak) {
        print_film(&f, out);
        print_row(&f, rows);
    }
    program_moments_fini(&f.moments);
    return status;
}

int memory_print(const struct result *result, size_t id, struct text *out, struct shd_error *err)
{
    uint32_t nranks = result->record->program->nranks;
    uint32_t shown = nranks < RANKS_SHOWN_MAX ? nranks : RANKS_SHOWN_MAX;
    struct text rows = TEXT_INIT;
    int status = SHD_OK;

    text_add(out, "<p>From op to op of the step, on paper; it is the same on every device");
    text_add(out, nranks > 1 ? " of a rank." : ".");
    if (shown < nranks)
        text_addf(out, " The first %u of %u ranks are shown.", shown, nranks);
    text_add(out, "</p>\n");
    print_legend(out);
    for (uint32_t rank = 0; rank < shown && status == SHD_OK; rank++)
        status = print_rank(result, rank, out, &rows, err);
    print_head(id, out);
    text_join(out, &rows);
    text_add(out, "</tbody></table></div>\n");
    return status;
}
