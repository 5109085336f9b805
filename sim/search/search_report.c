/* The text report of a search (search_report.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/search_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wrap.h"
#include "report/figures.h"
#include "report/modelled.h"
#include "report/para.h"
#include "report/table.h"

#define FRONT_MAX 8     /* rows of the front in a text */
#define LINE_COLUMNS 80 /* of sentences */

/* Number of layouts listed. */
static size_t shown(const struct search_outcome *r)
{
    return r->search->nbest < r->ntop ? r->search->nbest : r->ntop;
}

static const struct search_plan *best_of(const struct search *s, size_t rank)
{
    return &s->plans[s->best[rank]];
}

static const struct layout *layout_of(const struct search *s, const struct search_plan *plan)
{
    return &s->items[plan->item].layout;
}

static void add_layout(struct table *table, const struct layout *layout)
{
    struct text words = TEXT_INIT;

    space_print(&words, layout);
    table_add(table, "%s", text_get(&words));
    table->failed |= words.failed;
    text_fini(&words);
}

static void add_figure(struct table *table, enum figure_id id, const struct modelled_figures *f)
{
    struct text cell = TEXT_INIT;

    figure_add_modelled(&cell, id, f);
    table_add(table, "%s", text_get(&cell));
    table->failed |= cell.failed;
    text_fini(&cell);
}

/* ---- the answer ---- */

/* Print the error to expect of the step, and the layouts that tie with it. */
static void print_error(struct text *out, const struct search_outcome *r)
{
    size_t nties = outcome_count_ties(r);

    if (r->measured)
        text_addf(out, "; expected error %.1f %%\n", 100 * r->error);
    else
        text_addf(out,
                  ";\n"
                  "              not validated on this cluster; on validated clusters errors "
                  "reached %.0f %%\n",
                  100 * r->error);
    if (r->search->within_s == 0 && nties > 0)
        text_addf(out, "  tie         within the model's error of %zu layouts below\n", nties);
}

/* Add words behind a heading, and free them. */
static void add_wrapped(struct text *out, struct text *words)
{
    wrap_add(out, LINE_COLUMNS, 14, 14, text_get(words));
    out->failed |= words->failed;
    text_fini(words);
}

static void print_winner(struct text *out, const struct search_outcome *r)
{
    const struct search *s = r->search;
    const struct search_plan *winner = best_of(s, 0);
    const struct modelled_figures *f = &winner->plan.figures;
    struct text words = TEXT_INIT;

    if (s->within_s > 0)
        text_addf(out, "least memory  of steps within %s\n", units_print_seconds(s->within_s).text);
    text_add(out, "best          ");
    space_tell(&words, layout_of(s, winner));
    add_wrapped(out, &words);
    text_add(out, "  code        ");
    space_print(out, layout_of(s, winner));
    text_add_char(out, '\n');
    text_addf(out, "  step        %s on %" PRId64 " devices of %s, MFU %.1f %%",
              units_print_seconds(f->step_s).text, s->subject->space.devices,
              s->subject->hardware->name, 100 * f->mfu_causal_half);
    print_error(out, r);
    text_addf(out, "  memory      %s of %s, including the runtime's\n",
              units_print_bytes((uint128)f->memory_bytes).text,
              units_print_bytes((uint128)s->subject->hardware->memory_bytes).text);
    if (s->subject->margin > 0)
        text_addf(
            out,
            "  margin      %.0f %% of a device's %s for fragmentation, which is not modelled;\n"
            "              --memory sets another limit\n",
            100 * s->subject->margin,
            units_print_bytes((uint128)s->subject->cluster.memory_bytes).text);
    else
        modelled_print_full(out, s->subject->hardware, f->memory_bytes);
    if (r->own_step_s > 0)
        text_addf(out, "  before      %s a step of the scenario itself, %.2f times as long\n",
                  units_print_seconds(r->own_step_s).text, r->own_step_s / f->step_s);
}

/* Append "waiting takes 3.00 ms less" to a list; nothing if both take equally long. */
static void add_part(struct text *line, size_t *nparts, const char *what, double more_s)
{
    if (fabs(more_s) > 0)
        text_addf(line, "%s%s take%s %s %s", (*nparts)++ ? ", " : ": ", what,
                  strchr("wt", what[0]) ? "s" : "", units_print_seconds(fabs(more_s)).text,
                  more_s > 0 ? "more" : "less");
}

