/* Timeline of a step: a lane for each device or class of devices, computations above, transfers
 * below.
 *
 * A lane has a limited number of columns.  Ops that fall into one column, or follow each other
 * without a visible gap, are drawn as one bar in the colour of the first op's phase.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cost/timeline.h"
#include "report/class_traffic.h"
#include "report/html.h"
#include "report/parts.h"

#define WIDTH 1000 /* in the picture's coordinates; browsers stretch it */
#define HEIGHT 20
#define COLUMNS_LEAST 50
#define TICKS 4

struct bar {
    int64_t start_ns, end_ns;
    uint32_t op; /* its first op */
    size_t nops;
};

struct when {
    const struct record *record;
    struct timeline *timeline;
    int64_t column_ns; /* time of a column; shorter bars are merged */
};

static const char *class_of(const struct when *w, const struct bar *bar)
{
    static const char *const phases[] = {"f", "b", "u"};
    const struct program_op *op = &w->record->program->ops[bar->op];

    return program_communicates(op) ? "c" : phases[op->phase];
}

static void add_seconds(struct text *out, int64_t ns)
{
    text_add(out, units_print_seconds((double)ns * 1e-9).text);
}

static double at(const struct when *w, int64_t ns)
{
    return (double)ns * WIDTH / (double)w->timeline->step_ns;
}

static void print_bar(const struct when *w, const struct bar *bar, struct text *out)
{
    const struct program_op *op = &w->record->program->ops[bar->op];
    bool moves = program_communicates(op);

    text_addf(out, "<rect class=%s x=%.1f y=%d width=%.1f height=%d><title>", class_of(w, bar),
              at(w, bar->start_ns), moves ? HEIGHT / 2 : 0, at(w, bar->end_ns - bar->start_ns),
              HEIGHT / 2);
    if (bar->nops == 1)
        html_addf(out, "%s of %s, %s: ", program_step_name(op), op->name,
                  program_phase_name(op->phase));
    else
        html_addf(out, "%zu ops from %s, %s: ", bar->nops, op->name, program_phase_name(op->phase));
    add_seconds(out, bar->start_ns);
    text_add(out, " \xe2\x80\x93 ");
    add_seconds(out, bar->end_ns);
    text_add(out, "</title></rect>");
}

/* Extend the current bar, or print it and begin the next. */
static void add_bar(const struct when *w, struct bar *bar, const struct events_seen *seen,
                    struct text *out)
{
    struct bar next = {seen->start_ns, seen->end_ns, seen->op, 1};
    bool small, alike;

    if (next.end_ns == next.start_ns)
        return;
    if (bar->nops > 0) {
        small = next.end_ns - bar->start_ns <= w->column_ns;
        alike = class_of(w, bar) == class_of(w, &next) &&
                next.start_ns - bar->end_ns < w->column_ns &&
                (bar->end_ns - bar->start_ns <= w->column_ns ||
                 next.end_ns - next.start_ns <= w->column_ns);
        if (small || alike) {
            bar->end_ns = next.end_ns > bar->end_ns ? next.end_ns : bar->end_ns;
            bar->nops++;
            return;
        }
        print_bar(w, bar, out);
    }
    *bar = next;
}

static void print_bars(const struct when *w, const struct timeline_lane *lane, struct text *out)
{
    struct bar bar = {.nops = 0};

    for (size_t i = 0; i < lane->nactions; i++)
        if (lane->actions[i].stream < 0)
            add_bar(w, &bar, &lane->actions[i], out);
    if (bar.nops > 0)
        print_bar(w, &bar, out);
    bar.nops = 0;
    for (size_t i = 0; i < lane->nstretches; i++) {
        if (i > 0 && lane->stretches[i].stream != lane->stretches[i - 1].stream && bar.nops > 0) {
            print_bar(w, &bar, out);
            bar.nops = 0;
        }
        add_bar(w, &bar, &lane->stretches[i], out);
    }
    if (bar.nops > 0)
        print_bar(w, &bar, out);
}

static void add_name(const struct when *w, uint32_t l, struct text *out)
{
    const struct program_class *devices = &w->timeline->lanes[l].devices;
    const struct program *program = w->record->program;
    int32_t first = shd_mesh_device_id(program->asked_mesh, devices->first);
    char *name = devices->ndevices > 1 ? class_traffic_name(program, devices) : NULL;

    text_addf(out, "device %d", (int)first);
    if (name)
        html_addf(out, " (%s)", name);
    out->failed |= devices->ndevices > 1 && !name;
    free(name);
}

static void print_lane(const struct when *w, uint32_t l, struct text *out)
{
    const struct record_replayed *spent = timeline_spent(w->timeline, l);

    text_addf(out, "<li data-lane=%u><span>", (unsigned)l);
    add_name(w, l, out);
    text_addf(out,
              "</span><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=none role=img "
              "aria-label=\"",
              WIDTH, HEIGHT);
    add_name(w, l, out);
    text_add(out, ": busy ");
    add_seconds(out, spent->busy_ns);
    text_add(out, ", communication ");
    add_seconds(out, spent->communication_ns);
    text_add(out, "\">");
    print_bars(w, &w->timeline->lanes[l], out);
    text_add(out, "</svg></li>\n");
}

