/* Memory by use over the step, one picture for each rank of the pipeline: all devices of a rank use
 * the same memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "draw/colour.h"
#include "draw/svg.h"
#include "program/moments.h"
#include "report/html.h"
#include "report/parts.h"

#define COLUMNS_MAX 240 /* with more moments a column shows the fullest of its moments */
#define HEIGHT 100
#define LIMIT_TIMES 3 /* a memory limit above this multiple of the peak is not drawn */
#define TICKS_MAX 4   /* and more than half as many, unless the scale ends below that many bytes */

struct film {
    const struct program *program;
    struct program_moments moments;
    uint32_t rank;
    size_t ncolumns;
    const struct program_moment *columns[COLUMNS_MAX];
    const struct program_moment *peak;
    uint128 limit;
    double top; /* of the picture, in bytes; the same for all ranks */
};

static void choose_columns(struct film *f, size_t most)
{
    size_t n = f->moments.n;

    most = most < COLUMNS_MAX ? most : COLUMNS_MAX;
    f->ncolumns = n < most ? n : most;
    for (size_t c = 0; c < f->ncolumns; c++) {
        const struct program_moment *fullest = &f->moments.each[c * n / f->ncolumns];

        for (size_t i = c * n / f->ncolumns; i < (c + 1) * n / f->ncolumns; i++)
            if (program_moment_bytes(&f->moments.each[i]) > program_moment_bytes(fullest))
                fullest = &f->moments.each[i];
        f->columns[c] = fullest;
        if (!f->peak || program_moment_bytes(fullest) > program_moment_bytes(f->peak))
            f->peak = fullest;
    }
}

/* Top of the common scale of the first `nranks` ranks: 4 % above the highest peak or drawn
 * limit. */
static double top_of(const struct result *result, uint32_t nranks)
{
    double most = 0, limit = (double)result->memory_limit_bytes;

    for (uint32_t rank = 0; rank < nranks; rank++) {
        struct program_memory peak;

        program_memory(&peak, result->record->program, rank);
        most = fmax(most, (double)peak.peak_bytes);
    }
    if (limit > most && limit <= LIMIT_TIMES * most)
        most = limit;
    return most > 0 ? 1.04 * most : 1;
}

static int film_init(struct film *f, const struct result *result, uint32_t rank, size_t ncolumns,
                     double top, struct shd_error *err)
{
    int status;

    *f = (struct film){.program = result->record->program,
                       .rank = rank,
                       .limit = result->memory_limit_bytes,
                       .top = top};
    status = program_moments_init(&f->moments, f->program, rank, err);
    if (status != SHD_OK)
        return status;
    choose_columns(f, ncolumns);
    return SHD_OK;
}

static double height_of(const struct film *f, double bytes)
{
    return HEIGHT - HEIGHT * bytes / f->top;
}

/* Bytes of the lowest `nkinds` areas at a column. */
static double stacked(const struct film *f, size_t column, int nkinds)
{
    double bytes = 0;

    for (int k = 0; k < nkinds; k++)
        bytes += (double)f->columns[column]->uses[program_use_order[k]];
    return bytes;
}

#define STRETCHED 0.4 /* size of patterns across: a column is some pixels wide */

/* Colours and patterns of the kinds of memory, as in `show memory`. */
void memory_print_patterns(struct text *out)
{
    for (int kind = 0; kind < PROGRAM_NUSES; kind++) {
        struct colour c = colour_of(kind);
        char id[16];

        snprintf(id, sizeof id, "m%d", kind);
        svg_pattern(out, id, kind, &c, STRETCHED);
        snprintf(id, sizeof id, "l%d", kind);
        svg_pattern(out, id, kind, &c, 1);
    }
}

/* Draw one edge of an area, with corners only where its height changes: to the right, or back. */
static void print_edge(const struct film *f, int nkinds, bool back, struct text *out)
{
    double y = height_of(f, stacked(f, back ? f->ncolumns - 1 : 0, nkinds));

    text_addf(out, "V%.1f", y);
    for (size_t i = 1; i < f->ncolumns; i++) {
        double next = height_of(f, stacked(f, back ? f->ncolumns - 1 - i : i, nkinds));

        if (lround(10 * next) != lround(10 * y))
            text_addf(out, "H%zuV%.1f", back ? f->ncolumns - i : i, next);
        y = next;
    }
    text_addf(out, "H%zu", back ? 0 : f->ncolumns);
}

/* Area of a kind of memory: the path runs along its upper edge and back along its lower edge. */
static void print_area(const struct film *f, int kind, struct text *out)
{
    bool any = false;

    for (size_t c = 0; c < f->ncolumns; c++)
        any |= f->columns[c]->uses[program_use_order[kind]] > 0;
    if (!any)
        return;
    text_addf(out, "<path fill=\"url(#m%d)\" d=\"M0 %.1f", kind, height_of(f, stacked(f, 0, kind)));
    print_edge(f, kind + 1, false, out);
    print_edge(f, kind, true, out);
    text_addf(out, "Z\"><title>%s</title></path>", program_use_name(program_use_order[kind]));
}

static bool limit_is_seen(uint128 limit, double top)
{
    return limit > 0 && (double)limit <= top;
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
        text_add(out, limit_is_seen(f->limit, f->top) ? "" : ", above the picture");
    }
}

/* Distance of ticks: a power of two of bytes, so that all ticks are round. */
static uint128 tick_of(const struct film *f)
{
    uint128 tick = 1;

    while ((double)tick * TICKS_MAX < f->top)
        tick *= 2;
    return tick;
}