/* By how much the best, `a`, is before the second, `b`. */
static void add_second(struct text *line, const struct search_outcome *r,
                       const struct modelled_figures *a, const struct modelled_figures *b)
{
    const struct search *s = r->search;
    double shorter = 1 - a->step_s / b->step_s;

    if (s->within_s > 0)
        text_add(line, "beside the second, ");
    else if (shorter < 0.0005)
        text_add(line, "as fast as the second, ");
    else
        text_addf(line, "%.1f %% shorter than the second, ", 100 * shorter);
    space_print(line, layout_of(s, best_of(s, 1)));
    if (s->within_s == 0 && shorter >= 0.0005 && outcome_ties(r, 1))
        text_add(line, ", a tie within the model's error");
}

/* Compare the parts of the best layout's step with the runner-up's. */
static void print_why(struct text *out, const struct search_outcome *r)
{
    const struct search *s = r->search;
    const struct modelled_figures *a, *b;
    struct text line = TEXT_INIT;
    size_t nparts = 0;

    if (s->nbest < 2)
        return;
    a = &best_of(s, 0)->plan.figures;
    b = &best_of(s, 1)->plan.figures;
    add_second(&line, r, a, b);
    add_part(&line, &nparts, "computations", a->compute_s - b->compute_s);
    add_part(&line, &nparts, "exposed transfers", a->exposed_s - b->exposed_s);
    add_part(&line, &nparts, "waiting", a->bubble_s - b->bubble_s);
    add_part(&line, &nparts, "the update", a->update_s - b->update_s);
    text_add(out, "  why         ");
    wrap_add(out, LINE_COLUMNS, 14, 14, text_get(&line));
    out->failed |= line.failed;
    text_fini(&line);
}

/* What the proof is of, and what is in no layout that was searched. */
static void print_extent(struct text *out, const struct search *s)
{
    struct text searched = TEXT_INIT, unsearched = TEXT_INIT;

    space_tell_extent(&searched, &unsearched, &s->subject->space);
    if (s->subject->filter.system)
        text_addf(&searched, "; layouts %s can express", s->subject->filter.system);
    text_add(out, "  searched    ");
    add_wrapped(out, &searched);
    text_add(out, "  not         ");
    add_wrapped(out, &unsearched);
}

static void print_proof(struct text *out, const struct search_outcome *r)
{
    const struct search *s = r->search;
    double first = search_goal_of(s, &best_of(s, 0)->plan);
    struct text line = TEXT_INIT;

    switch (outcome_proof(r)) {
    case PROOF_OF_ALL:
        text_addf(&line, "exact over %zu layouts: no other is better than the best %zu",
                  s->nlayouts, shown(r));
        break;
    case PROOF_OF_FIRST:
        text_addf(&line,
                  "exact over %zu layouts: none is better; the order below the best is not exact",
                  s->nlayouts);
        break;
    case PROOF_OPEN:
        if (s->proven <= 0) {
            text_addf(&line, "not begun: another of the %zu layouts may be better", s->nlayouts);
            break;
        }
        text_addf(&line, "not finished: the best of %zu layouts is at most %.1f %% %s than this",
                  s->nlayouts, 100 * fmax(0, 1 - s->proven / first),
                  s->within_s > 0 ? "smaller" : "shorter");
        break;
    }
    text_add(out, "  proof       ");
    add_wrapped(out, &line);
    print_extent(out, s);
}

/* ---- tables ---- */

/* Explain the letters in the names of layouts. */
static void print_codes(struct text *out)
{
    struct text words = TEXT_INIT;

    space_print_key(&words);
    text_add(out, "  letters     ");
    wrap_add(out, LINE_COLUMNS, 14, 14, text_get(&words));
    out->failed |= words.failed;
    text_fini(&words);
}

/* Names of the listed layouts; their common part goes to a separate line. */
static struct text *name_rows(struct text *common, const struct search_outcome *r)
{
    size_t n = shown(r);
    struct text *names = calloc(n, sizeof *names);
    const struct layout **layouts = calloc(n, sizeof *layouts);

    for (size_t k = 0; names && layouts && k < n; k++) {
        text_init(&names[k]);
        layouts[k] = layout_of(r->search, best_of(r->search, k));
    }
    common->failed |= !names || !layouts;
    if (!common->failed)
        space_print_apart(common, names, layouts, n);
    free(layouts);
    return names;
}

static const enum figure_id top_figures[] = {FIGURE_MODELLED_STEP, FIGURE_MODELLED_MFU_CAUSAL_HALF,
                                             FIGURE_MODELLED_MEMORY, FIGURE_MODELLED_EXPOSED,
                                             FIGURE_MODELLED_WAITING};
