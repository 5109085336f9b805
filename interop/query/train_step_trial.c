/* Planning a train-step question (train_step_trial.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/train_step_trial.h"

/* Find the behaviour of the software that a question leaves open: that of a name, or the
 * cluster's. */
static int find_stack(struct train_step_stack *out, const struct train_step *step,
                      struct shd_error *err)
{
    struct diag diag = DIAG_INIT;
    struct hardware *hardware = NULL;
    int status =
        hardware_find(&hardware, step->hardware, NULL, (struct place){.file = "<question>"}, &diag);

    if (status == SHD_OK && step->software && !hardware_run_software(hardware, step->software))
        status = shd_error_set(err, SHD_ENOTFOUND,
                               "unknown software '%.60s'; 'shardsim show options software' lists "
                               "names",
                               step->software);
    if (status == SHD_OK)
        *out = (struct train_step_stack){
            .whole_layers = hardware->software.recomputes_layers,
            .prefetches = hardware->software.overlaps_weights,
            .fsdp = hardware->software.fsdp,
            .sequence_parallel = hardware->software.sequence_parallel,
            .half_gradients = hardware_halves_gradients(&hardware->software, step->recipe)};
    if (diag.no_memory || diag.nmessages > 0)
        status = shd_error_set(err, status, "%s", diag_first(&diag, "no memory for the cluster"));
    hardware_destroy(hardware);
    diag_fini(&diag);
    return status;
}

int train_step_trial_init(struct train_step_trial *out, const json_t *in, const char *hardware,
                          struct shd_error *err)
{
    struct variant_ask ask = {.name = "<question>", .text = &out->text};
    struct train_step_stack stack;
    int status;

    *out = (struct train_step_trial){.text = TEXT_INIT};
    status = train_step_read(&out->step, in, err);
    if (status == SHD_OK && hardware)
        out->step.hardware = hardware;
    if (status == SHD_OK && !out->step.hardware)
        status = shd_error_set(err, SHD_ETYPE,
                               "'hardware' must be the name of a cluster, such as h100-sxm; "
                               "'shardsim show hardware' lists them");
    if (status == SHD_OK)
        status = find_stack(&stack, &out->step, err);
    if (status != SHD_OK)
        return status;
    train_step_scenario(&out->step, &stack, &out->text);
    status = variant_need(&out->variant, &ask, err);
    if (status != SHD_OK)
        text_fini(&out->text);
    return status;
}

void train_step_trial_fini(struct train_step_trial *planned)
{
    variant_fini(&planned->variant);
    text_fini(&planned->text);
}
