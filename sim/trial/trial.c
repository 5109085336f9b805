/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array_file.h"
#include "cost/modelled.h"
#include "cost/plan.h"
#include "hardware/margin.h"
#include "hardware/software.h"
#include "model/offload_marks.h"
#include "model/pipeline.h"
#include "model/products.h"
#include "partition/partition.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "trial/curve.h"
#include "trial/verify.h"

/* Find the algorithms that a scenario asks for, by collective. */
static void find_algos(const struct coll_algo *algos[COLL_NKINDS], const struct scenario *scenario,
                       struct diag *diag)
{
    memset(algos, 0, COLL_NKINDS * sizeof *algos);
    for (size_t i = 0; i < scenario->nalgorithms; i++) {
        const struct scenario_algorithm *a = &scenario->algorithms[i];
        int kind = coll_kind_parse(a->kind);
        char names[COLL_NAMES_MAX];

        if (kind < 0) {
            diag_error(diag, a->kind_place, "there is no collective '%s'%s", a->kind,
                       coll_kind_hint(a->kind).text);
            continue;
        }
        algos[kind] = coll_find((enum coll_kind)kind, a->name);
        if (algos[kind])
            continue;
        diag_error(diag, a->place, "%s has no algorithm '%s'; expected %s%s", a->kind, a->name,
                   coll_names((enum coll_kind)kind, names),
                   coll_algo_hint((enum coll_kind)kind, a->name).text);
    }
}

/* The scenario's entry for the algorithm of a collective. */
static const struct scenario_algorithm *asked_algo(const struct scenario *scenario, int kind)
{
    for (size_t i = 0; i < scenario->nalgorithms; i++)
        if (coll_kind_parse(scenario->algorithms[i].kind) == kind)
            return &scenario->algorithms[i];
    return NULL;
}

/* Check that each asked algorithm serves its groups; an error is reported once per collective. */
static void check_algos(const struct trial *t, const struct coll_algo *algos[COLL_NKINDS],
                        struct diag *diag)
{
    bool told[COLL_NKINDS] = {false};

    for (uint32_t i = 0; i < t->program->nops; i++) {
        const struct program_op *op = &t->program->ops[i];
        int kind = program_coll_kind(op);
        const struct scenario_algorithm *asked;
        struct coll_shape shape;

        if (kind < 0 || !algos[kind] || told[kind])
            continue;
        program_algo(t->program, op, &shape);
        asked = asked_algo(t->scenario, kind);
        if (!asked || coll_serves(algos[kind], shape.nmembers))
            continue;
        told[kind] = true;
        diag_error(diag, asked->place,
                   "%s/%s does not support groups of %" PRIu32 " devices, as in %s; it is for %s",
                   asked->kind, asked->name, shape.nmembers, op->name,
                   algos[kind]->limits == COLL_POW2 ? "powers of two" : "pairs");
    }
}

/* Whether gathered parameters are kept.  Without ZeRO stage 3 the scenario does not say. */
static enum partition_gathered kept_params(const struct trial *trial)
{
    const struct scenario_zero *zero = &trial->scenario->zero;

    if (zero->stage < 3)
        return PARTITION_KEPT_IF_FITS;
    if (zero->reshard == SCENARIO_RESHARD_DEFAULT)
        return trial->graph->nstages > 1 ? PARTITION_KEPT : PARTITION_AGAIN;
    return zero->reshard == SCENARIO_RESHARD_NEVER ? PARTITION_KEPT : PARTITION_AGAIN;
}

/* Number of neighbours over which parameters stay sharded, fewer than ZeRO's axis has; 0: none. */
static int32_t neighbours_of(const struct trial *trial, int axis)
{
    const struct scenario_zero *zero = &trial->scenario->zero;

    return zero->stage == 3 && axis >= 0 && zero->reshard > SCENARIO_RESHARD_NEVER &&
                   zero->reshard < shd_mesh_axis_size(trial->mesh, (size_t)axis)
               ? (int32_t)zero->reshard
               : 0;
}

