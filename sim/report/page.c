/* Strategies as one HTML page (page.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/page.h"

#include <string.h>

#include "base/literal.h"
#include "base/units.h"
#include "draw/colour.h"
#include "report/compare_rows.h"
#include "report/files.h"
#include "report/html.h"
#include "report/layer_times.h"
#include "report/modelled.h"
#include "report/parts.h"
#include "report/serving.h"

#define PAGE_MAX 390000 /* bytes of a page, for which its pictures lose detail */
#define LEAST_DETAIL 4  /* how often it is halved at most */
#define OPEN_MAX 4      /* with more strategies, all but the winner are folded */

/* A page with all details, in all timelines of which are 6,000 bars of about 100 bytes. */
static const struct page_room whole = {64, 6000, 240, 1024};

static void add_lines(struct text *out, const char *const *lines)
{
    for (; *lines; lines++)
        text_add(out, *lines);
}

static void add_title(const struct compare *c, struct text *out)
{
    for (size_t i = 0; i < c->nresults; i++) {
        bool known = false;

        for (size_t k = 0; k < i; k++)
            known |= !strcmp(c->results[k].scenario, c->results[i].scenario);
        if (!known)
            html_addf(out, "%s%s", i ? ", " : "", c->results[i].scenario);
    }
}

/* Colours of a page as variables of its style. */
static void print_colours(enum colour_page page, struct text *out)
{
    static const char phases[COLOUR_PHASES] = "fbuc";
    struct colour c = colour_paper(page);

    text_addf(out, ":root{--page:#%02x%02x%02x", c.red, c.green, c.blue);
    for (int phase = 0; phase < COLOUR_PHASES; phase++) {
        c = colour_phase(phase, page);
        text_addf(out, ";--%c:#%02x%02x%02x", phases[phase], c.red, c.green, c.blue);
    }
    for (int level = 0; level < COLOUR_HEATS; level++) {
        struct colour ink;

        c = colour_heat(level, page);
        ink = colour_ink(c);
        text_addf(out, ";--h%d:#%02x%02x%02x;--i%d:#%02x%02x%02x", level, c.red, c.green, c.blue,
                  level, ink.red, ink.green, ink.blue);
    }
    text_add(out, "}");
}

static void print_head(const struct compare *c, struct text *out)
{
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<link rel=\"icon\" href=\"data:,\">\n<title>");
    add_title(c, out);
    text_add(out, " - shardsim report</title>\n<style>\n");
    print_colours(COLOUR_LIGHT, out);
    text_add(out, "\n@media (prefers-color-scheme: dark) {");
    print_colours(COLOUR_DARK, out);
    text_add(out, "}\n");
    add_lines(out, files_style);
    text_add(out, "</style>\n</head>\n<body>\n");
}

static void print_links(const struct compare_rows *rows, struct text *out)
{
    text_add(out, "<nav aria-label=\"Strategies\"><ul>\n");
    for (size_t i = 0; i < rows->compare->nresults; i++) {
        struct text name = TEXT_INIT;

        compare_add_name(rows, i, &name);
        text_addf(out, "<li><a href=\"#s%zu\">", i + 1);
        literal_add_xml(out, text_get(&name));
        text_add(out, "</a></li>\n");
        text_drop(out, &name);
    }
    text_add(out, "</ul></nav>\n");
}

static void print_skipped(const struct compare *c, struct text *out)
{
    if (c->nskipped == 0)
        return;
    text_add(out, "<p>Skipped, sizes not divisible:</p>\n"
                  "<ul>\n");
    for (size_t i = 0; i < c->nskipped; i++) {
        text_add(out, "<li>");
        html_addf(out, "%s: %s", c->skipped[i].strategy, c->skipped[i].why);
        text_add(out, "</li>\n");
    }
    text_add(out, "</ul>\n");
}

/* Returns the strategy that wins. */
static size_t print_summary(const struct compare_rows *rows, struct text *out)
{
    const struct compare *c = rows->compare;
    size_t winner;

    text_add(out, "<header>\n<h1>");
    add_title(c, out);
    text_add(out, "</h1>\n<p class=verdict>");
    verdict_print(rows, out);
    text_addf(out, "</p>\n<p>%zu %s, %s", c->nresults, c->nresults == 1 ? "strategy" : "strategies",
              c->results[0].record->mode == RECORD_EXECUTED ? "executed" : "planned");
    if (compare_same_model(rows))
        html_addf(out, "; %s", c->results[0].what);
    text_add(out, "</p>\n");
    winner = glance_print(rows, out);
    text_add(out, "</header>\n");
    if (c->nresults > 1)
        print_links(rows, out);
    return winner;
}

