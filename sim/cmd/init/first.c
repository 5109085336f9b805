/* Choosing the layout of a first scenario (first.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/init/first.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/divisor.h"
#include "base/escape.h"
#include "base/literal.h"
#include "hardware/hardware.h"
#include "hardware/margin.h"
#include "report/modelled.h"
#include "scenario/draft.h"
#include "scenario/tensor_rules.h"
#include "trial/variant.h"

#define NODE 8 /* devices of most nodes: tensor parallelism is no wider */
#define STAGES_MOST 32
#define TOKENS_OF_PART 16384 /* of a sequence on a device: shorter ones are not sharded ... */
#define TOKENS_LEAST 8192    /* ... but for want of sequences */
#define FEW_LAYERS 3 /* of an estimate, besides the first ones, where these have no experts */

struct layout {
    int64_t pp, cp, tp, ep; /* 1: no such axis */
    int64_t stage;          /* of ZeRO */
    const char *recompute;
    int64_t sequences; /* of a device's microbatch */
};

/* ---- the scenario ---- */

static int64_t replicas_of(const struct first_asked *asked, const struct layout *l)
{
    return asked->devices / (l->pp * l->cp * l->tp);
}

/* Replicas that are not along the experts' axis. */
static int64_t outer_of(const struct first_asked *asked, const struct layout *l)
{
    return replicas_of(asked, l) / l->ep;
}

static const char *batch_axes(const struct first_asked *asked, const struct layout *l)
{
    return l->ep == 1 ? "fsdp" : outer_of(asked, l) == 1 ? "ep" : "[fsdp, ep]";
}

/* Axes of ZeRO and of experts, as in a spec: those of the batch, and cp. */
static const char *zero_axes(const struct first_asked *asked, const struct layout *l)
{
    if (l->cp == 1)
        return batch_axes(asked, l);
    return l->ep == 1 ? "[fsdp, cp]" : outer_of(asked, l) == 1 ? "[ep, cp]" : "[fsdp, ep, cp]";
}

static const char *expert_axes(const struct first_asked *asked, const struct layout *l)
{
    bool over_context = l->cp > 1 && asked->sizes->moe.experts % (l->cp * l->ep) == 0;

    return over_context ? (l->ep > 1 ? "[ep, cp]" : "cp") : l->ep > 1 ? "ep" : NULL;
}

/* The fewest stages, and then the least tensor parallelism, with which a batch divides over the
 * replicas of devices that share no sequence; false: none. */
static bool find_dividing(struct layout *out, long devices, long batch, long cp)
{
    /* Allow stages only if the batch is smaller than the nodes; else it is probably a typo. */
    long most = batch < devices / NODE ? STAGES_MOST : 1;

    devices /= cp;
    for (long pp = 1; pp <= most; pp *= 2)
        for (long tp = 1; tp <= NODE && devices % (pp * tp) == 0; tp *= 2)
            if (batch % (devices / (pp * tp)) == 0) {
                *out = (struct layout){pp, cp, tp, 1, pp > 1 ? 1 : 3, "full", 1};
                return true;
            }
    return false;
}