struct partition_request trial_request(const struct trial *trial)
{
    const struct scenario_axis_list *axes = &trial->scenario->zero.axes;
    int axis = axes->n == 1 ? shd_mesh_find_axis(trial->mesh, axes->names[0]) : -1;

    return (struct partition_request){
        .graph = trial->graph,
        .mesh = trial->mesh,
        .nodes = trial->shardings.nodes,
        .outputs = trial->shardings.outputs,
        .stored = trial->shardings.stored,
        .placement =
            trial->scenario->placement == SCENARIO_SEARCH ? PARTITION_SEARCH : PARTITION_FOLLOW,
        .algos = trial->algos,
        .memory_bytes = trial->memory_limit_bytes,
        .values =
            trial->scenario->gathered == SCENARIO_GATHER_AGAIN ? PARTITION_AGAIN : PARTITION_KEPT,
        .params = kept_params(trial),
        .neighbours = neighbours_of(trial, axis),
        .neighbours_axis = (uint8_t)(axis < 0 ? 0 : axis),
        .stages = trial->timetable ? &trial->stages : NULL,
        .node_axis = trial->has_nodes ? &trial->node_axis : NULL,
        .prefetch_layers =
            trial->scenario->zero.stage == 3 ? (uint32_t)trial->scenario->zero.prefetch : 0,
        .offloads = trial->offloads,
        .offload_layers = (uint32_t)trial->scenario->offload.prefetch,
        .hardware = trial->by_time ? trial->hardware : NULL,
    };
}

/* Modelled step time of a program, in seconds; INFINITY if the program exceeds the memory limit. */
static int find_seconds(double *out, const struct trial *t, const struct program *program,
                        struct shd_error *err)
{
    uint64_t limit = t->memory_limit_bytes;
    struct record *record;
    int status = plan_create(&record, program, err);

    if (status != SHD_OK)
        return status;
    status = modelled_run(record, t->hardware, NULL, err);
    if (status == SHD_OK)
        *out = limit > 0 && program_peak_bytes(program) > limit
                   ? INFINITY
                   : (double)record->modelled->timeline->step_ns * 1e-9;
    record_destroy(record);
    return status;
}

/* The partitioner's price adds up steps in sequence and ignores merged collectives and overlap.  So
 * build the choice by time and the choice by bytes, model both, and keep the faster program. */
static int partition_by_time(struct trial *t, struct shd_error *err)
{
    struct partition_request request = trial_request(t);
    struct program *timed;
    double seconds, timed_seconds;
    int status = partition_build(&t->program, &request, err);

    if (status != SHD_OK)
        return status;
    request.hardware = t->hardware;
    status = partition_build(&timed, &request, err);
    if (status != SHD_OK)
        return status;
    status = find_seconds(&seconds, t, t->program, err);
    if (status == SHD_OK)
        status = find_seconds(&timed_seconds, t, timed, err);
    t->by_time = status == SHD_OK && timed_seconds < seconds;
    program_destroy(t->by_time ? t->program : timed);
    if (t->by_time)
        t->program = timed;
    return status;
}

static int partition(struct trial *t, struct shd_error *err)
{
    const struct partition_request request = trial_request(t);

    if (t->scenario->price == SCENARIO_PRICE_TIME)
        return partition_by_time(t, err);
    return partition_build(&t->program, &request, err);
}

/* A chunk has at least one token of those that a device has of a microbatch. */
static void check_chunks(const struct trial *t, struct diag *diag)
{
    for (uint32_t i = 0; i < t->program->nbuffers; i++) {
        const struct program_buffer *b = &t->program->buffers[i];
        uint64_t tokens =
            b->rank > 0 ? program_buffer_count(b) / (uint64_t)b->local[b->rank - 1] : 0;

        if (b->chunks <= tokens)
            continue;
        diag_error(diag, scenario_place(t->scenario, "fused.loss_chunks"),
                   "fused.loss_chunks is %" PRIu32 ", more than the %" PRIu64
                   " tokens of a microbatch on a device; expected at most that many",
                   b->chunks, tokens);
        return;
    }
}