/* Begin a section with its heading.  Screen readers also announce the strategy's name, because all
 * strategies have the same sections. */
static void begin_part(struct text *out, size_t id, const char *part, const char *heading)
{
    text_addf(out, "<section aria-labelledby=\"%s%zu name%zu\">\n<h3 id=\"%s%zu\">%s</h3>\n", part,
              id, id, part, id, heading);
}

/* Width of the label column in the output of modelled_text(); a line without a label continues the
 * line before. */
#define LABEL_COLUMNS 14

static void print_fact(const char *line, int length, bool first, struct text *out)
{
    int label = length < LABEL_COLUMNS ? length : LABEL_COLUMNS, indent = 0;

    while (indent < label && line[indent] == ' ')
        indent++;
    if (indent == label) {
        text_add(out, "<br>");
        html_addf(out, "%.*s", length - label, line + label);
        return;
    }
    while (label > indent && line[label - 1] == ' ')
        label--;
    text_add(out, first ? "<dt>" : "</dd>\n<dt>");
    html_addf(out, "%.*s", label - indent, line + indent);
    text_add(out, "</dt><dd>");
    if (length > LABEL_COLUMNS)
        html_addf(out, "%.*s", length - LABEL_COLUMNS, line + LABEL_COLUMNS);
}

/* Modelled time and memory on the scenario's cluster, as `plan` prints them, with how far to trust
 * them. */
static void print_cluster(const struct result *r, size_t id, struct text *out)
{
    struct text words = TEXT_INIT;
    bool first = true;

    if (r->serves)
        serving_text(r, &words);
    if (r->record->modelled)
        modelled_text(&words, r->record, r->tokens, r->memory_limit_bytes, r->serves);
    begin_part(out, id, "cluster", "Time and memory on the cluster");
    text_add(out, "<dl>\n");
    for (const char *line = text_get(&words) + strspn(text_get(&words), "\n"); *line;
         line += strspn(line, "\n")) {
        int length = (int)strcspn(line, "\n");

        print_fact(line, length, first, out);
        first = false;
        line += length;
    }
    text_add(out, "</dd>\n</dl>\n</section>\n");
    text_drop(out, &words);
}

static void print_layer(const struct layer_time *layer, const struct layer_times *times,
                        struct text *out)
{
    int64_t ns = layer_time_ns(layer);

    text_add(out, "<tr><th scope=row class=label>");
    literal_add_xml(out, text_get(&layer->name));
    text_add(out, "</th>");
    for (int b = 0; b < times->nbounds; b++)
        text_addf(out, "<td class=n data-v=%lld>%s</td>", (long long)layer->bound_ns[b],
                  units_print_seconds((double)layer->bound_ns[b] * 1e-9).text);
    text_addf(out, "<td class=n>%s</td><td class=n>%.1f %%</td><td>%s</td></tr>\n",
              units_print_seconds((double)layer->hidden_ns * 1e-9).text,
              times->step_ns > 0 ? 100 * (double)ns / (double)times->step_ns : 0,
              layer_time_bound(layer));
}

/* Time of each kind of layer, and what bounds that time. */
static int print_layers(const struct result *r, size_t id, struct text *out, struct shd_error *err)
{
    struct layer_times times;
    int status = layer_times_init(&times, r->record, err);

    if (status == SHD_OK) {
        begin_part(out, id, "layers", "Layer times and their bounds");
        text_addf(out,
                  "<div class=wide role=region aria-label=\"Layers of strategy %zu\" tabindex=0>\n"
                  "<table class=list><caption>Of the busiest device: kernels by their bound, "
                  "transfers that compute waits for (exposed) and others (overlapped).</caption>\n"
                  "<thead><tr><th scope=col>kind</th>",
                  id);
        for (int b = 0; b < times.nbounds; b++)
            text_addf(out, "<th scope=col class=n>%s</th>", layer_time_heads[b]);
        for (int i = 0; i < 2; i++)
            text_addf(out, "<th scope=col class=n>%s</th>", layer_time_more[i]);
        text_add(out, "<th scope=col>bound by</th></tr></thead>\n<tbody>\n");
        for (uint32_t i = 0; i < times.nlayers; i++)
            print_layer(&times.layers[i], &times, out);
        text_add(out, "</tbody></table></div>\n</section>\n");
    }
    layer_times_fini(&times);
    return status;
}

