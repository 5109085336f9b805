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
        args_error(v->line, "--%s is '%s'; expected a percentage of at least 0", v->row->name,
                   v->arg);
    *(double *)v->at = percent;
}

static void check(const struct args_line *line, void *input)
{
    const struct replay *o = input;

    if (o->above >= 0 && !o->beside)
        args_error(line, "--fail-above requires --beside SCENARIO, the reference for the bytes");
}

#define AT(field) ARGS_AT(struct replay, field)

static const struct args_row rows[] = {
    {"beside", 0, "SCENARIO", args_text, AT(beside), 0, 0,
     "Compare with shardsim's own program of this scenario"},
    {"devices", 0, "N", args_count, AT(request.devices), 1, CAPTURE_DEVICES_MAX,
     "Devices of the program, if its text or traces do not say"},
    {"fail-above", 0, "PERCENT", take_percent, AT(above), 0, 0,
     "Exit with status 1 if the program moves over PERCENT more bytes than --beside"},
    {"hardware", 0, "HARDWARE", args_text, AT(hardware), 0, 0,
     "Model the times of the collectives on this cluster ('shardsim show hardware') or hardware "
     "file"},
    {"json", 'j', NULL, args_switch, AT(json), 0, 0, "Print JSON"},
    {"matrix", 0, NULL, args_switch, AT(matrix), 0, 0,
     "Draw the traffic matrix: bytes from device to device"},
    {"mesh", 'm', "AXES", args_text, AT(mesh), 0, 0,
     "Mesh of the program, e.g. dp=2,tp=4; the last axis varies fastest (default: inferred from "
     "the groups)"},
    {"step", 0, "N", args_count, AT(request.step), 0, INT32_MAX,
     "For traces: count the step ProfilerStep#N (default: the most common step)"},
    {"strategy", 'S', "NAME", args_text, AT(strategy), 0, 0,
     "The strategy of --beside, if it has several"},
    {"trips", 0, "N", args_count, AT(request.trips), 1, UINT32_MAX,
     "Trip count of loops whose text does not say"},
    {0}};

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_words, ARGS_LIST(struct replay, files, nfiles), NULL,
                     "no program given; expected the text of a compiled XLA module (JAX's "
                     "compiled.as_text()), or PyTorch traces"}},
    .parts = {{&common_canvas, offsetof(struct replay, canvas)}},
    .operands = "FILE...",
    .check = check,
    .help = "Count the collectives of another system's program: their kinds, runs per step, the "
            "mesh axes of their groups, and the bytes that every device receives. The program is "
            "the text of a module compiled by XLA, or the traces of the ranks of a PyTorch job: "
            "files, or folders of files. The format is detected from the content.\vTo get the text "
            "of a JAX function f:\n"
            "  open('step.hlo.txt', 'w').write(jax.jit(f).lower(x).compile().as_text())\n"
            "A trace is written by export_chrome_trace() of PyTorch's profiler, or by its "
            "ExecutionTraceObserver. Ranks without a trace are assumed to behave like the ranks "
            "with one.\n\n"
            "Examples:\n"
            "  The collectives of a compiled step, by axes of its mesh:\n"
            "    shardsim replay examples/step.hlo.txt --mesh dp=2,tp=2\n"
            "  Their times on H100s:\n"
            "    shardsim replay examples/step.hlo.txt --hardware h100-sxm\n"
            "  The bytes from device to device:\n"
            "    shardsim replay examples/step.hlo.txt --matrix\n"
            "  The collectives of four ranks of a PyTorch job:\n"
            "    shardsim replay examples/torch\n\n" ARGS_EXIT_STATUS(
                "  1    more bytes than --fail-above allows\n")};

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

const struct cmd cmd_replay = {"replay", "count the collectives of an XLA or PyTorch program", run};