static void print_ticks(const struct when *w, struct text *out)
{
    text_add(out, "<p class=ticks aria-hidden=true>");
    for (int i = 0; i <= TICKS; i++) {
        text_add(out, "<span>");
        add_seconds(out, w->timeline->step_ns / TICKS * i);
        text_add(out, "</span>");
    }
    text_add(out, "</p>\n");
}

/* Patterns of phases, in the colours of the page: forward is plain, and transfers are in the lower
 * half. */
void when_print_patterns(struct text *out)
{
    static const struct {
        char phase;
        const char *marks;
    } patterns[] = {{'b', "M0 8L8 0"}, {'u', "M0 4h8"}};

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        text_addf(out,
                  "<pattern id=\"p%c\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
                  "<path d=\"M0 0h8v8H0z\" style=\"fill:var(--%c)\"/>"
                  "<path d=\"%s\" style=\"stroke:var(--page);stroke-width:1.5\"/></pattern>\n",
                  patterns[i].phase, patterns[i].phase, patterns[i].marks);
}

static void print_legend(struct text *out)
{
    static const struct {
        const char *class, *what;
    } keys[] = {{"f", "forward"},
                {"b", "backward"},
                {"u", "optimizer"},
                {"c", "transfers, in the lower half"}};

    text_add(out, "<p class=legend>");
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        text_addf(out,
                  "<span><svg width=18 height=14 aria-hidden=true><rect width=18 height=14 "
                  "class=%s /></svg>%s</span> ",
                  keys[k].class, keys[k].what);
    text_add(out, "</p>\n");
}

static void add_cell(struct text *out, int64_t ns)
{
    text_addf(out, "<td class=n data-v=%lld>", (long long)ns);
    add_seconds(out, ns);
    text_add(out, "</td>");
}

/* The timeline's times as a table. */
static void print_table(const struct when *w, size_t id, struct text *out)
{
    static const char *const heads[] = {"busy", "communication", "exposed communication", "waiting",
                                        "idle at end"};

    text_addf(out,
              "<div class=wide role=region aria-label=\"Times of strategy %zu\" tabindex=0>\n"
              "<table class=\"list sorts\"><caption>Time of each device in the step; exposed: it "
              "waits for bytes with no other work.</caption>\n"
              "<thead><tr><th scope=col><button type=button>devices</button></th>",
              id);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        text_addf(out, "<th scope=col class=n><button type=button>%s</button></th>", heads[i]);
    text_add(out, "</tr></thead>\n<tbody>\n");
    for (uint32_t l = 0; l < w->timeline->nlanes; l++) {
        const struct record_replayed *spent = timeline_spent(w->timeline, l);

        text_add(out, "<tr><th scope=row class=label>");
        add_name(w, l, out);
        text_add(out, "</th>");
        add_cell(out, spent->busy_ns);
        add_cell(out, spent->communication_ns);
        add_cell(out, spent->exposed_ns);
        add_cell(out, spent->waiting_ns);
        add_cell(out, spent->idle_ns);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody></table></div>\n");
}

static void print_lanes(const struct when *w, size_t id, struct text *out)
{
    const struct timeline *t = w->timeline;

    text_addf(out, "<p>The step takes ");
    add_seconds(out, t->step_ns);
    text_add(out, t->modelled ? ", modelled on the scenario's cluster."
                              : ", replayed with one CPU core per device.");
    if (t->nleft_out > 0)
        text_addf(out, " The first %u of %u kinds of devices are shown.", t->nlanes,
                  t->nlanes + t->nleft_out);
    text_add(out, "</p>\n");
    print_legend(out);
    text_addf(out, "<ul class=lanes data-step-ns=%lld>\n", (long long)t->step_ns);
    for (uint32_t l = 0; l < t->nlanes; l++)
        print_lane(w, l, out);
    text_add(out, "</ul>\n");
    print_ticks(w, out);
    print_table(w, id, out);
}

int when_print(const struct result *result, size_t id, const struct page_room *room,
               struct text *out, struct shd_error *err)
{
    struct when w = {.record = result->record};
    size_t columns;
    int status;

    if (!timeline_is_known(w.record)) {
        text_add(
            out,
            "<p>The times of a plan need a cluster, e.g. <code>-s hardware=h100-sxm</code>.</p>\n");
        return SHD_OK;
    }
    status = timeline_create(&w.timeline, w.record, LANES_SHOWN_MAX, err);
    if (status != SHD_OK)
        return status;
    columns = room->bars / (2 * w.timeline->nlanes);
    columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns > WIDTH ? WIDTH : columns;
    w.column_ns = w.timeline->step_ns / (int64_t)columns;
    if (w.timeline->step_ns > 0)
        print_lanes(&w, id, out);
    else
        text_add(out, "<p>The step takes no time.</p>\n");
    timeline_destroy(w.timeline);
    return SHD_OK;
}
