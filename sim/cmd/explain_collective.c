/* shardsim explain collective - its schedule step by step, or its time on a cluster.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "cmd/common.h"
#include "cmd/explain.h"
#include "cmd/explain/schedule.h"
#include "command/asked.h"
#include "command/canvas.h"
#include "command/command.h"
#include "cmd/explain/explain_links.h"

struct options {
    struct canvas canvas;
    const char *kind, *algorithm, *devices;
    struct explain_links links; /* with a cluster only */
};

/* A drawing is of an algorithm, a time of a cluster. */
static void check_links(const struct args_line *line, void *input)
{
    const struct options *o = input;
    const struct explain_links *l = &o->links;

    if (l->hardware && o->algorithm)
        args_error(line, "--hardware selects the fastest algorithm; remove --algorithm");
    if (l->hardware && !l->bytes)
        args_error(line, "--hardware needs a size; expected --bytes, e.g. --bytes 64MiB");
    if (!l->hardware && (l->mesh || l->axes || l->bytes || l->slices || l->json))
        args_error(line, "--mesh, --axes, --bytes, --slices and --json require --hardware");
}

#define ALGORITHMS_WIDTH 58 /* beside the collective's name and a comma, in 78 columns */

/* The algorithms of a collective, the first of which is the default. */
static void list_algorithms(struct text *out, enum coll_kind kind)
{
    size_t used = 0; /* columns of the line behind the collective's name */

    for (size_t i = 0; coll_algos[i]; i++) {
        size_t length = strlen(coll_algos[i]->name);

        if (coll_algos[i]->kind != kind)
            continue;
        if (used > 0 && used + 2 + length > ALGORITHMS_WIDTH) { /* argp would not indent the next
                                                                   line */
            text_addf(out, ",\n  %-14s  ", "");
            used = 0;
        }
        text_addf(out, "%s%s", used > 0 ? ", " : "", coll_algos[i]->name);
        used += length + 2;
    }
}

static void list_collectives(struct text *out)
{
    for (int k = 0; k < COLL_NKINDS; k++) {
        text_addf(out, "\n  %-14s  ", coll_kind_name((enum coll_kind)k));
        list_algorithms(out, (enum coll_kind)k);
    }
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"algorithm", 0, "ALGORITHM", args_text, AT(algorithm), 0, 0,
     "Algorithm (default: the first one listed below)"},
    {"devices", 0, "N", args_text, AT(devices), 0, 0, "Devices in the group (default: 4)"},
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Time on a cluster:"},
    {"hardware", 0, "HARDWARE", args_text, AT(links.hardware), 0, 0,
     "Cluster ('shardsim show hardware') or hardware file: print the traffic of its links, the "
     "bound and the time"},
    {"mesh", 'm', "AXES", args_text, AT(links.mesh), 0, 0,
     "Mesh, e.g. dp=2,tp=8; or sizes only, e.g. 16,16, whose axes are 0 and 1"},
    {"axes", 0, "AXES", args_text, AT(links.axes), 0, 0,
     "Mesh axes of the group, e.g. tp (default: all)"},
    {"bytes", 'b', "SIZE", args_text, AT(links.bytes), 0, 0,
     "Bytes that each member contributes, e.g. 64MiB: for all-gather its shard; for "
     "reduce-scatter, all-reduce and all-to-all its whole array"},
    {"slices", 0, "N", args_text, AT(links.slices), 0, 0,
     "The mesh consists of N equal slices of a torus (default: 1)"},
    {"json", 0, NULL, args_switch, AT(links.json), 0, 0, "Print JSON"},
    {0}};

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(kind), "one collective at a time; '%s' is a second one",
                     "no collective given; expected e.g. all-reduce"}},
    .parts = {{&common_canvas, offsetof(struct options, canvas)}},
    .operands = "COLLECTIVE",
    .more = list_collectives,
    .check = check_links,
    .help = "Draw the contents of every device of a group after each step of a collective; or with "
            "--hardware, compute its time on the links of a cluster.\vExamples:\n"
            "  A ring all-reduce, step by step:\n"
            "    shardsim explain collective all-reduce --algorithm ring --devices 4\n"
            "  Time of an all-gather over both axes of an 8 x 8 torus:\n"
            "    shardsim explain collective all-gather --hardware tpu-v4 -m 8,8 -b "
            "4MiB\n\n" ARGS_EXIT_STATUS("") "\n\n"
                                            "Collectives:\f"};

static int draw(const struct options *o, enum coll_kind kind)
{
    const struct coll_algo *algo = asked_algorithm(kind, o->algorithm);
    struct figure figure;
    struct shd_error err;
    long n = algo ? asked_number("--devices", o->devices, 1, SCHEDULE_MEMBERS_MAX, "") : -1;
    int status;

    if (n < 0)
        return CMD_USAGE;
    figure_init(&figure);
    status = schedule_draw(&figure, algo, (uint32_t)n, canvas_is_picture(&o->canvas), &err);
    return canvas_end(&o->canvas, &figure, status, &err);
}

int explain_collective(int argc, char **argv)
{
    struct options o = {.devices = "4"};
    int kind;

    args_parse(&args, argc, argv, &o);
    kind = asked_collective(o.kind);
    if (kind < 0)
        return CMD_USAGE;
    o.links.kind = (enum coll_kind)kind;
    o.links.devices = o.devices;
    return o.links.hardware ? explain_links(&o.links, &o.canvas) : draw(&o, o.links.kind);
}