static int build_program(struct trial *t, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct shd_error err;
    int status;

    find_algos(t->algos, t->scenario, diag);
    if (diag->nerrors > before)
        return diag_status(diag, before);
    status = partition(t, &err);
    if (status != SHD_OK) {
        diag_failure(diag, scenario_blamed(t->scenario, err.text, t->scenario->place), err.status,
                     "%s", err.text);
        return status;
    }
    check_algos(t, t->algos, diag);
    check_chunks(t, diag);
    return diag_status(diag, before);
}

/* Build the order in which the ranks of a pipeline run microbatches. */
static int build_timetable(struct trial *t, struct diag *diag)
{
    const struct pipeline pipeline = pipeline_of(t->scenario);
    struct shd_error err;
    int status;

    if (t->graph->nstages == 1)
        return SHD_OK;
    status = pipeline_timetable(&t->timetable, &pipeline, &err);
    if (status != SHD_OK)
        diag_failure(diag, scenario_place(t->scenario, "pipeline.schedule"), status, "%s",
                     err.text);
    else
        t->stages = (struct program_stages){shd_mesh_find_axis(t->mesh, t->scenario->pipeline.axis),
                                            t->timetable};
    return status;
}

/* Whether the cluster's file says of the host what offload needs. */
static int check_host(const struct trial *t, struct diag *diag)
{
    const char *option = scenario_offload_option(t->scenario);
    struct shd_error err;

    if (!option || hardware_host_check(t->hardware, &err) == SHD_OK)
        return SHD_OK;
    diag_failure(diag, scenario_place(t->scenario, option), err.status, "%s: %s", option, err.text);
    return err.status;
}

/* Refuse a cluster that does not say how fast products of codes are, where the scenario says that
 * there are such. */
static int check_product_rate(const struct trial *t, struct diag *diag)
{
    enum shd_dtype codes[2];

    for (int i = 0; model_product_codes(codes, t->scenario) && i < 2; i++) {
        const char *code = shd_dtype_name(codes[i]);

        if (t->hardware->flops_per_s[codes[i]] > 0)
            continue;
        diag_error(
            diag, scenario_place(t->scenario, "products.recipe"),
            "cluster '%s' has no rate of %s; expected rates.%s in its file, another "
            "cluster, or products.recipe none%s",
            t->hardware->name, code, code,
            codes[i] == SHD_F4E2M1 && scenario_serves(t->scenario)
                ? " with products.weights mxfp4 and products.block 16, dequantized to model.dtype"
                : "");
        return SHD_EUNSUPPORTED;
    }
    return SHD_OK;
}

static void choose(bool *overlaps, enum scenario_beside asked)
{
    if (asked != SCENARIO_AS_CLUSTER)
        *overlaps = asked == SCENARIO_BESIDE_WORK;
}

/* What runs beside computation where the scenario says so, whatever the cluster's software does. */
static void choose_overlaps(struct hardware_software *software, const struct scenario_overlap *o)
{
    choose(&software->overlaps_gradients, o->gradients);
    choose(&software->overlaps_weights, o->weights);
    software->waits_for_weights = o->weights == SCENARIO_EXPOSED;
    choose(&software->overlaps_products, o->products);
    choose(&software->overlaps_sends, o->sends);
    choose(&software->overlaps_pairs, o->pairs);
}

/* Whether products are rounded to 8 bits or fewer. */
static bool is_coded(const struct scenario *s)
{
    return s->products.recipe != SCENARIO_NO_RECIPE;
}

static void fuse(enum scenario_fusion *asked, bool does)
{
    if (*asked == SCENARIO_FUSED_AS_CLUSTER)
        *asked = does ? SCENARIO_ONE_KERNEL : SCENARIO_APART;
}