static const struct {
    const char *name, *heading;
    int (*print)(const struct result *result, size_t id, const struct page_room *room,
                 struct text *out, struct shd_error *err);
} parts[] = {
    {"heat", "Traffic from device to device", heat_print},
    {"when", "Timeline", when_print},
    {"memory", "Memory over the step", memory_print},
    {"collectives", "Collectives and their reasons", collectives_print},
    {"mesh", "The mesh", mesh_print},
};

static int print_parts(const struct result *r, size_t id, const struct page_room *room,
                       struct text *out, struct shd_error *err)
{
    int status = SHD_OK;

    if (r->record->modelled || r->serves)
        print_cluster(r, id, out);
    if (r->record->modelled)
        status = print_layers(r, id, out, err);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == SHD_OK; i++) {
        begin_part(out, id, parts[i].name, parts[i].heading);
        status = parts[i].print(r, id, room, out, err);
        text_add(out, "</section>\n");
    }
    return status;
}

static int print_strategy(const struct compare_rows *rows, size_t i, bool open,
                          const struct page_room *room, struct text *out, struct shd_error *err)
{
    const struct result *r = &rows->compare->results[i];
    struct text name = TEXT_INIT;
    int status;

    compare_add_name(rows, i, &name);
    text_addf(out, "<details data-strategy=%zu%s><summary><h2 id=\"name%zu\">", i + 1,
              open ? " open" : "", i + 1);
    literal_add_xml(out, text_get(&name));
    text_addf(out, "</h2></summary>\n<div id=\"s%zu\">\n<p>", i + 1);
    html_addf(out, "%s; %s.", r->what, r->record->mode == RECORD_EXECUTED ? "executed" : "planned");
    text_add(out, "</p>\n");
    status = print_parts(r, i + 1, room, out, err);
    text_add(out, "</div></details>\n");
    text_drop(out, &name);
    return status;
}

/* Patterns that all pictures of the page are filled with. */
static void print_patterns(struct text *out)
{
    text_add(out, "<svg class=defs aria-hidden=true><defs>\n");
    memory_print_patterns(out);
    when_print_patterns(out);
    text_add(out, "</defs></svg>\n");
}

static int print_body(const struct compare_rows *rows, const struct page_room *room,
                      struct text *out, struct shd_error *err)
{
    size_t n = rows->compare->nresults, winner;
    int status = SHD_OK;

    print_patterns(out);
    winner = print_summary(rows, out);
    text_add(out, "<main>\n<section aria-labelledby=\"strategies\">\n"
                  "<h2 id=\"strategies\">Strategies side by side</h2>\n");
    strategies_print(rows, out);
    print_skipped(rows->compare, out);
    text_add(out, "</section>\n");
    for (size_t i = 0; i < n && status == SHD_OK; i++)
        status = print_strategy(rows, i, i == winner || n <= OPEN_MAX, room, out, err);
    text_add(out, "</main>\n<footer><p>Made by shardsim " PACKAGE_VERSION ".</p></footer>\n");
    return status;
}

static int print_page(const struct compare_rows *rows, const struct page_room *room,
                      struct text *out, struct shd_error *err)
{
    int status;

    print_head(rows->compare, out);
    status = print_body(rows, room, out, err);
    text_add(out, "<script>\n");
    add_lines(out, files_script);
    text_add(out, "</script>\n</body>\n</html>\n");
    return status;
}

/* Print the page; while it exceeds PAGE_MAX, halve its detail, at most LEAST_DETAIL times. */
int page_print(const struct compare *compare, struct text *out, struct shd_error *err)
{
    struct page_room room = whole;
    struct compare_rows rows;
    int status = compare_rows_init(&rows, compare, err);

    room.bars /= compare->nresults;
    for (int halved = 0; status == SHD_OK; halved++) {
        text_clear(out);
        status = print_page(&rows, &room, out, err);
        if (out->length <= PAGE_MAX || halved == LEAST_DETAIL)
            break;
        room = (struct page_room){room.heat_rows / 2, room.bars / 2, room.columns / 2,
                                  room.mesh_devices / 2};
    }
    compare_rows_fini(&rows);
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the page");
    return status;
}