static void print_ticks(const struct film *f, struct text *out)
{
    uint128 tick = tick_of(f);

    text_add(out, "<div class=plot><div class=marks aria-hidden=true>");
    for (uint128 at = 0; (double)at <= f->top; at += tick) {
        text_addf(out, "<span style=\"bottom:%.1f%%\">", 100 * (double)at / f->top);
        html_add_bytes(out, at);
        text_add(out, "</span>");
    }
    text_add(out, "</div>");
}

static void print_rules(const struct film *f, struct text *out)
{
    uint128 tick = tick_of(f);

    text_add(out, "<path class=rule d=\"");
    for (uint128 at = 0; (double)at <= f->top; at += tick)
        text_addf(out, "M0 %.1fH%zu", height_of(f, (double)at), f->ncolumns);
    text_add(out, "\"/>");
}

static void print_film(const struct film *f, struct text *out)
{
    text_addf(out, "<figure class=memory data-peak=%s><figcaption>",
              UINT128_DIGITS(program_moment_bytes(f->peak)));
    add_peak(f, out);
    text_add(out, "</figcaption>");
    print_ticks(f, out);
    text_addf(out,
              "<svg viewBox=\"0 0 %zu %d\" preserveAspectRatio=none role=img "
              "aria-label=\"Memory from op to op, ",
              f->ncolumns, HEIGHT);
    add_peak(f, out);
    text_add(out, "\">");
    print_rules(f, out);
    for (int kind = 0; kind < PROGRAM_NUSES; kind++)
        print_area(f, kind, out);
    if (limit_is_seen(f->limit, f->top))
        text_addf(out, "<line class=limit x1=0 x2=%zu y1=%.1f y2=%.1f><title>limit</title></line>",
                  f->ncolumns, height_of(f, (double)f->limit), height_of(f, (double)f->limit));
    text_add(out, "</svg></div></figure>\n");
}

static void print_legend(const struct result *result, double top, struct text *out)
{
    text_add(out, "<p class=legend>");
    for (int kind = 0; kind < PROGRAM_NUSES; kind++) {
        text_addf(out,
                  "<span><svg width=18 height=14 aria-hidden=true><rect width=18 height=14 "
                  "fill=\"url(#l%d)\"/></svg>%s</span> ",
                  kind, program_use_name(program_use_order[kind]));
    }
    if (limit_is_seen(result->memory_limit_bytes, top))
        text_add(out, "<span><i class=limit></i>limit</span>");
    text_add(out, "</p>\n");
}

static void print_row(const struct film *f, struct text *out)
{
    text_addf(out, "<tr><th scope=row>%u</th><td class=n>", f->rank);
    html_add_bytes(out, program_moment_bytes(f->peak));
    text_add(out, "</td>");
    for (int kind = 0; kind < PROGRAM_NUSES; kind++) {
        text_add(out, "<td class=n>");
        html_add_bytes(out, f->peak->uses[program_use_order[kind]]);
        text_add(out, "</td>");
    }
    text_add(out, "</tr>\n");
}

static void print_head(size_t id, struct text *out)
{
    text_addf(out,
              "<div class=wide role=region aria-label=\"Memory of strategy %zu\" tabindex=0>\n"
              "<table class=list><caption>Memory of a device at its peak, by use and pipeline "
              "rank.</caption>\n"
              "<thead><tr><th scope=col>rank</th><th scope=col class=n>most</th>",
              id);
    for (int kind = 0; kind < PROGRAM_NUSES; kind++)
        text_addf(out, "<th scope=col class=n>%s</th>", program_use_name(program_use_order[kind]));
    text_add(out, "</tr></thead>\n<tbody>\n");
}

/* Pictures go to `out`, table rows to `rows`. */
static int print_rank(const struct result *result, uint32_t rank, size_t ncolumns, double top,
                      struct text *out, struct text *rows, struct shd_error *err)
{
    struct film f;
    int status = film_init(&f, result, rank, ncolumns, top, err);

    if (status == SHD_OK && f.peak) {
        print_film(&f, out);
        print_row(&f, rows);
    }
    program_moments_fini(&f.moments);
    return status;
}

/* Print which ranks and microbatches the memory pictures show and omit. */
static void print_words(const struct program *program, uint32_t shown, struct text *out)
{
    text_add(
        out,
        "<p>From op to op of the step, not to scale in time; analytical; equal on every device");
    text_add(out, program->nranks > 1 ? " of a rank; all ranks share one scale." : ".");
    if (shown < program->nranks)
        text_addf(out, " The first %u of %u ranks are shown.", shown, program->nranks);
    if (program_moments_are_of_two(program))
        text_addf(out, " Two of %u microbatches are shown; the others are like the second.",
                  program->microbatches);
    text_add(out, "</p>\n");
}

int memory_print(const struct result *result, size_t id, const struct page_room *room,
                 struct text *out, struct shd_error *err)
{
    uint32_t nranks = result->record->program->nranks;
    uint32_t shown = nranks < RANKS_SHOWN_MAX ? nranks : RANKS_SHOWN_MAX;
    double top = top_of(result, shown);
    struct text rows = TEXT_INIT;
    int status = SHD_OK;

    print_words(result->record->program, shown, out);
    print_legend(result, top, out);
    for (uint32_t rank = 0; rank < shown && status == SHD_OK; rank++)
        status = print_rank(result, rank, room->columns, top, out, &rows, err);
    print_head(id, out);
    text_join(out, &rows);
    text_add(out, "</tbody></table></div>\n");
    return status;
}