/* Fill in the scenario's settings that are left to the software. */
static int resolve(struct trial *t, const struct hardware_software *software, struct diag *diag)
{
    struct scenario *s;

    t->resolved = malloc(sizeof *t->resolved);
    if (!t->resolved) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    s = t->resolved;
    *s = *t->scenario;
    t->scenario = s;
    if (!s->step.update)
        return SHD_OK;
    if (s->model.dtype == SHD_BF16 && hardware_halves_gradients(software, is_coded(s)) &&
        s->types.gradients == SCENARIO_TYPE_SOFTWARE && s->types.reduce == SCENARIO_TYPE_SOFTWARE)
        s->types.gradients = s->types.reduce = SCENARIO_TYPE_COMPUTE;
    fuse(&s->fused.loss, software->fuses_loss);
    fuse(&s->fused.activation, software->fuses_activation);
    if (scenario_gates_results(&s->model))
        fuse(&s->fused.gates, software->fuses_gates);
    if (s->fused.loss_chunks > 1 && s->fused.loss_again == SCENARIO_AS_CLUSTER &&
        software->chunks_again)
        s->fused.loss_again = SCENARIO_BESIDE_WORK;
    if (s->products.frozen == SCENARIO_FROZEN_AS_CLUSTER)
        s->products.frozen = software->codes_frozen ? SCENARIO_FROZEN_CODES : SCENARIO_FROZEN_WIDE;
    return SHD_OK;
}

/* Choose the software that the scenario names, with the scenario's settings of overlaps. */
static int choose_software(struct trial *t, struct diag *diag)
{
    const struct scenario *s = t->scenario;

    if (s->software >= SCENARIO_SOFTWARE_NAMED)
        (void)hardware_run_software(t->hardware, scenario_software_name(s->software));
    choose_overlaps(&t->hardware->software, &s->overlap);
    choose(&t->hardware->software.dispatches_by_node, s->model.moe.by_node);
    return resolve(t, &t->hardware->software, diag);
}

/* The software that a scenario without a cluster names: its memory needs no times. */
static int resolve_named(struct trial *t, struct diag *diag)
{
    const enum scenario_software named = t->scenario->software;

    if (named < SCENARIO_SOFTWARE_NAMED)
        return SHD_OK;
    return resolve(t, software_find(scenario_software_name(named), NULL), diag);
}

/* Find the cluster, with its devices laid out for the mesh. */
static int find_hardware(struct trial *t, struct diag *diag)
{
    struct place place = scenario_place(t->scenario, "hardware");
    struct shd_error err;
    int status;

    t->memory_limit_bytes = t->scenario->limits.memory.bytes;
    if (!t->scenario->hardware)
        return resolve_named(t, diag);
    status = hardware_find(&t->hardware, t->scenario->hardware, NULL, place, diag);
    if (status != SHD_OK)
        return status;
    status = choose_software(t, diag);
    if (status != SHD_OK)
        return status;
    if (t->scenario->limits.memory.part > 0)
        t->memory_limit_bytes =
            (uint64_t)(t->scenario->limits.memory.part * t->hardware->memory_bytes);
    status = check_host(t, diag);
    if (status != SHD_OK)
        return status;
    status = hardware_lay_out(t->hardware, shd_mesh_size(t->mesh), t->scenario->slices, NULL, &err);
    if (status != SHD_OK)
        diag_failure(diag, place, status, "%s", err.text);
    return status == SHD_OK ? check_product_rate(t, diag) : status;
}

/* If dimensions do not divide, use the graph with padded dimensions. */
static int pad(struct trial *t, struct diag *diag)
{
    struct graph *padded;
    int status = model_pad(&padded, t->graph, t->mesh, t->scenario, diag);

    if (status == SHD_OK && padded) {
        t->unpadded = t->graph;
        t->graph = padded;
    }
    return status;
}

/* Check that the node axis numbers nodes of the cluster.  Consecutive devices are in one node, so
 * neighbours along the axis must be as many devices apart as the innermost domain has.  A mesh that
 * fits into one domain may still stand for a larger one. */