#define NTOP_FIGURES (sizeof top_figures / sizeof top_figures[0])

static void add_row(struct table *table, const struct search_outcome *r, size_t k,
                    const struct text *name)
{
    const struct modelled_figures *f = &best_of(r->search, k)->plan.figures;
    size_t same;

    table_add(table, "%zu", k + 1);
    table_add(table, "%s", name->length > 0 ? text_get(name) : "the best");
    table->failed |= name->failed;
    for (size_t c = 0; c < NTOP_FIGURES; c++)
        add_figure(table, top_figures[c], f);
    same = outcome_same(r, k);
    if (same < k)
        table_add(table, "the same as %zu", same + 1);
    else
        table_add(table, "%s", k && r->search->within_s == 0 && outcome_ties(r, k) ? "tie" : "");
}

static void print_top(struct text *out, size_t columns, const struct search_outcome *r)
{
    struct text common = TEXT_INIT, *names = name_rows(&common, r);
    struct table table;

    table_init(&table, "rlrrrRRl");
    table_heads(&table, "|layout");
    for (size_t c = 0; c < NTOP_FIGURES; c++)
        table_add(&table, "%s", figure_table[top_figures[c]].title);
    table_add(&table, "%s", "");
    for (size_t k = 0; names && k < shown(r); k++)
        add_row(&table, r, k, &names[k]);
    text_addf(out,
              "\n"
              "top           of the planned layouts%s\n",
              r->search->within_s > 0 ? ", by memory" : "; a tie is within the model's error");
    if (common.length > 0 && shown(r) > 1)
        text_addf(out, "  all have    %s\n", text_get(&common));
    table_print_within(&table, 0, columns, out);
    table_fini(&table);
    print_codes(out);
    for (size_t k = 0; names && k < shown(r); k++)
        text_fini(&names[k]);
    free(names);
    out->failed |= common.failed;
    text_fini(&common);
}

static void print_front(struct text *out, size_t columns, const struct search_outcome *r)
{
    const struct search *s = r->search;
    size_t *ranks = calloc(s->nbest, sizeof *ranks), n = ranks ? outcome_front(ranks, s) : 0;
    struct table table;

    out->failed |= !ranks;
    table_init(&table, "rrl");
    table_heads(&table, "memory|step|layout");
    for (size_t k = 0; k < n && k < FRONT_MAX; k++) {
        const struct search_plan *plan = best_of(s, ranks[k]);

        add_figure(&table, FIGURE_MODELLED_MEMORY, &plan->plan.figures);
        add_figure(&table, FIGURE_MODELLED_STEP, &plan->plan.figures);
        add_layout(&table, layout_of(s, plan));
    }
    free(ranks);
    text_add(out, s->within_s > 0
                      ? "\n"
                        "shorter steps of the planned layouts, with the least memory for each\n"
                      : "\n"
                        "less memory   of the planned layouts, with the shortest step for each\n");
    table_print_within(&table, 0, columns, out);
    table_fini(&table);
}

static void print_neighbours(struct text *out, const struct search_outcome *r)
{
    const struct search *s = r->search;
    const struct search_plan *winner = best_of(s, 0);
    struct table table;

    if (r->nneighbours == 0)
        return;
    table_init(&table, "llrr");
    for (size_t k = 0; k < r->nneighbours; k++) {
        const struct search_neighbour *n = &r->neighbours[k];
        const struct search_item *item = &s->items[n->item];
        const struct search_plan *plan = &s->plans[item->plan];
        struct text value = TEXT_INIT;

        if (outcome_is_of_family(r, n->item))
            continue;
        space_print_value(&value, n->choice, item->layout.value[n->choice]);
        table_add(&table, "%s", space_choice_name(n->choice));
        table_add(&table, "%s", text_get(&value));
        text_fini(&value);
        if (plan->plan.state != VARIANT_FITS) {
            table_add(&table, "%s",
                      plan->plan.state == VARIANT_TOO_BIG ? "does not fit" : "refused");
            table_add(&table, "%s", "");
            continue;
        }
        add_figure(&table, s->within_s > 0 ? FIGURE_MODELLED_MEMORY : FIGURE_MODELLED_STEP,
                   &plan->plan.figures);
        table_add(&table, "%+.1f %%%s",
                  100 * (search_goal_of(s, &plan->plan) / search_goal_of(s, &winner->plan) - 1),
                  s->within_s > 0 && plan->plan.figures.step_s > s->within_s ? ", too slow" : "");
    }
    if (table.ncells > 0) {
        text_add(out, "\n"
                      "neighbours    the best layout with one choice changed\n");
        table_print(&table, 0, out);
    }
    table_fini(&table);
}

