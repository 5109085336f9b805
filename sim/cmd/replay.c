/* shardsim replay - the collectives of another system's program: counted, along which axes, drawn,
 * timed, and beside our own program of the same model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "command/command.h"
#include "cmd/replay/replay_program.h"

static void take_percent(const struct args_value *v)
{
    char *end;
    double percent = decimal_read(v->arg, &end);

    if (end == v->arg || *end || !(percent >= 0 && percent <= 1e6))
        args_error(v->line, "--%s is '%s'; expected percent, from 0 on", v->row->name, v->arg);
    *(double *)v->at = percent;
}

static void check(const struct args_line *line, void *input)
{
    const struct replay *o = input;

    if (o->above >= 0 && !o->beside)
        args_error(line, "--fail-above goes with --beside SCENARIO, whose bytes it is above");
}

#define AT(field) ARGS_AT(struct replay, field)

static const struct args_row rows[] = {
    {"beside", 0, "SCENARIO", args_text, AT(beside), 0, 0,
     "Compare with our own program of this scenario"},
    {"devices", 0, "N", args_count, AT(request.devices), 1, CAPTURE_DEVICES_MAX,
     "The program's devices, where its text or its traces do not say"},
    {"fail-above", 0, "PERCENT", take_percent, AT(above), 0, 0,
     "Fail, with status 1, if the program moves so many percent more bytes than --beside"},
    {"hardware", 0, "HARDWARE", args_text, AT(hardware), 0, 0,
     "How long the collectives take on this cluster ('shardsim show hardware') or file"},
    {"json", 'j', NULL, args_switch, AT(json), 0, 0, "Print the machine form"},
    {"matrix", 0, NULL, args_switch, AT(matrix), 0, 0, "Draw the bytes from device to device"},
    {"mesh", 'm', "AXES", args_text, AT(mesh), 0, 0,
     "Your mesh, e.g. dp=2,tp=4, the last axis the fastest; if not given, one is inferred from "
     "the groups"},
    {"step", 0, "N", args_count, AT(request.step), 0, INT32_MAX,
     "Of traces: count the step ProfilerStep#N; if not given, the commonest is"},
    {"strategy", 'S', "NAME", args_text, AT(strategy), 0, 0,
     "The strategy of --beside, where it has several"},
    {"trips", 0, "N", args_count, AT(request.trips), 1, UINT32_MAX,
     "The trip count of loops whose text does not say"},
    {0}};

static const struct args args = {
    .own =
        {.rows = rows,
         .word =
             {args_words, ARGS_LIST(struct replay, files, nfiles), NULL,
              "which program? expected the file of a compiled XLA module, as compiled.as_text() of "
              "JAX gives it, or traces of PyTorch"}},
    .parts = {{&common_canvas, offsetof(struct replay, canvas)}},
    .operands = "FILE...",
    .check = check,
    .help =
        "Count the collectives of another system's program: which there are, how often a step does "
        "each, which axes of the mesh their groups span, and what every device receives.  The "
        "program is one that XLA compiled, given as the text of its module, or one that PyTorch "
        "ran, given as the traces of its ranks: files, or folders of them.  The "
        "format is recognised by the content.\v"
        "The text is what JAX gives for a function f and its arguments:\n"
        "  open('step.hlo.txt', 'w').write(jax.jit(f).lower(x).compile().as_text())\n"
        "A trace is what export_chrome_trace() of PyTorch's profiler writes, or its "
        "ExecutionTraceObserver.  Ranks whose traces are not given are taken to be like those "
        "whose "
        "traces are.\n\n"
        "Examples:\n"
        "  What does the compiled step communicate, on the mesh it was written for?\n"
        "    shardsim replay examples/step.hlo.txt --mesh dp=2,tp=2\n"
        "  How long does that take on H100s?\n"
        "    shardsim replay examples/step.hlo.txt --hardware h100-sxm\n"
        "  Who sends how much to whom?\n"
        "    shardsim replay examples/step.hlo.txt --matrix\n"
        "  What did four ranks of a PyTorch job communicate?\n"
        "    shardsim replay examples/torch\n\n" ARGS_EXIT_STATUS("  1    more bytes than "
                                                                  "--fail-above allows\n")};

static int run(int argc, char **argv)
{
    struct replay o = {.files = calloc((size_t)argc, sizeof *o.files),
                       .request = READER_REQUEST_INIT,
                       .above = -1};
    int exit;

    if (!o.files) {
        cmd_error("no memory for the names of %d files", argc - 1);
        return CMD_CANNOT;
    }
    args_parse(&args, argc, argv, &o);
    exit = replay_program_tell(&o);
    free(o.files);
    return exit;
}

const struct cmd cmd_replay = {"replay", "collectives of XLA's and PyTorch's programs, counted",
                               run};