static int check_nodes(const struct trial *t, struct diag *diag)
{
    const struct hardware *h = t->hardware;
    int64_t inside = h && h->ntiers > 1 ? h->tiers[0].devices : 1, apart = 1;

    for (size_t a = t->node_axis + 1u; a < shd_mesh_naxes(t->mesh); a++)
        apart *= shd_mesh_axis_size(t->mesh, a);
    if (shd_mesh_axis_size(t->mesh, t->node_axis) == 1 || apart >= inside ||
        shd_mesh_size(t->mesh) <= inside)
        return SHD_OK;
    diag_error(diag, scenario_place(t->scenario, "moe.node_axis"),
               "devices 0 and %" PRId64 ", neighbours along '%s', share a node of %" PRId64 " "
               "devices on %s; expected an axis between nodes, or null",
               apart, shd_mesh_axis_name(t->mesh, t->node_axis), inside, h->name);
    return SHD_EINVAL;
}

static void find_node_axis(struct trial *t)
{
    const char *name = t->scenario->model.moe.node_axis;
    int axis = name ? shd_mesh_find_axis(t->mesh, name) : -1;

    t->has_nodes = axis >= 0;
    t->node_axis = (uint8_t)(axis < 0 ? 0 : axis);
}

static int lay(struct trial *t, struct diag *diag)
{
    const struct scenario *scenario = t->scenario;
    struct shd_error err;
    int status = scenario_mesh(&t->mesh, scenario, &err);

    if (status != SHD_OK)
        diag_failure(diag, scenario_place(scenario, "mesh"), err.status, "%s", err.text);
    if (status == SHD_OK) {
        find_node_axis(t);
        status = find_hardware(t, diag);
        scenario = t->scenario;
    }
    if (status == SHD_OK && t->has_nodes)
        status = check_nodes(t, diag);
    if (status == SHD_OK)
        status = model_graph(&t->graph, scenario, diag);
    if (status == SHD_OK && scenario->uneven == SCENARIO_PADDED)
        status = pad(t, diag);
    if (status == SHD_OK)
        status = build_timetable(t, diag);
    if (status == SHD_OK)
        status = model_shardings(&t->shardings, t->graph, t->mesh, scenario, diag);
    if (status == SHD_OK)
        status = model_offload(&t->offloads, t->graph, scenario, diag);
    return status;
}

static int init(struct trial *out, const struct scenario *scenario, bool programs,
                struct diag *diag)
{
    /* Collect the errors of this trial alone: a message that another strategy of the file already
     * gave is not counted again, and an error here decides what is done next. */
    struct diag own = DIAG_INIT;
    struct trial t = {.scenario = scenario};
    int status = lay(&t, &own);

    if (status == SHD_OK && programs)
        status = build_program(&t, &own);
    if (status == SHD_OK)
        *out = t;
    else
        trial_fini(&t);
    diag_append(diag, &own);
    diag_fini(&own);
    return status != SHD_OK && diag->no_memory ? SHD_ENOMEM : status;
}

int trial_init(struct trial *out, const struct scenario *scenario, struct diag *diag)
{
    return init(out, scenario, true, diag);
}

int trial_init_made(struct trial *out, const struct scenario *scenario, const char *what,
                    struct shd_error *err)
{
    struct diag diag = DIAG_INIT;
    int status = trial_init(out, scenario, &diag);

    if (status != SHD_OK)
        shd_error_set(err, status, "%s: %s", what, diag_first(&diag, "no memory"));
    diag_fini(&diag);
    return status;
}

int trial_lay(struct trial *out, const struct scenario *scenario, struct diag *diag)
{
    return init(out, scenario, false, diag);
}

void trial_fini(struct trial *trial)
{
    timing_fini(&trial->timing);
    spread_destroy(trial->spread);
    record_destroy(trial->record);
    outputs_destroy(trial->outputs);
    program_destroy(trial->program);
    model_shardings_fini(&trial->shardings);
    free(trial->offloads);
    timetable_destroy(trial->timetable);
    graph_destroy(trial->graph);
    graph_destroy(trial->unpadded);
    hardware_destroy(trial->hardware);
    shd_mesh_destroy(trial->mesh);
    free(trial->resolved);
    memset(trial, 0, sizeof *trial);
}

/* Steps with state run as often as the scenario says; stateless steps are repeated for timing. */
static uint32_t repeats_of(const struct trial *trial)
{
    return program_has_state(trial->program) ? (uint32_t)trial->scenario->steps : trial->repeats;
}