static void write_mesh(struct text *out, const struct first_asked *asked, const struct layout *l)
{
    int64_t outer = outer_of(asked, l);
    struct draft draft = DRAFT_OF(out);
    struct layout dividing = *l;

    find_dividing(&dividing, asked->devices, asked->batch, l->cp);
    if (asked->sizes->moe.experts > 0 && expert_axes(asked, l))
        text_addf(out, "# Experts are sharded over %s.\n", expert_axes(asked, l));
    if (l->cp > 1)
        text_addf(out,
                  "# Sequences are sharded over cp: %" PRId64 " tokens a device. Attention passes "
                  "keys and\n# values around a ring.\n",
                  asked->seq / l->cp);
    if (l->tp > 1)
        text_addf(out, "# Heads and widths are sharded over tp, within a node: without tp %s.\n",
                  asked->batch % (asked->devices / l->cp)
                      ? "the batch does not divide over replicas"
                      : "it does not fit");
    if (l->pp > 1)
        text_addf(out, "# The layers are split into %" PRId64 " stages over pp: without pp %s.\n",
                  l->pp,
                  dividing.pp > 1 ? "the batch does not divide over replicas" : "it does not fit");
    if (l->ep == 1 && l->tp == 1 && l->pp == 1 && l->cp == 1)
        text_add(out,
                 "# One axis over all devices. For another layout change the mesh, and the rules\n"
                 "# of its axes; 'shardsim search' with '--range tp=8' writes the best one with\n"
                 "# that tp.\n");
    if (l->pp > 1)
        draft_set_count(&draft, "mesh.pp", l->pp);
    if (outer > 1 || l->ep == 1)
        draft_set_count(&draft, "mesh.fsdp", outer);
    if (l->ep > 1)
        draft_set_count(&draft, "mesh.ep", l->ep);
    if (l->cp > 1)
        draft_set_count(&draft, "mesh.cp", l->cp);
    if (l->tp > 1)
        draft_set_count(&draft, "mesh.tp", l->tp);
    draft_set(&draft, "axes.batch", "%s", batch_axes(asked, l));
    draft_remark(&draft, l->ep > 1 && outer > 1 ? "         # the batch is sharded over both"
                                                : "         # the batch is sharded over it");
    if (l->cp > 1) {
        draft_set(&draft, "axes.seq", "cp");
        draft_set(&draft, "context.axis", "cp");
        draft_set(&draft, "context.method", "ring");
        draft_set(&draft, "context.order", "zigzag");
    }
    (void)draft_text(&draft);
}

static void write_params(struct text *out, const struct first_asked *asked, const struct layout *l)
{
    struct tensor_axes axes = tensor_axes_same(l->tp > 1 ? "tp" : NULL);
    const struct tensor_values values = {.batch = batch_axes(asked, l),
                                         .seq = l->cp > 1 ? "cp" : "null",
                                         .vocab = "tp",
                                         .tokens = l->cp > 1 ? "[cp, tp]" : "tp"};

    axes.experts = asked->sizes->moe.experts > 0 ? expert_axes(asked, l) : NULL;
    if (!axes.experts && l->tp == 1) {
        text_add(out, "params: [[.*, []]]          # no tensor parallelism: zero shards them\n");
        return;
    }
    axes.expert_widths = axes.experts && l->tp > 1 ? "tp" : NULL;
    text_add(out, "params:                     # zero shards parameters without a rule, too\n");
    tensor_rules_print(out, asked->sizes, &axes, RULES_BLOCK);
    if (l->tp == 1)
        return;
    text_add(out, "constraints:                # between layers, tp shards the sequence\n");
    tensor_constraints_print(out, &values, RULES_BLOCK);
}

static void write_layout(struct text *out, const struct first_asked *asked, const struct layout *l)
{
    struct draft draft = DRAFT_OF(out);

    write_mesh(out, asked, l);
    write_params(out, asked, l);
    if (l->pp > 1) {
        draft_set(&draft, "pipeline.axis", "pp");
        draft_set(&draft, "pipeline.schedule", "1F1B");
    }
    text_addf(
        draft_text(&draft), "# %s\n",
        l->stage == 3   ? "Parameters are sharded, too; the next layer is gathered during compute."
        : l->stage == 1 ? "The optimizer's state is sharded; 2: gradients, 3: parameters, too."
                        : "Gradients and the optimizer's state are sharded; 3: parameters, too.");
    draft_set_count(&draft, "zero.stage", l->stage);
    draft_set(&draft, "zero.axis", "%s", zero_axes(asked, l));
    if (l->stage == 3)
        draft_set_count(&draft, "zero.prefetch", 1);
    (void)draft_text(&draft);
}

/* NULL: the cluster is unknown, or memory ran out, which sets out->failed. */
static struct hardware *find_cluster(const char *name, struct text *out)
{
    struct hardware *found = NULL;
    struct diag diag;

    diag_init(&diag);
    if (hardware_find(&found, name, NULL, (struct place){NULL, 0, 0}, &diag) != SHD_OK)
        found = NULL;
    out->failed |= diag.no_memory;
    diag_fini(&diag);
    return found;
}

/* What the cluster's constants were fitted to, and the cluster with such devices that has most
 * measured steps, if that is another. */
