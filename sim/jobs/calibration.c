/* Fitting the constants of a cluster (calibration.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "jobs/calibration.h"

#include <math.h>
#include <stdio.h>

#include "calibrate/fit.h"
#include "calibrate/nccl.h"
#include "calibrate/steps.h"
#include "calibrate/write.h"
#include "jobs/command.h"
#include "report/table.h"

static void add_errors(struct text *out, const struct samples *samples, const struct fit *fit)
{
    struct table table;

    table_init(&table, "lrrrrrl");
    table_heads(&table, "set|rows|before|MAPE|cross-validated|bias|worst");
    for (size_t i = 0; i < samples->nsets; i++) {
        const struct fit_error *e = &fit->sets[i];

        table_add(&table, "%s", samples->sets[i].name);
        table_add(&table, "%zu", samples->sets[i].n);
        table_add(&table, "%.2f %%", 100 * e->before_mape);
        table_add(&table, "%.2f %%", 100 * e->mape);
        if (isnan(e->cross_validated_mape))
            table_add(&table, "-");
        else
            table_add(&table, "%.2f %%", 100 * e->cross_validated_mape);
        table_add(&table, "%+.2f %%", 100 * e->bias);
        table_add(&table, "%s %+.1f %%", samples->items[e->worst].id, 100 * e->worst_error);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

static void add_constants(struct text *out, const struct constants *constants)
{
    struct table table;

    table_init(&table, "lrrl");
    for (size_t i = 0; i < constants->n; i++) {
        const struct constant *c = &constants->items[i];
        struct text start = TEXT_INIT, value = TEXT_INIT;

        constant_print(&start, c, c->start);
        constant_print(&value, c, c->value);
        table_add(&table, "%s", c->path);
        table_add(&table, "%s", text_get(&start));
        table_add(&table, "%s", text_get(&value));
        table_add(&table, "%s",
                  c->value <= c->least  ? "as small as it may be"
                  : c->value >= c->most ? "as large as it may be"
                                        : "");
        text_fini(&start);
        text_fini(&value);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

/* The tables go where the file does not. */
static int put(const struct calibration *o, const struct text *file, const struct text *tables)
{
    int exit;

    if (!o->output)
        fputs(text_get(tables), stderr);
    exit = cmd_write(o->output, file);
    return exit == CMD_OK && o->output ? cmd_put(tables) : exit;
}

static void read_samples(struct samples *samples, const struct calibration *o,
                         const struct hardware *hardware, struct diag *diag)
{
    for (size_t i = 0; i < o->nsteps; i++) {
        struct steps_file file = {.path = o->steps[i],
                                  .hardware = o->hardware,
                                  .hardware_name = hardware->name,
                                  .rows = o->rows};

        if (steps_read(samples, &file, diag) == SHD_OK && file.left_out > 0)
            cmd_note("%zu rows of %s are left out: of another cluster than %s, or without "
                     "step_seconds",
                     file.left_out, file.path, hardware->name);
    }
    for (size_t i = 0; i < o->ncollectives; i++)
        if (nccl_read(samples, o->collectives[i], o->hardware, diag) == SHD_ENOMEM)
            return;
    if (diag->nerrors == 0 && !diag->no_memory && samples->n == 0)
        diag_error(diag, (struct place){.file = NULL},
                   "no measurement is of %s; expected rows with in.hardware '%s'", hardware->name,
                   hardware->name);
}

static int fit(const struct calibration *o, struct samples *samples, struct constants *constants,
               const struct text *text, const char *place, struct diag *diag)
{
    struct text file = TEXT_INIT, tables = TEXT_INIT;
    struct shd_error err;
    struct fit fit;
    int exit = CMD_USAGE, status;

    status = fit_run(&fit, samples, constants, o->folds, &cmd_stop_request, &err);
    if (status != SHD_OK) {
        if (!cmd_is_stopped(status))
            cmd_error("%s", err.text);
        return cmd_exit_of(status);
    }
    if (write_hardware(&file, text, place, constants, samples, &fit, diag) == SHD_OK) {
        add_errors(&tables, samples, &fit);
        text_add_char(&tables, '\n');
        add_constants(&tables, constants);
        exit = put(o, &file, &tables);
    }
    fit_fini(&fit);
    text_fini(&file);
    text_fini(&tables);
    return exit;
}

static int calibrate(const struct calibration *o, struct diag *diag)
{
    struct text text = TEXT_INIT, place = TEXT_INIT;
    struct constants constants = {.n = 0};
    struct samples samples = {.n = 0};
    struct hardware *hardware = NULL;
    int exit = CMD_USAGE;
    int status =
        hardware_text(&text, &place, o->hardware, NULL, (struct place){.file = NULL}, diag);

    if (status == SHD_OK)
        status = hardware_parse(&hardware, text_get(&place), text_get(&text), text.length, diag);
    if (status == SHD_OK)
        status = constants_read(&constants, hardware, o->constants, diag);
    if (status == SHD_OK)
        read_samples(&samples, o, hardware, diag);
    if (diag->nerrors == 0 && !diag->no_memory)
        exit = fit(o, &samples, &constants, &text, text_get(&place), diag);
    samples_fini(&samples);
    constants_fini(&constants);
    hardware_destroy(hardware);
    text_fini(&text);
    text_fini(&place);
    return exit;
}

int calibration_run(const struct calibration *o)
{
    struct diag diag = DIAG_INIT;
    int exit = cmd_check_new(o->output, o->force);

    if (exit == CMD_OK)
        exit = calibrate(o, &diag);
    diag_write(&diag, stderr);
    if (diag.nerrors > 0 || diag.no_memory)
        exit = cmd_exit_of_input(&diag);
    diag_fini(&diag);
    return exit;
}