static struct walk_opts walk_options(const struct trial *trial, const int *stop_request)
{
    return (struct walk_opts){.memory_bytes = trial->memory_limit_bytes,
                              .stop_request = stop_request,
                              .nthreads = trial->nthreads,
                              .memory = trial->memory,
                              .spread = trial->spread,
                              .repeats = repeats_of(trial)};
}

/* Whether ops are timed: if a device has several threads, one thread's time is not the op's. */
static bool is_timed(const struct trial *trial)
{
    return trial->nthreads <= 1;
}

/* Below this work on whole arrays, a fraction of a second, one thread is faster: OpenMP's threads
 * wait by spinning, which costs more than their parts. */
#define SERIAL_FLOPS_MAX (UINT64_C(1) << 30)

/* Threads of the unsharded computation: the cores per rank on this machine. */
static int reference_threads(const struct program *program)
{
    struct program_work work;
    long ncores = sysconf(_SC_NPROCESSORS_ONLN) / ranks_here();

    program_work(&work, program);
    return ncores > 1 && work.unsharded_flops > SERIAL_FLOPS_MAX ? (int)ncores : 1;
}

/* Check that the files of tokens and of values were read to their ends. */
static int check_data(const struct trial *trial, struct shd_error *err)
{
    const struct file_bytes *file = trial->scenario->data.bytes;
    const struct array_file *values = trial->scenario->graph.values;
    int status = file ? file_bytes_check(file, err) : SHD_OK;

    return status == SHD_OK && values ? array_file_check(values, err) : status;
}

static int execute(struct trial *trial, const int *stop_request, struct shd_error *err)
{
    struct walk_opts opts = walk_options(trial, stop_request);
    struct verify_opts verify = {.ndevices = shd_mesh_size(trial->mesh),
                                 .nsteps = (uint32_t)trial->scenario->steps,
                                 .stop_request = stop_request,
                                 .shared = trial->over_ranks,
                                 .tolerance = trial->scenario->tolerance > 0};
    struct verify_reference reference;
    struct decisions decisions;
    int status = decisions_make(&decisions, trial->program, verify.nsteps, &opts, err);

    if (status != SHD_OK)
        return status;
    verify.nthreads = reference_threads(trial->program);
    verify.decisions = &decisions;
    status = verify_reference(&reference, trial->unpadded ? trial->unpadded : trial->graph, &verify,
                              err);
    decisions_fini(&decisions);
    if (status != SHD_OK)
        return status;
    if (is_timed(trial))
        timing_watch(&trial->timing, &opts);
    opts.together = trial->outputs ? outputs_take : trial->together;
    opts.together_arg = trial->outputs ? trial->outputs : trial->together_arg;
    status = verify_run(trial->record, &reference, &opts, err);
    verify_reference_fini(&reference);
    return status == SHD_OK ? check_data(trial, err) : status;
}

/* Find this rank's devices. */
static int spread_out(struct trial *trial, struct shd_error *err)
{
    if (!trial->over_ranks || trial->spread)
        return SHD_OK;
    return spread_create(&trial->spread, trial->mesh, trial->spread_axis, err);
}

int trial_execute(struct trial *trial, const int *stop_request, struct shd_error *err)
{
    int status = record_create(&trial->record, trial->program, RECORD_EXECUTED, true, err);

    if (status != SHD_OK)
        return status;
    trial->record->tolerance = trial->scenario->tolerance;
    status = spread_out(trial, err);
    if (status != SHD_OK)
        return status;
    if (is_timed(trial))
        status = timing_init(&trial->timing, trial->record, trial->works, err);
    if (status == SHD_OK && trial->keeps_outputs)
        status = outputs_create(&trial->outputs, trial->program, err);
    if (status == SHD_OK)
        status = execute(trial, stop_request, err);
    if (status == SHD_OK && is_timed(trial))
        status = trial_replay(trial, 0, err);
    return status;
}

/* A walk_stepped_fn: keep the step's loss and gradient norm. */
static void keep_numbers(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    curve_keep(arg, position, step, shards);
}