static void write_measured(struct text *out, const struct hardware *hardware)
{
    struct hardware *other;
    const char *like = hardware_measured_like(hardware, &out->failed);

    text_add(out, "# Its constants were fitted to ");
    hardware_print_measured(out, hardware);
    text_add(out, ".\n");
    if (like && strcmp(like, hardware->name) != 0 && (other = find_cluster(like, out)) != NULL) {
        text_addf(out,
                  "# %s has the same devices, but other links and software:\n"
                  "# ",
                  like);
        hardware_print_measured(out, other);
        text_add(out, ". Choose the cluster closer to yours.\n");
        hardware_destroy(other);
    }
}

/* What is kept of a device's memory, or that nothing could be. */
static void write_margin(struct text *out, const struct hardware *hardware, bool fills)
{
    if (hardware_margin(hardware) > 0)
        text_addf(out,
                  "# %s %.0f %% of a device's memory free, for fragmentation\n"
                  "# of the allocator, which is not modelled%s.\n",
                  fills ? "No simple layout leaves" : "The layout leaves",
                  100 * hardware_margin(hardware), fills ? ": it may run out of memory" : "");
}

/* Comments on the cluster. */
static void write_cluster(struct text *out, const struct first_asked *asked)
{
    struct hardware *hardware = find_cluster(asked->hardware, out);

    if (!hardware)
        return;
    write_measured(out, hardware);
    write_margin(out, hardware, asked->fills);
    hardware_destroy(hardware);
}

void first_write_head(struct text *out, const struct first_asked *asked)
{
    struct text comment = TEXT_INIT, file = TEXT_INIT;
    struct draft draft = DRAFT_OF(out);

    literal_add_shell(&file, asked->file);
    escape_from(&file, 0);
    text_addf(&comment, "%s on %ld devices of %s", asked->model, asked->devices, asked->hardware);
    text_add(out, "# ");
    escape_add(out, text_get(&comment));
    text_addf(out,
              ".\n# Written by 'shardsim init%s'; next:\n"
              "#   shardsim plan %s          its time, memory and traffic\n",
              asked->serves ? " --serve" : "", text_get(&file));
    if (asked->serves)
        text_addf(out, "#   shardsim export --to vllm %s   the command of a server; or sglang\n",
                  text_get(&file));
    else
        text_addf(out, "#   shardsim search %s        the best layout\n", text_get(&file));
    text_addf(out, "#   shardsim show names %s    what rules and constraints can name\n",
              text_get(&file));
    text_clear(&comment);
    text_addf(&comment, "%s-on-%ld", asked->model, asked->devices);
    draft_set(&draft, "version", "1");
    draft_set_string(&draft, "name", text_get(&comment));
    draft_set_string(&draft, "hardware", asked->hardware);
    draft_remark(&draft, "          # 'shardsim show hardware' lists others");
    write_cluster(draft_text(&draft), asked);
    out->failed |= comment.failed || file.failed;
    text_fini(&comment);
    text_fini(&file);
}

static void write_model(struct draft *out, const struct first_asked *asked)
{
    draft_set_string(out, asked->from ? "model.from" : "model.size",
                     asked->from ? asked->from : asked->model);
    draft_set(out, "model.dtype", "bfloat16");
}

static void write_scenario(struct text *out, const struct first_asked *asked,
                           const struct layout *l)
{
    struct draft draft = DRAFT_OF(out);

    first_write_head(out, asked);
    write_model(&draft, asked);
    text_addf(draft_text(&draft),
              "# The global batch. Sequences of a replica's microbatch: %" PRId64 ".\n"
              "# Fewer microbatches take more memory.\n",
              l->sequences);
    draft_set_count(&draft, "batch.size", asked->batch);
    draft_set_count(&draft, "batch.seq", asked->seq);
    draft_set_count(&draft, "batch.microbatches",
                    asked->batch / (replicas_of(asked, l) * l->sequences));
    draft_set(&draft, "step", "[forward, backward, update]");
    draft_set(&draft, "optimizer.kind", "adamw");
    draft_set(&draft, "optimizer.clip", "1.0");
    draft_set(&draft, "types.parameters", "float32");
    draft_set(&draft, "types.reduce", "float32");
    draft_set(&draft, "recompute", "%s", l->recompute);
    draft_remark(&draft, " # none, selective or full: less memory, more to compute");
    write_layout(draft_text(&draft), asked, l);
}

/* ---- plans ---- */

