/* shardsim replay - the collectives of another system's program: counted, along which axes, drawn,
 * timed, and beside our own program of the same model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "capture/axes.h"
#include "capture/reader.h"
#include "capture/replay_report.h"
#include "capture/spread.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/show.h"
#include "jobs/asked.h"
#include "jobs/canvas.h"
#include "jobs/chosen.h"
#include "jobs/cluster.h"
#include "jobs/command.h"

struct options {
    struct canvas canvas;
    const char **files; /* of argv */
    size_t nfiles;
    const char *mesh, *hardware, *beside, *strategy;
    struct reader_request request;
    double above; /* percent more than --beside moves, from which on it fails; negative: never */
    bool json, matrix;
};

static void take_percent(const struct args_line *line, const struct args_row *row, char *arg,
                         void *at)
{
    char *end;
    double percent = strtod(arg, &end);

    if (end == arg || *end || !(percent >= 0 && percent <= 1e6))
        args_error(line, "--%s is '%s'; expected percent, from 0 on", row->name, arg);
    *(double *)at = percent;
}

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->above >= 0 && !o->beside)
        args_error(line, "--fail-above goes with --beside SCENARIO, whose bytes it is above");
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row option_rows[] = {
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

/* Read the capture after the given mesh, if any, which may say what its groups are. */
static int read_capture(struct capture *out, struct shd_mesh **mesh, const struct options *o)
{
    struct reader_request request = o->request;
    struct diag diag = DIAG_INIT;
    int status = o->mesh ? asked_mesh(mesh, o->mesh) : CMD_OK;

    if (status != CMD_OK)
        return status;
    request.mesh = *mesh;
    status = reader_read(out, o->files, o->nfiles, &request, &diag);
    diag_write(&diag, stderr);
    status = status == SHD_OK && !diag.nerrors ? CMD_OK : cmd_exit_of_input(&diag);
    diag_fini(&diag);
    return status;
}

/* Take the given mesh, or find a mesh that fits the groups. */
static int find_mesh(struct shd_mesh **mesh, const struct options *o, const struct capture *capture)
{
    struct shd_error err;

    if (!o->mesh)
        return axes_infer(mesh, capture, &err) == SHD_OK ? CMD_OK : cmd_failure("mesh", &err);
    if (shd_mesh_size(*mesh) == capture->ndevices)
        return CMD_OK;
    cmd_error("mesh '%s' has %d devices, and %s has %d; expected as many", o->mesh,
              shd_mesh_size(*mesh), o->files[0], capture->ndevices);
    return CMD_USAGE;
}

static int plan_beside(struct chosen *chosen, const struct options *o)
{
    struct shd_error err;
    int status;

    chosen->path = o->beside;
    chosen->strategy = o->strategy;
    status = chosen_load(chosen);
    if (status != CMD_OK || trial_plan(&chosen->trial, &err) == SHD_OK)
        return status;
    (void)cmd_wrong(o->beside, err.text);
    return cmd_exit_of(err.status);
}

static int tell(const struct replay_report *report, const struct options *o)
{
    struct text text = TEXT_INIT;
    struct figure figure;
    struct shd_error err;
    int status;

    if (o->matrix) {
        figure_init(&figure);
        status = replay_matrix(report, &figure, &err);
        status =
            status == SHD_OK ? canvas_draw(&o->canvas, &figure) : cmd_failure("cannot draw", &err);
        figure_fini(&figure);
        return status;
    }
    status = o->json ? replay_json(report, &text, &err)
                     : replay_text(report, o->canvas.style.width, &text, &err);
    status = status == SHD_OK ? canvas_put(&o->canvas, &text) : cmd_failure("cannot tell", &err);
    text_fini(&text);
    return status;
}

static bool all_follow(const struct rows *rows)
{
    for (size_t i = 0; i < rows->nrows; i++)
        if (!rows->rows[i].follows)
            return false;
    return true;
}

/* If groups do not follow the given mesh, find a mesh that all groups follow, or NULL.  CMD_OK or,
 * with a message, CMD_CANNOT. */
static int find_fitting(struct shd_mesh **out, const struct options *o, const struct rows *rows,
                        const struct capture *capture)
{
    struct shd_error err;
    struct rows others;
    int status;

    if (!o->mesh || all_follow(rows))
        return CMD_OK;
    status = axes_infer(out, capture, &err);
    if (status == SHD_OK) {
        status = rows_init(&others, capture, *out, NULL, &err);
        if (status == SHD_OK && !all_follow(&others)) {
            shd_mesh_destroy(*out);
            *out = NULL;
        }
        rows_fini(&others);
    }
    return status == SHD_OK ? CMD_OK : cmd_failure("mesh", &err);
}

/* --fail-above */
static int judge(const struct options *o, const struct replay_report *report)
{
    uint128 theirs = report->rows->received_bytes, ours;

    if (o->above < 0)
        return CMD_OK;
    ours = record_received(report->beside);
    if (report->beside->ndevices != report->capture->ndevices) {
        cmd_error("%s is of %d devices, and %s of %d; expected as many, for --fail-above",
                  o->files[0], report->capture->ndevices, o->beside, report->beside->ndevices);
        return CMD_USAGE;
    }
    if ((double)theirs <= (double)ours * (1 + o->above / 100))
        return CMD_OK;
    cmd_error("%s moves more bytes than %s, by more than %g %%", o->files[0], o->beside, o->above);
    return CMD_FAILED;
}

/* Destroys the mesh. */
static int replay(const struct options *o, struct capture *capture, struct shd_mesh *mesh,
                  struct chosen *chosen)
{
    struct replay_report report = {.capture = capture,
                                   .mesh_is_inferred = !o->mesh,
                                   .beside = chosen->trial.record,
                                   .beside_name = o->beside};
    struct hardware *hardware = NULL;
    struct shd_mesh *fitting = NULL;
    struct shd_error err;
    struct rows rows;
    int status = find_mesh(&mesh, o, capture);

    if (status == CMD_OK && spread_over(capture, mesh, &err) != SHD_OK)
        status = cmd_failure("cannot tell the other ranks", &err);
    if (status == CMD_OK && o->hardware)
        status = cluster_find(&hardware, o->hardware, mesh, capture->ndevices, NULL);
    if (status == CMD_OK) {
        report.mesh = mesh;
        report.hardware = hardware;
        report.rows = &rows;
        status = rows_init(&rows, capture, mesh, hardware, &err) == SHD_OK
                     ? find_fitting(&fitting, o, &rows, capture)
                     : cmd_failure("cannot count", &err);
        report.fitting = fitting;
        if (status == CMD_OK)
            status = tell(&report, o);
        if (status == CMD_OK)
            status = judge(o, &report);
        rows_fini(&rows);
    }
    shd_mesh_destroy(fitting);
    hardware_destroy(hardware);
    shd_mesh_destroy(mesh);
    return status;
}

static const struct args args = {
    .own = {option_rows,
            {args_words, ARGS_LIST(struct options, files, nfiles), NULL,
             "which program? expected the file of a compiled XLA module, as compiled.as_text() of "
             "JAX gives it, or traces of PyTorch"}},
    .parts = {{&common_canvas, offsetof(struct options, canvas)}},
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
    struct options o = {.request = READER_REQUEST_INIT, .above = -1};
    struct chosen chosen = {.path = NULL};
    struct shd_mesh *mesh = NULL;
    struct capture capture;
    int status;

    o.files = calloc((size_t)argc, sizeof *o.files);
    if (!o.files) {
        cmd_error("no memory for the names of %d files", argc - 1);
        return CMD_CANNOT;
    }
    canvas_init(&o.canvas);
    args_parse(&args, argc, argv, &o);
    capture_init(&capture);
    status = read_capture(&capture, &mesh, &o);
    if (status == CMD_OK && o.beside)
        status = plan_beside(&chosen, &o);
    if (status == CMD_OK)
        status = replay(&o, &capture, mesh, &chosen);
    else
        shd_mesh_destroy(mesh);
    if (o.beside)
        chosen_fini(&chosen);
    capture_fini(&capture);
    free(o.files);
    return status;
}

const struct cmd cmd_replay = {"replay", "collectives of XLA's and PyTorch's programs, counted",
                               run};