/* ---- families ---- */

/* Name the part of the step in which a family's best loses most to the winner. */
static void add_reason(struct text *line, const struct modelled_figures *f,
                       const struct modelled_figures *winner)
{
    const struct {
        const char *what;
        double more_s;
    } parts[] = {{"computations", f->compute_s - winner->compute_s},
                 {"exposed transfers", f->exposed_s - winner->exposed_s},
                 {"waiting", f->bubble_s - winner->bubble_s},
                 {"the update", f->update_s - winner->update_s}};
    size_t most = 0, nparts = 0;

    for (size_t k = 1; k < sizeof parts / sizeof parts[0]; k++)
        if (parts[k].more_s > parts[most].more_s)
            most = k;
    add_part(line, &nparts, parts[most].what, parts[most].more_s);
}

static void add_family_plan(struct text *line, const struct search_outcome *r, uint32_t item)
{
    const struct search *s = r->search;
    const struct modelled_figures *winner = &best_of(s, 0)->plan.figures;
    const struct modelled_figures *f = &s->plans[s->items[item].plan].plan.figures;
    double more = f->step_s / winner->step_s - 1;

    space_print_mesh(line, &s->items[item].layout);
    if (s->within_s > 0) {
        text_addf(line, ": %s", units_print_bytes((uint128)f->memory_bytes).text);
        return;
    }
    text_addf(line, ": %s, %+.1f %%%s", units_print_seconds(f->step_s).text, 100 * more,
              fabs(more) <= r->error ? ", a tie" : "");
    add_reason(line, f, winner);
}

static void add_rule(struct text *line, const struct family *f)
{
    if (f->undivided)
        text_addf(line, "none: %s is %" PRId64 ", not a multiple of %s %" PRId64, f->undivided,
                  f->whole, f->by, f->parts);
    else if (f->range)
        text_addf(line, "none: tried only if --range names %s", f->range);
    else
        text_add(line, "none divides");
}

static void add_family(struct text *line, const struct search_outcome *r, const struct family *f)
{
    const struct search *s = r->search;
    struct units_text text;

    switch (f->state) {
    case FAMILY_FITS:
        add_family_plan(line, r, f->item);
        break;
    case FAMILY_TOO_BIG:
        space_print_mesh(line, &s->items[f->item].layout);
        text_addf(line, ": needs at least %s of %s",
                  units_print_bytes((uint128)s->items[f->item].bound_bytes).text,
                  units_print_bytes((uint128)s->subject->hardware->memory_bytes).text);
        break;
    case FAMILY_OPEN:
        if (s->within_s > 0)
            text = units_print_bytes((uint128)s->items[f->item].bound_bytes);
        else
            text = units_print_seconds(s->items[f->item].bound_s);
        text_addf(line, "none found so far; the lower bound is %s", text.text);
        break;
    case FAMILY_REFUSED:
        text_add(line, s->within_s > 0 ? "none is as short" : "all are refused");
        break;
    case FAMILY_NONE:
        add_rule(line, f);
        break;
    }
}

static void print_families(struct text *out, const struct search_outcome *r)
{
    if (r->families.n > 0)
        text_add(out, "\n"
                      "why not       the best layout of each other family\n");
    for (size_t k = 0; k < r->families.n; k++) {
        struct text line = TEXT_INIT;

        text_addf(out, "  %-12s", r->families.of[k].name);
        add_family(&line, r, &r->families.of[k]);
        wrap_add(out, LINE_COLUMNS, 14, 14, text_get(&line));
        out->failed |= line.failed;
        text_fini(&line);
    }
}

static bool is_same(const struct layout *a, const struct layout *b)
{
    enum space_choice which;

    return a->value[SPACE_DP] == b->value[SPACE_DP] && space_differs(a, b, &which) == 0;
}

