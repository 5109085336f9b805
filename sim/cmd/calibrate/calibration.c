/* Fitting the constants of a cluster (calibration.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/calibrate/calibration.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/fit.h"
#include "calibrate/kernel_rows.h"
#include "calibrate/kernel_write.h"
#include "calibrate/nccl.h"
#include "calibrate/steps.h"
#include "calibrate/write.h"
#include "command/command.h"
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
                  c->value <= c->least  ? "at its lower limit"
                  : c->value >= c->most ? "at its upper limit"
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
            cmd_note("%zu rows of %s are skipped: another cluster than %s, or no step_seconds",
                     file.left_out, file.path, hardware->name);
    }
    for (size_t i = 0; i < o->ncollectives; i++)
        if (nccl_read(samples, o->collectives[i], o->hardware, diag) == SHD_ENOMEM)
            return;
    if (diag->nerrors == 0 && !diag->no_memory && samples->n == 0)
        diag_error(diag, (struct place){.file = NULL},
                   "no measurement of %s; expected rows with in.hardware '%s'", hardware->name,
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

/* ---- kernels ---- */

#define LEAST_ROWS 12 /* that a model is fitted to */

static void add_models(struct text *out, const struct kernel_models *models)
{
    struct table table;

    table_init(&table, "llrrr");
    table_heads(&table, "kernel|type|rows|median|90th percentile");
    for (size_t i = 0; i < models->n; i++) {
        const struct kernel_model *m = &models->items[i];

        table_add(&table, "%s", kernel_kinds[m->kernel]);
        table_add(&table, "%s", kernel_model_type(m));
        table_add(&table, "%" PRId64, m->error.rows);
        table_add(&table, "%.1f %%", 100 * m->error.median);
        table_add(&table, "%.1f %%", 100 * m->error.p90);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

static int fit_tables(struct kernel_models *models, const struct kernel_tables *tables, bool copies,
                      struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t i = 0; i < tables->n && status == SHD_OK; i++) {
        const struct kernel_samples *samples = &tables->items[i];
        struct kernel_model *m = &models->items[models->n];

        if (samples->n < LEAST_ROWS || (samples->kernel == KERNEL_COPY) != copies)
            continue;
        if (cmd_stop_request)
            return shd_error_set(err, SHD_ESTOPPED, "interrupted");
        status = kernel_fit(m, samples, err);
        if (status != SHD_OK)
            break;
        cmd_note("fitted %s, %s: %zu rows", kernel_kinds[m->kernel], kernel_model_type(m),
                 samples->n);
        models->n++;
        if (!*m->name)
            models->of[m->kernel][m->type] = m;
    }
    return status;
}

/* Make room for a model of each samples.  SHD_ENOMEM. */
static int make_room(struct kernel_models *models, const struct kernel_tables *tables,
                     struct shd_error *err)
{
    struct kernel_model *items = calloc(tables->n + 1, sizeof *items);

    for (size_t i = 0; items && i < models->n; i++) {
        items[i] = models->items[i];
        models->of[items[i].kernel][items[i].type] = &items[i];
    }
    if (!items)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu models", tables->n);
    free(models->items);
    models->items = items;
    return SHD_OK;
}

/* Fit copy kernels first: models of the other kernels contain copies. */
static int fit_models(struct kernel_models *models, struct kernel_tables *tables,
                      const char *folder, struct diag *diag, struct shd_error *err)
{
    int status = kernel_tables_read(tables, folder, true, diag);

    if (status == SHD_OK)
        status = make_room(models, tables, err);
    if (status == SHD_OK)
        status = fit_tables(models, tables, true, err);
    tables->models = models;
    if (status == SHD_OK)
        status = kernel_tables_read(tables, folder, false, diag);
    if (status == SHD_OK)
        status = make_room(models, tables, err);
    if (status == SHD_OK && tables->files == 0)
        diag_error(diag, (struct place){folder, 1, 1},
                   "no table of %s; expected files, e.g. %s-gemm.csv.gz", tables->hardware->name,
                   tables->hardware->name);
    else if (status == SHD_OK)
        status = fit_tables(models, tables, false, err);
    return diag->nerrors > 0 ? SHD_EINVAL : status;
}

static int calibrate_kernels(const struct calibration *o, const struct hardware *hardware,
                             const struct text *text, struct diag *diag)
{
    struct kernel_tables tables = {.hardware = hardware};
    struct kernel_models models = {.n = 0};
    struct text file = TEXT_INIT, lines = TEXT_INIT;
    struct shd_error err = {.text = ""};
    int exit = CMD_USAGE, status;

    if (hardware->models && !hardware->links_apart)
        models.no_slower_name = hardware->models->no_slower_name;
    status = fit_models(&models, &tables, o->kernels, diag, &err);
    if (status == SHD_OK) {
        kernel_write(&file, text_get(text), &models);
        add_models(&lines, &models);
        if (tables.left_out > 0)
            text_addf(&lines,
                      "\n"
                      "%zu rows are skipped: no model for their kernel or type\n",
                      tables.left_out);
        exit = put(o, &file, &lines);
    } else if (diag->nerrors == 0 && !diag->no_memory) {
        if (!cmd_is_stopped(status))
            cmd_error("%s", err.text);
        exit = cmd_exit_of(status);
    }
    kernel_tables_fini(&tables);
    kernel_models_clear(&models);
    text_fini(&file);
    text_fini(&lines);
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
    if (status == SHD_OK && o->kernels) {
        exit = calibrate_kernels(o, hardware, &text, diag);
        status = SHD_ESTOPPED;
    }
    if (status == SHD_OK)
        status = constants_read(&constants, hardware, o->constants, diag);
    if (status == SHD_OK)
        read_samples(&samples, o, hardware, diag);
    if (status == SHD_OK && diag->nerrors == 0 && !diag->no_memory)
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
