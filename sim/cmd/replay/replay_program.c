/* Counting the collectives of another system's program (replay_program.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/replay/replay_program.h"

#include <stdlib.h>

#include "capture/axes.h"
#include "capture/replay_report.h"
#include "capture/spread.h"
#include "command/asked.h"
#include "command/chosen.h"
#include "command/cluster.h"
#include "command/command.h"

/* Read the capture after the given mesh, if any, which may say what its groups are. */
static int read_capture(struct capture *out, struct shd_mesh **mesh, const struct replay *o)
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
static int find_mesh(struct shd_mesh **mesh, const struct replay *o, const struct capture *capture)
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

static int plan_beside(struct chosen *chosen, const struct replay *o)
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

static int tell(const struct replay_report *report, const struct replay *o)
{
    struct text text = TEXT_INIT;
    struct figure figure;
    struct shd_error err;
    int status;

    if (o->matrix) {
        figure_init(&figure);
        status = replay_matrix(report, &figure, &err);
        return canvas_end(&o->canvas, &figure, status, &err);
    }
    status = o->json ? replay_json(report, &text, &err)
                     : replay_text(report, o->canvas.style.width, &text, &err);
    status = status == SHD_OK ? canvas_put(&o->canvas, &text) : cmd_failure("cannot report", &err);
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
static int find_fitting(struct shd_mesh **out, const struct replay *o, const struct rows *rows,
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
static int judge(const struct replay *o, const struct replay_report *report)
{
    uint128 theirs = report->rows->received_bytes, ours;

    if (o->above < 0)
        return CMD_OK;
    ours = record_received(report->beside);
    if (report->beside->ndevices != report->capture->ndevices) {
        cmd_error("%s has %d devices, and %s %d; expected equal counts for --fail-above",
                  o->files[0], report->capture->ndevices, o->beside, report->beside->ndevices);
        return CMD_USAGE;
    }
    if ((double)theirs <= (double)ours * (1 + o->above / 100))
        return CMD_OK;
    cmd_error("%s moves more bytes than %s, by more than %g %%", o->files[0], o->beside, o->above);
    return CMD_FAILED;
}

/* Destroys the mesh. */
static int replay(const struct replay *o, struct capture *capture, struct shd_mesh *mesh,
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
        status = cmd_failure("cannot inform the other ranks", &err);
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

int replay_program_tell(struct replay *o)
{
    struct chosen chosen = {.path = NULL};
    struct shd_mesh *mesh = NULL;
    struct capture capture;
    int status;

    capture_init(&capture);
    status = read_capture(&capture, &mesh, o);
    if (status == CMD_OK && o->beside)
        status = plan_beside(&chosen, o);
    if (status == CMD_OK)
        status = replay(o, &capture, mesh, &chosen);
    else
        shd_mesh_destroy(mesh);
    if (o->beside)
        chosen_fini(&chosen);
    capture_fini(&capture);
    return status;
}