int first_read(struct scenario_model *out, const struct first_asked *asked, const char *step,
               struct diag *diag)
{
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = asked->file, .text = &text, .extent = VARIANT_READ};
    struct draft draft = DRAFT_OF(&text);
    struct variant v;
    int status;

    first_write_head(&text, asked);
    write_model(&draft, asked);
    draft_set(&draft, "mesh.dp", "1");
    draft_set(&draft, "step", "[%s]", step);
    draft_set(&draft, "batch.size", "1");
    draft_set_count(&draft, "batch.seq", asked->seq);
    draft_set(&draft, "params", "[[.*, []]]");
    (void)draft_text(&draft);
    status = variant_init(&v, &ask, NULL);
    text_fini(&text);
    if (status != SHD_OK) {
        diag_no_memory(diag);
        return status;
    }
    status = v.status;
    diag_append(diag, &v.errors);
    if (status == SHD_OK)
        *out = v.file->scenarios[0].model;
    variant_fini(&v);
    return status;
}

/* The margin is kept free, unless the layout fills a device or limits.memory leaves less. */
static double room_of(const struct variant *v, bool fills)
{
    bool limited = v->room_bytes < v->trial.hardware->memory_bytes;

    return fills || limited ? v->room_bytes : hardware_room(v->trial.hardware);
}

int first_plan(struct first_figures *out, const struct first_asked *asked, struct variant_ask *ask,
               struct diag *diag)
{
    struct modelled_figures figures;
    struct shd_error err;
    struct variant v;
    int status = variant_init(&v, ask, &err);

    *out = (struct first_figures){.bytes = INFINITY};
    if (status != SHD_OK) {
        if (diag)
            diag_failure(diag, (struct place){asked->file, 1, 1}, status, "%s", err.text);
        return diag || status == SHD_ENOMEM ? status : SHD_OK;
    }
    if (v.outcome != VARIANT_REFUSED) {
        modelled_figures_of(&figures, v.trial.record, 0);
        *out = (struct first_figures){figures.step_s, v.need_bytes, room_of(&v, asked->fills)};
    } else if (diag) {
        status = v.status;
        diag_append(diag, &v.errors);
    }
    variant_fini(&v);
    return status;
}

/* ---- choosing a layout ---- */

#define CANDIDATES_MAX 256

/* The time of a plan of a few layers grows with the pairs of a device and an expert, times the
 * devices of tensor parallelism (some 4 us each).  Beyond this much work no further layout is
 * tried, so that a large model of experts is answered in seconds: a search tries more. */
#define WORK_MOST 500000

struct candidate {
    struct layout layout;
    struct first_figures figures; /* estimated, of all layers */
    bool grown;                   /* twice as many sequences a microbatch were tried */
};

struct choice {
    const struct first_asked *asked;
    int64_t cp; /* of all candidates */
    struct candidate candidates[CANDIDATES_MAX];
    size_t n;
    int64_t work; /* sum over the layouts tried */
};

bool first_fits(const struct first_figures *figures)
{
    return figures->bytes <= figures->limit_bytes;
}

/* Plan a layout with so many layers (0: all), of a model of an encoder and a decoder in both. */
static int plan_layout(struct first_figures *out, const struct choice *c, const struct layout *l,
                       int64_t layers)
{
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = c->asked->file, .text = &text};
    int status;

    write_scenario(&text, c->asked, l);
    if (layers > 0)
        text_addf(variant_set(&ask), "model.layers=%" PRId64, layers);
    if (layers > 0 && c->asked->sizes->kind == SCENARIO_T5 &&
        c->asked->sizes->decoder_layers > layers)
        text_addf(variant_set(&ask), "model.decoder_layers=%" PRId64, layers);
    status = first_plan(out, c->asked, &ask, NULL);
    text_fini(&text);
    return status;
}

/* Estimate the figures of all layers: the last layers are equal, and the difference of two plans of
 * few layers is one layer, of each stage. */
