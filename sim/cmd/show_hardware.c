/* shardsim show hardware - the list of known clusters, and the figures of one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/common.h"
#include "cmd/show.h"
#include "hardware/shipped.h"
#include "command/canvas.h"
#include "command/cluster.h"
#include "command/command.h"
#include "report/hardware_text.h"

struct options {
    struct canvas canvas;
    const char *name;
};

static const struct args args = {
    .own = {.word = {args_text, ARGS_AT(struct options, name),
                     "one cluster at a time; '%s' is a second one", NULL}},
    .parts = {{&common_canvas, offsetof(struct options, canvas)}},
    .operands = "[HARDWARE]",
    .help = "List the clusters that --hardware knows by name, or describe one of them or a "
            "hardware file: rates, links, constants, and the arithmetic intensity at which a "
            "matmul becomes compute-bound.\vExamples:\n"
            "  Rows from which a matmul is compute-bound on a TPU v5e:\n"
            "    shardsim show hardware tpu-v5e\n\n" ARGS_EXIT_STATUS("")};

static int add_cluster(const char *name, bool alone, struct text *out, size_t width)
{
    struct hardware *hardware = NULL;
    int exit = cluster_load(&hardware, name);

    if (exit == CMD_OK && alone)
        hardware_figures(hardware, out, width);
    else if (exit == CMD_OK)
        hardware_row(hardware, out, width);
    hardware_destroy(hardware);
    return exit;
}

static int run(int argc, char **argv)
{
    struct options o = {.name = NULL};
    struct text text = TEXT_INIT;
    int status = CMD_OK;

    args_parse(&args, argc, argv, &o);
    if (o.name)
        status = add_cluster(o.name, true, &text, o.canvas.style.width);
    for (const struct shipped_file *f = shipped_files; !o.name && f->name && !status; f++)
        status = add_cluster(f->name, false, &text, o.canvas.style.width);
    if (status == CMD_OK && text.failed) {
        cmd_error("no memory for the answer");
        status = CMD_CANNOT;
    }
    if (status == CMD_OK)
        status = canvas_put(&o.canvas, &text);
    text_fini(&text);
    return status;
}

const struct cmd show_hardware = {"hardware", "list clusters, or describe one", run};