int trial_train(struct trial *trial, const int *stop_request, struct shd_error *err)
{
    struct walk_opts opts = walk_options(trial, stop_request);
    int status = record_create(&trial->record, trial->program, RECORD_EXECUTED, true, err);

    if (status == SHD_OK)
        status = record_train(trial->record, opts.repeats, err);
    if (status == SHD_OK)
        status = spread_out(trial, err);
    if (status != SHD_OK)
        return status;
    opts.spread = trial->spread;
    opts.stepped = keep_numbers;
    opts.stepped_arg = trial->record;
    status = walk_run(trial->record, &opts, err);
    if (status == SHD_OK)
        curve_gather(trial->record, trial->spread);
    return status == SHD_OK ? check_data(trial, err) : status;
}

int trial_time(struct trial *trial, uint32_t round, const int *stop_request, struct shd_error *err)
{
    struct walk_opts opts = walk_options(trial, stop_request);

    int status = timing_round(&trial->timing, round, &opts, err);

    return status == SHD_OK ? check_data(trial, err) : status;
}

int trial_replay(struct trial *trial, uint32_t nrounds, struct shd_error *err)
{
    struct record_transfers transfers = {trial->scenario->transfers.bytes_per_s,
                                         trial->scenario->transfers.latency_ns};

    return timing_replay(&trial->timing, nrounds, &transfers, err);
}

/* The scenario's straggler; NULL: none. */
static const struct record_straggler *find_straggler(struct record_straggler *out,
                                                     const struct scenario *scenario)
{
    const struct scenario_straggler *s = &scenario->straggler;

    *out = (struct record_straggler){(int32_t)s->device, s->compute > 0 ? s->compute : 1,
                                     s->links > 0 ? s->links : 1, 0};
    return s->compute > 0 || s->links > 0 ? out : NULL;
}

int trial_make_plan(const struct trial *trial, struct record **out, struct shd_error *err)
{
    struct record_straggler straggler;
    int status = plan_create(out, trial->program, err);

    if (status == SHD_OK && trial->hardware)
        status =
            modelled_run(*out, trial->hardware, find_straggler(&straggler, trial->scenario), err);
    return status;
}

int trial_plan(struct trial *trial, struct shd_error *err)
{
    return trial_make_plan(trial, &trial->record, err);
}

void trial_find_worst(struct trial *trial)
{
    const struct scenario_moe *moe = &trial->scenario->model.moe;
    struct scenario scenario = *trial->scenario;
    struct diag diag = DIAG_INIT;
    struct trial worst;

    if (!scenario.planned || moe->experts == 0 || moe->routing != SCENARIO_ROUTING_AUTO ||
        moe->capacity > 0)
        return;
    scenario.planned = false;
    if (trial_init(&worst, &scenario, &diag) == SHD_OK) {
        trial->record->worst_peak_bytes = program_peak_bytes(worst.program);
        trial_fini(&worst);
    } else {
        trial->record->worst_unknown = true;
    }
    diag_fini(&diag);
}

/* The bytes of a device that hold so many bytes of arrays. */
static double of_device(const struct trial *trial, double bytes)
{
    const struct hardware *h = trial->hardware;

    return h ? bytes * (1 + h->fragmentation) + h->reserved_bytes : bytes;
}

double trial_need_bytes(const struct trial *trial)
{
    const struct record *record = trial->record;

    return of_device(trial, record ? (double)record_balance_of(record, record->peak_bytes).max
                                   : (double)program_peak_bytes(trial->program));
}

double trial_room_bytes(const struct trial *trial, bool margin)
{
    const struct hardware *h = trial->hardware;
    double room = !h ? INFINITY : margin ? hardware_room(h) : h->memory_bytes;

    return trial->memory_limit_bytes > 0
               ? fmin(room, of_device(trial, (double)trial->memory_limit_bytes))
               : room;
}

bool trial_fits(const struct trial *trial)
{
    uint64_t limit = trial->memory_limit_bytes;

    return limit == 0 || program_peak_bytes(trial->program) <= limit;
}