static int estimate(struct first_figures *out, const struct choice *c, const struct layout *l)
{
    int64_t layers = c->asked->sizes->layers;
    int64_t few = l->pp > 1 ? l->pp : c->asked->sizes->moe.first_dense + FEW_LAYERS;
    struct first_figures more;
    double more_layers;
    int status;

    if (layers <= few + l->pp)
        return plan_layout(out, c, l, 0);
    status = plan_layout(out, c, l, few);
    if (status != SHD_OK || !first_fits(out))
        return status;
    status = plan_layout(&more, c, l, few + l->pp);
    more_layers = (double)((layers - few + l->pp - 1) / l->pp);
    out->step_s += (more.step_s - out->step_s) * more_layers;
    out->bytes += (more.bytes - out->bytes) * more_layers;
    return status;
}

/* Try a layout if its sizes divide evenly. */
static int add(struct choice *c, const struct layout *l)
{
    int64_t replicas = replicas_of(c->asked, l);
    struct candidate *candidate = &c->candidates[c->n];

    if (c->n == CANDIDATES_MAX || c->work > WORK_MOST ||
        c->asked->devices % (l->pp * l->cp * l->tp) != 0 || replicas % l->ep != 0 ||
        c->asked->batch % (replicas * l->sequences) != 0)
        return SHD_OK;
    *candidate = (struct candidate){.layout = *l};
    c->n++;
    c->work += c->asked->devices * l->tp *
               (c->asked->sizes->moe.experts > 0 ? c->asked->sizes->moe.experts : 1);
    return estimate(&candidate->figures, c, l);
}

/* Try a layout with each amount of recomputation, the least memory first: if that does not fit, the
 * others do not either. */
static int add_recomputed(struct choice *c, struct layout layout)
{
    static const char *const recompute[] = {"full", "selective", "none"};
    int status = SHD_OK;

    for (size_t i = 0, before = c->n; i < 3 && status == SHD_OK; i++) {
        layout.recompute = recompute[i];
        status = add(c, &layout);
        if (c->n == before || !first_fits(&c->candidates[before].figures))
            break;
    }
    return status;
}

/* Experts are spread over the devices of a node, or over as many as possible.  ZeRO shards
 * parameters of experts only if necessary, because that is far slower. */
static int add_all(struct choice *c, int64_t pp, int64_t tp, bool again)
{
    int64_t replicas = c->asked->devices / (pp * c->cp * tp);
    int64_t experts = c->asked->sizes->moe.experts;
    int64_t inside = experts % c->cp == 0 ? c->cp : 1; /* of ranks that hold a layer's experts */
    int64_t most = experts > 0 ? divisor_common(experts / inside, replicas) : 1;
    int64_t near = divisor_common(most, inside < NODE ? NODE / inside : 1);
    int64_t last = experts > 0 && !again ? 2 : 3;
    int status = SHD_OK;

    c->n = 0;
    for (int64_t stage = again ? 3 : 2; pp == 1 && stage <= last && status == SHD_OK; stage++) {
        status = add_recomputed(c, (struct layout){1, c->cp, tp, near, stage, NULL, 1});
        if (status == SHD_OK && most > near)
            status = add_recomputed(c, (struct layout){1, c->cp, tp, most, stage, NULL, 1});
    }
    /* Parameters of stages would be gathered for each microbatch: only the state is sharded. */
    if (pp > 1)
        status = add_recomputed(c, (struct layout){pp, c->cp, tp, most, 1, NULL, 1});
    return status;
}

/* The fitting candidate with the shortest step; NULL: none fits. */
static struct candidate *shortest(struct choice *c)
{
    struct candidate *best = NULL;

    for (size_t i = 0; i < c->n; i++)
        if (first_fits(&c->candidates[i].figures) &&
            (!best || c->candidates[i].figures.step_s < best->figures.step_s))
            best = &c->candidates[i];
    return best;
}

/* Mark the candidates that differ from a layout only in recomputation. */
static void mark_grown(struct choice *c, const struct layout *l)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct layout *other = &c->candidates[i].layout;

        if (other->ep == l->ep && other->stage == l->stage && other->sequences == l->sequences)
            c->candidates[i].grown = true;
    }
}

/* The best candidate, with microbatches grown as long as the step gets shorter; NULL: none fits. */
static int grow(struct candidate **out, struct choice *c)
{
    int status = SHD_OK;

    while ((*out = shortest(c)) != NULL && !(*out)->grown && status == SHD_OK) {
        struct layout twice = (*out)->layout;

        mark_grown(c, &twice);
        twice.sequences *= 2;
        status = add_recomputed(c, twice);
    }
    return status;
}

