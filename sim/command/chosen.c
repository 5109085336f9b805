/* Choosing one strategy of one scenario file (chosen.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/chosen.h"

#include <string.h>

#include "base/nearest.h"
#include "command/command.h"

/* The strategy asked for, or NULL with an error. */
static const struct scenario *find_strategy(const struct chosen *c, struct diag *diag)
{
    struct text names = TEXT_INIT;
    struct nearest near;

    if (!c->strategy && c->file->nscenarios == 1)
        return &c->file->scenarios[0];
    nearest_init(&near, c->strategy ? c->strategy : "");
    for (size_t i = 0; i < c->file->nscenarios; i++) {
        const char *name = c->file->scenarios[i].strategy;

        if (c->strategy && !strcmp(name, c->strategy)) {
            text_fini(&names);
            return &c->file->scenarios[i];
        }
        nearest_add(&near, name);
        text_addf(&names, "%s'%s'", names.length ? ", " : "", name);
    }
    diag->no_memory |= names.failed;
    if (c->strategy)
        diag_error(diag, (struct place){"--strategy", 1, 1},
                   c->file->nscenarios > 1
                       ? "there is no strategy '%s'; expected one of %s%s"
                       : "there is no strategy '%s'; expected %s, which needs no --strategy%s",
                   c->strategy, text_get(&names), nearest_hint(&near).text);
    else
        diag_error(diag, (struct place){c->file->path, 0, 0},
                   "the file has several strategies; choose one with --strategy: %s",
                   text_get(&names));
    text_fini(&names);
    return NULL;
}

int chosen_keep(struct chosen *c, struct text *text, struct diag *diag)
{
    int status = scenario_read(text, c->path, diag);

    if (status == SHD_OK)
        c->text = text;
    return status;
}

int chosen_read(struct chosen *c, const struct scenario **out, struct diag *diag)
{
    struct scenario_choice choice = {&c->strategy, c->strategy != NULL};
    int status = c->text ? scenario_parse_chosen(&c->file, c->path, text_get(c->text),
                                                 c->text->length, c->sets, c->nsets, choice, diag)
                         : scenario_load_chosen(&c->file, c->path, c->sets, c->nsets, choice, diag);

    if (status != SHD_OK)
        return status;
    *out = find_strategy(c, diag);
    if (!*out)
        return diag->no_memory ? SHD_ENOMEM : SHD_ENOTFOUND;
    return SHD_OK;
}

int chosen_try(struct chosen *chosen, struct diag *diag)
{
    const struct scenario *scenario;
    int status = chosen_read(chosen, &scenario, diag);

    if (status != SHD_OK)
        return status;
    if (!chosen->executes)
        scenario_file_plan(chosen->file);
    return trial_init(&chosen->trial, scenario, diag);
}

int chosen_load(struct chosen *chosen)
{
    struct diag diag = DIAG_INIT;
    int exit = CMD_OK;

    if (chosen_try(chosen, &diag) != SHD_OK) {
        exit = cmd_exit_of_input(&diag);
        diag_write(&diag, stderr);
        exit = cmd_stop_request ? CMD_INTERRUPTED : exit;
    }
    diag_fini(&diag);
    return exit;
}

int chosen_failed(const struct chosen *chosen, const struct shd_error *err)
{
    const struct scenario *scenario = chosen->trial.scenario;
    int exit = cmd_exit_of_refused(err->status);
    struct diag diag = DIAG_INIT;

    if (exit == CMD_USAGE) {
        diag_failure(&diag, scenario_blamed(scenario, err->text, scenario->place), err->status,
                     "%s: %s", scenario->strategy, err->text);
        diag_write(&diag, stderr);
    } else if (!cmd_is_stopped(err->status)) { /* what happened to a run has no line */
        (void)cmd_wrong(chosen->path, err->text);
    }
    diag_fini(&diag);
    return exit;
}

void chosen_fini(struct chosen *chosen)
{
    trial_fini(&chosen->trial);
    scenario_file_destroy(chosen->file);
    chosen->file = NULL;
}