/* The best of a case, and how much longer the layout that was best before takes there. */
static void add_case(struct table *table, const struct sensitivity_case *c,
                     const struct layout *before)
{
    table_add(table, "%s", c->name);
    table_add(table, "%" PRId64, c->devices);
    if (!c->any) {
        table_add(table, "%s", c->devices > 0 ? "nothing fits" : "nothing divides");
        table_add(table, "%s", "");
        table_add(table, "%s", "");
        return;
    }
    add_layout(table, &c->layout);
    add_figure(table, FIGURE_MODELLED_STEP, &c->figures);
    if (is_same(&c->layout, before))
        table_add(table, "%s", "stays the best");
    else if (c->before_s > 0)
        table_add(table, "the best layout: %+.1f %%", 100 * (c->before_s / c->figures.step_s - 1));
    else
        table_add(table, "%s", "the best layout is not possible on this cluster");
}

static void print_sensitivity(struct text *out, size_t columns, const struct search_outcome *r)
{
    const struct layout *before = layout_of(r->search, best_of(r->search, 0));
    struct table table;

    if (!r->sensitivity)
        return;
    table_init(&table, "lrlrl");
    table_heads(&table, "|devices|the best there|step|");
    for (size_t k = 0; k < r->sensitivity->n; k++)
        add_case(&table, &r->sensitivity->cases[k], before);
    text_add(out, "\nsensitivity   the search again on a worse cluster\n");
    table_print_within(&table, 0, columns, out);
    table_fini(&table);
}

static void print_done(struct text *out, const struct search *s)
{
    double seconds = s->pieces_s + s->bounds_s + s->plans_s;

    text_addf(out,
              "\nsearched      %zu layouts in %s: %.0f a second\n"
              "  bounds      in %s: %zu from their own pieces, %zu of these by their timetables\n"
              "  pieces      %zu in %s\n"
              "  plans       %zu in %s\n"
              "  left out    %zu too big by a lower bound, %zu refused\n",
              s->nlayouts, units_print_seconds(seconds).text,
              seconds > 0 ? (double)s->nlayouts / seconds : 0,
              units_print_seconds(s->bounds_s).text, s->nlevels[SEARCH_LAYERS],
              s->nlevels[SEARCH_TIMED], s->npieces, units_print_seconds(s->pieces_s).text,
              s->nplans, units_print_seconds(s->plans_s).text, s->ntoo_big, s->refusals.n);
    if (s->within_s > 0)
        text_addf(out, "  too slow    %zu\n", s->ntoo_slow);
    for (size_t i = 0; i < REFUSALS_TOLD && s->refusals.reasons[i].n > 0; i++)
        text_addf(out, "%s%zu: %s\n", i == 0 ? "  refused     " : "              ",
                  s->refusals.reasons[i].n, s->refusals.reasons[i].why);
}

/* Say why no layout is best. */
static void print_none(struct text *out, const struct search_outcome *r)
{
    const struct search *s = r->search;
    const char *why = s->refusals.reasons[0].why;
    size_t nlayouts = s->nlayouts + s->nunsaid;

    if (s->subject->filter.system && s->refusals.n == nlayouts)
        text_addf(out, "best          none: %s can express none of %zu layouts: %s\n",
                  s->subject->filter.system, nlayouts, why);
    else if (s->refusals.n > 0 && s->ntoo_big + s->ntoo_slow == 0 && !r->cut_short)
        text_addf(out,
                  "best          none: %zu of %zu layouts are refused, most because:\n"
                  "              %s\n",
                  s->refusals.n, nlayouts, why);
    else if (!r->cut_short)
        text_add(out,
                 "best          none: no planned layout fits; try more --devices, or a smaller\n"
                 "              batch.size\n");
    else if (r->search->nplans == 0)
        text_addf(out, "best          none: %s before any layout was planned\n", r->cut_short);
    else
        text_addf(out, "best          none: %s, and none of %zu planned layouts fits\n",
                  r->cut_short, r->search->nplans);
}

void search_report_text(struct text *out, size_t columns, const struct search_outcome *report)
{
    struct text lines = TEXT_INIT;

    if (report->search->nbest == 0) {
        print_none(&lines, report);
    } else {
        if (report->cut_short)
            text_addf(&lines, "incomplete    %s: the best of %zu layouts planned so far\n",
                      report->cut_short, report->search->nplans);
        else if (report->unlooked)
            text_addf(&lines,
                      "incomplete    %s: all layouts were searched, but not all neighbours and\n"
                      "              families of the best\n",
                      report->unlooked);
        print_winner(&lines, report);
        print_why(&lines, report);
        print_proof(&lines, report);
        print_top(&lines, columns, report);
        print_front(&lines, columns, report);
        print_families(&lines, report);
        print_neighbours(&lines, report);
        print_sensitivity(&lines, columns, report);
    }
    print_done(&lines, report->search);
    para_fold(out, columns, 14, &lines);
}