/* The best candidate that also fits when all its layers are planned. */
static int choose_of(struct candidate *out, bool *found, struct choice *c, int64_t pp, int64_t tp,
                     bool again)
{
    struct candidate *best;
    int status = add_all(c, pp, tp, again);

    while (!*found && status == SHD_OK && (status = grow(&best, c)) == SHD_OK && best) {
        status = plan_layout(&best->figures, c, &best->layout, 0);
        *found = status == SHD_OK && first_fits(&best->figures);
        *out = *best;
    }
    if (status == SHD_OK && !*found && c->n > 0 && !isinf(c->candidates[0].figures.bytes))
        *out = c->candidates[0];
    return status;
}

/* The fewest stages with which a layout fits, with the least tensor parallelism for them.  Plans of
 * many stages take long, so each number of stages has its own share of work. */
static int choose_stages(struct candidate *out, bool *found, struct choice *c)
{
    int status = SHD_OK;

    for (int64_t pp = 2; pp <= STAGES_MOST && pp <= c->asked->sizes->layers; pp *= 2) {
        c->work = 0;
        for (int64_t tp = 1; tp <= NODE && c->asked->devices % (pp * c->cp * tp) == 0; tp *= 2)
            if (!*found && status == SHD_OK)
                status = choose_of(out, found, c, pp, tp, false);
    }
    return status;
}

/* Of layouts with so much context parallelism; if none fits, take the last of those that save the
 * most memory. */
static int choose(struct candidate *out, bool *found, const struct first_asked *asked, int64_t cp)
{
    struct choice choice = {.asked = asked, .cp = cp}, *c = &choice;
    int status = SHD_OK;

    find_dividing(&out->layout, asked->devices, asked->batch, cp);
    for (int again = 0; again <= (c->asked->sizes->moe.experts > 0); again++)
        for (int64_t tp = 1; tp <= NODE && c->asked->devices % (c->cp * tp) == 0; tp *= 2)
            if (!*found && status == SHD_OK)
                status = choose_of(out, found, c, 1, tp, again);
    /* A layout that was refused, and not too large, is not mended by stages. */
    if (!*found && status == SHD_OK &&
        (out->figures.bytes > 0 || c->asked->batch < c->asked->devices / NODE))
        status = choose_stages(out, found, c);
    return status;
}

/* Where a batch has fewer sequences than there are nodes that share one, more devices share it. */
long first_context(long devices, long seq, long batch)
{
    long cp = 1;

    while (devices % (2 * cp) == 0 && seq % (4 * cp) == 0 &&
           seq / (2 * cp) >=
               (batch > 0 && batch < devices / (cp * NODE) ? TOKENS_LEAST : TOKENS_OF_PART))
        cp *= 2;
    return cp;
}

bool first_divides(long devices, long batch, long seq)
{
    struct layout layout;

    return find_dividing(&layout, devices, batch, first_context(devices, seq, batch));
}

static int write_best(struct text *out, struct first_figures *need, const struct first_asked *asked,
                      struct diag *diag)
{
    struct candidate best = {.layout = {1, 1, 1, 1, 3, "full", 1}};
    struct variant_ask ask = {.name = asked->file, .text = out};
    int64_t cp = first_context(asked->devices, asked->seq, asked->batch);
    bool found = false;
    int status = choose(&best, &found, asked, cp);

    if (status == SHD_OK && !found && cp > 1) /* the model may have no context parallelism */
        status = choose(&best, &found, asked, 1);
    if (status != SHD_OK)
        return status;
    text_clear(out);
    write_scenario(out, asked, &best.layout);
    if (!found)
        status = first_plan(&best.figures, asked, &ask, diag);
    if (status == SHD_OK)
        *need = best.figures;
    return status;
}

int first_write(struct text *out, struct first_figures *need, const struct first_asked *asked,
                struct diag *diag)
{
    struct scenario_model model;
    struct first_asked filling = *asked;
    int status = first_read(&model, asked, "forward, backward", diag);

    filling.sizes = &model;
    if (status == SHD_OK)
        status = write_best(out, need, &filling, diag);
    filling.fills = true;
    return status != SHD_OK || first_fits(need) ? status : write_best(out, need, &filling, diag);
}
