/* Planning prefills and decodes of many sizes (step_plans.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/serve/step_plans.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/divisor.h"
#include "hardware/margin.h"
#include "command/command.h"
#include "report/modelled.h"
#include "report/trust.h"
#include "trial/handoff.h"

#define TOKENS_LEAST 16 /* of a prefill's grid */
#define CONTEXT_LEAST 256
#define ROWS_RATIO 2    /* from a number of sequences or tokens of the first grid to the next */
#define CONTEXT_RATIO 4 /* the same of context, in which times are straighter */
#define ERROR_MOST 0.02 /* between planned steps, if further ones help */
#define NSETS 5         /* settings of a step, behind those of the command line */

/* A step to be planned, in which all groups have as much to do: a decode of `rows` sequences with
 * `context` tokens each in the cache, or a prefill of `rows` tokens behind `context` ones. */
struct point {
    bool decodes;
    bool hands_over; /* a decode of one sequence that goes on from a prefill of its whole context */
    int64_t rows, context;
};

struct planned {
    double seconds, attention_s, memory_bytes;
    double room_bytes; /* of a device's memory */
    double kept_tokens; /* in the cache, of each sequence */
    double handoff_s;
    double send_s, send_s_per_byte; /* to a device of the first replica that does not prefill */
    int32_t ndevices;
};

struct planner {
    struct step_plans *plans;
    const struct chosen *chosen;
    bool strict; /* sizes that do not divide are an error */
    int exit;    /* once a step could not be planned */
};

/* ---- one step ---- */

/* The name of half of a strategy; a user may have given the whole's, that of a half, or none. */
static void name_half(struct text *out, const char *strategy, bool decodes)
{
    const char *slash = strategy ? strrchr(strategy, '/') : NULL;

    if (slash && strcmp(slash, "/decode") != 0 && strcmp(slash, "/prefill") != 0)
        slash = NULL;
    if (strategy)
        text_addf(out, "%.*s/", slash ? (int)(slash - strategy) : (int)strlen(strategy), strategy);
    text_add(out, decodes ? "decode" : "prefill");
}

/* Time of a message between equal devices of the first replica and of the first that decodes. */
static void fill_sending(struct planned *out, const struct step_plans *plans,
                         const struct hardware *h)
{
    const double bytes = 1e9;
    int64_t to = (int64_t)out->ndevices * (plans->nprefill > 0 ? plans->nprefill : 1);

    out->send_s = hardware_message_seconds(h, 0, to, 0);
    out->send_s_per_byte = (hardware_message_seconds(h, 0, to, bytes) - out->send_s) / bytes;
}

/* Whether groups of devices with sequences of their own communicate. */
static bool groups_communicate(const struct scenario *s, const struct program *p)
{
    uint8_t axes[SHD_MESH_AXES_MAX];

    for (uint32_t i = p->first_op; i < p->nops; i++) {
        size_t naxes = program_communicates(&p->ops[i]) ? program_op_axes(&p->ops[i], axes) : 0;

        for (size_t k = 0; k < naxes; k++)
            if (scenario_shards_batch(s, shd_mesh_axis_name(p->mesh, axes[k])))
                return true;
    }
    return false;
}

static int fill(struct planned *out, struct step_plans *plans, struct trial *trial,
                const struct point *point, struct shd_error *err)
{
    const struct scenario *s = trial->scenario;
    const struct hardware *h = trial->hardware;
    struct modelled_figures f;
    struct trust trust;
    int status;

    if (!h)
        return shd_error_set(
            err, SHD_EINVAL,
            "step times need a cluster; expected hardware, e.g. -s hardware=h100-sxm");
    status = (point->hands_over ? handoff_plan : trial_plan)(trial, err);
    if (status != SHD_OK)
        return status;
    modelled_figures_of(&f, trial->record, 0);
    trust = modelled_trust(trial->record);
    trust_join(&plans->trust, &trust);
    plans->margin = hardware_margin(h);
    *out = (struct planned){.seconds = f.step_s,
                            .attention_s =
                                (double)trial->record->modelled->work_ns[RECORD_ATTENTION] * 1e-9,
                            .memory_bytes = f.memory_bytes,
                            .room_bytes = trial_room_bytes(trial, true),
                            .kept_tokens = (double)scenario_cache_tokens(s),
                            .handoff_s = trial->record->handoff.seconds,
                            .ndevices = trial->record->ndevices};
    if (!point->hands_over)
        (point->decodes ? &plans->decode : &plans->prefill)->together |=
            groups_communicate(s, trial->program);
    fill_sending(out, plans, h);
    snprintf(plans->cluster, sizeof plans->cluster, "%s", h->name);
    plans->nplans++;
    return SHD_OK;
}

/* A number of sequences that both kinds of devices share evenly. */
static int64_t sequences_of_both(const struct step_plans *s)
{
    int64_t a = s->decode.ngroups, b = s->prefill.ngroups;

    return a / divisor_common(a, b) * b;
}

/* Settings of a step behind those of the command line, in `texts`.  The context of a decode is its
 * prompt and what was before. */
static void set_step(struct chosen *c, const struct step_plans *s, const struct point *p,
                     char texts[3][40])
{
    int64_t seq = p->hands_over ? p->context : p->decodes ? s->pieces : p->rows;
    int64_t before = p->decodes ? p->context - seq : p->context;
    int64_t sequences = p->hands_over ? sequences_of_both(s)
                        : p->decodes  ? p->rows * s->decode.ngroups
                                      : s->prefill.ngroups;

    snprintf(texts[0], 40, "batch.size=%" PRId64, sequences);
    snprintf(texts[1], 40, "batch.seq=%" PRId64, seq);
    snprintf(texts[2], 40, "decode.context=%" PRId64, before);
    for (int i = 0; i < 3; i++)
        c->sets[c->nsets++] = texts[i];
}

/* Choose the scenario's decode or prefill; `name` stores the strategy's name for the result. */
static struct chosen choose_half(const struct chosen *of, bool decodes, struct text *name)
{
    struct chosen c = *of;

    name_half(name, of->strategy, decodes);
    c.strategy = text_get(name);
    c.sets[c.nsets++] = "step=[prefill, decode]";
    c.sets[c.nsets++] = "decode.tokens=1";
    return c;
}

/* Print errors; those in settings that are not of the command line are the scenario's. */
static int write_errors(const struct chosen *chosen, const struct diag *diag)
{
    struct diag out = DIAG_INIT;
    int exit = cmd_exit_of_input(diag);

    for (size_t i = 0; i < diag->nmessages; i++) {
        const struct diag_message *m = &diag->messages[i];
        bool own = m->file && !strcmp(m->file, "--set") && m->line > (int)chosen->nsets;

        diag_error(&out,
                   own ? (struct place){chosen->path, 0, 0}
                       : (struct place){m->file, m->line, m->column},
                   "%s%s", own ? "its serving steps: " : "", m->text);
    }
    out.no_memory = diag->no_memory;
    diag_write(&out, stderr);
    diag_fini(&out);
    return exit;
}

/* Plan a step.  False: its sizes do not divide, or, with the exit status set, something is
 * wrong. */
static bool plan(struct planned *out, struct planner *p, const struct point *point)
{
    struct diag diag = DIAG_INIT;
    struct text name = TEXT_INIT;
    struct shd_error err;
    char texts[3][40];
    struct chosen c = choose_half(p->chosen, point->decodes, &name);
    int status;

    set_step(&c, p->plans, point, texts);
    status = chosen_try(&c, &diag);
    if (status == SHD_OK) {
        status = fill(out, p->plans, &c.trial, point, &err);
        if (status != SHD_OK)
            p->exit = cmd_failure(p->chosen->path, &err);
    } else if (status != SHD_EINDIVISIBLE || p->strict) {
        p->exit = write_errors(p->chosen, &diag);
    }
    if (cmd_stop_request)
        p->exit = CMD_INTERRUPTED;
    chosen_fini(&c);
    text_fini(&name);
    diag_fini(&diag);
    return status == SHD_OK && p->exit == CMD_OK;
}

/* ---- grids ---- */

/* Values from `least` on to `most`, each `ratio` times the one before; `room` are the most. */
static size_t list_values(double *values, size_t n, size_t room, double least, double most,
                          double ratio)
{
    for (double v = least; v < most && n + 2 < room; v *= ratio)
        values[n++] = v;
    values[n++] = most;
    return n;
}

static struct point point_of(const struct serving_grid *g, bool decodes, size_t row, size_t context)
{
    return (struct point){decodes, false, (int64_t)g->rows[row], (int64_t)g->contexts[context]};
}

static void set_point(struct serving_grid *g, size_t row, size_t context,
                      const struct planned *planned)
{
    g->seconds[row][context] = planned->seconds;
    g->attention[row][context] = planned->attention_s;
}

/* Plan the steps of a grid; rows that do not divide are left out.  `last` is what came of the
 * largest. */
static void plan_grid(struct planner *p, struct serving_grid *g, bool decodes, struct planned *last)
{
    size_t n = 0;

    for (size_t r = 0; r < g->nrows; r++) {
        bool done = true;

        for (size_t c = 0; c < g->ncontexts && done; c++) {
            struct point point = point_of(g, decodes, r, c);

            done = plan(last, p, &point);
            set_point(g, n, c, last);
        }
        if (p->exit != CMD_OK)
            return;
        g->rows[n] = g->rows[r];
        n += done;
    }
    if (n < 2) {
        struct point point = point_of(g, decodes, 0, 0);

        p->strict = true;
        (void)plan(last, p, &point);
    }
    g->nrows = n;
}

/* How far the grid is from a step's time, as a fraction of it; 0 if the step does not divide. */
static double error_at(struct planner *p, const struct serving_grid *g, const struct point *point)
{
    double told = grid_seconds(g, (double)point->rows, (double)point->context);
    struct planned planned;

    return plan(&planned, p, point) ? fabs(told / planned.seconds - 1) : 0;
}

/* Put a row into the grid behind row r, and plan its steps. */
static void insert_row(struct planner *p, struct serving_grid *g, size_t r, const struct point *at)
{
    struct point point = *at;
    struct planned planned;

    for (size_t k = g->nrows++; k > r + 1; k--) {
        g->rows[k] = g->rows[k - 1];
        memcpy(g->seconds[k], g->seconds[k - 1], sizeof g->seconds[k]);
        memcpy(g->attention[k], g->attention[k - 1], sizeof g->attention[k]);
    }
    g->rows[r + 1] = (double)point.rows;
    for (size_t c = 0; c < g->ncontexts; c++) {
        point.context = (int64_t)g->contexts[c];
        if (plan(&planned, p, &point))
            set_point(g, r + 1, c, &planned);
    }
}

/* Halve the cells in whose middle the grid is too far off, until they are small: products end in
 * whole tiles, so that times have steps.  What is left is told. */
static void refine(struct planner *p, struct serving_grid *g, bool decodes)
{
    double *worst = &p->plans->error;

    for (size_t r = 0; r + 1 < g->nrows && p->exit == CMD_OK;) {
        double width = g->rows[r + 1] - g->rows[r], error = 0;
        int64_t unit = decodes ? 1 : p->plans->pieces;
        struct point point = point_of(g, decodes, r, 0);

        point.rows += (int64_t)width / 2 / unit * unit;
        for (size_t c = 0; c < g->ncontexts && width >= 2 * (double)unit; c += g->ncontexts - 1) {
            point.context = (int64_t)g->contexts[c];
            error = fmax(error, error_at(p, g, &point));
        }
        if (error > ERROR_MOST && width > g->rows[r] / 8 && g->nrows < TABLE_POINTS_MAX) {
            insert_row(p, g, r, &point);
        } else {
            *worst = fmax(*worst, error);
            r++;
        }
    }
    for (size_t c = 0; c + 1 < g->ncontexts && p->exit == CMD_OK; c++) {
        struct point point = point_of(g, decodes, g->nrows / 2, c);

        point.context += (int64_t)(g->contexts[c + 1] - g->contexts[c]) / 2;
        *worst = fmax(*worst, error_at(p, g, &point));
    }
}

/* ---- memory ---- */

/* Tokens of a cache that a device has room for beside all else that its steps need: the memory of a
 * step is linear in the tokens that are kept, but for the first chunk of a prompt, which has no
 * cache to read.  Sets the bytes of a token. */
static double room_of(struct planner *p, const struct serving_grid *g, bool decodes,
                      double *token_bytes)
{
    struct planned low, high;
    struct point first = point_of(g, decodes, g->nrows - 1, g->ncontexts - 2);
    struct point last = point_of(g, decodes, g->nrows - 1, g->ncontexts - 1);
    double sequences = decodes ? (double)first.rows : 1;

    if (!plan(&low, p, &first) || !plan(&high, p, &last))
        return 0;
    *token_bytes =
        (high.memory_bytes - low.memory_bytes) / (sequences * (high.kept_tokens - low.kept_tokens));
    if (!(*token_bytes > 0)) {
        p->exit = cmd_wrong(p->chosen->path, "all layers have a sliding window, whose paged KV "
                                             "cache is not modelled; expected model.window 0");
        return 0;
    }
    return (high.room_bytes - high.memory_bytes) / *token_bytes + sequences * high.kept_tokens;
}

static uint64_t tokens_of(struct planner *p, double tokens, const struct step_devices *devices)
{
    char why[256];

    if (tokens >= 1)
        return (uint64_t)tokens;
    snprintf(why, sizeof why,
             "the model and its largest step leave no memory for a KV cache on %d devices of %s; "
             "expected more devices per replica, or a smaller --step-tokens",
             (int)devices->ndevices, p->plans->cluster);
    if (p->exit == CMD_OK) {
        (void)cmd_wrong(p->chosen->path, why);
        p->exit = CMD_FAILED;
    }
    return 0;
}

/* ---- caches that travel ---- */

/* The way of a cache from devices that prefill to those that decode: planned between such of one
 * scenario, else from each device to its equal in another replica.  In a plan every group sends its
 * part of some sequences, one after the other. */
static void plan_transfers(struct planner *p, const struct planned *decode)
{
    struct step_plans *s = p->plans;
    double longest = s->tables.decode.contexts[s->tables.decode.ncontexts - 1], per_token, sent;
    struct point point = {true, true, 1, (int64_t)longest};
    struct planned low, high;

    s->tables.transfer_s = decode->send_s;
    s->tables.transfer_s_per_token = decode->send_s_per_byte * s->token_bytes;
    if (!s->apart || !plan(&high, p, &point))
        return;
    point.context = CONTEXT_LEAST;
    if (!plan(&low, p, &point))
        return;
    sent = (double)sequences_of_both(s) / s->prefill.ngroups;
    per_token = fmax(high.handoff_s - low.handoff_s, 0) / (longest - CONTEXT_LEAST);
    s->tables.transfer_s_per_token = per_token / sent;
    s->tables.transfer_s = fmax(low.handoff_s - CONTEXT_LEAST * per_token, 0) / sent;
}

/* Round ascending values up to multiples of `unit`, and remove duplicates. */
static void round_up(double *values, size_t *n, int64_t unit)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        double value = ceil(values[i] / (double)unit) * (double)unit;

        if (kept == 0 || value > values[kept - 1])
            values[kept++] = value;
    }
    *n = kept;
}

static void set_sizes(struct step_plans *s)
{
    struct serving_grid *d = &s->tables.decode, *f = &s->tables.prefill;
    double context = fmax(s->context_max, 2 * CONTEXT_LEAST);
    double tokens = fmax(s->tokens_max + s->batch_max, s->context_max);

    d->nrows = list_values(d->rows, 0, TABLE_POINTS_MAX / 2, 1, fmax(s->batch_max, 2), ROWS_RATIO);
    d->contexts[0] = (double)s->pieces;
    d->ncontexts = list_values(d->contexts, 1, TABLE_CONTEXTS_MAX, CONTEXT_LEAST, context,
                               CONTEXT_RATIO);
    f->nrows = list_values(f->rows, 0, TABLE_POINTS_MAX / 2, TOKENS_LEAST,
                           fmax(tokens, 2 * TOKENS_LEAST), ROWS_RATIO);
    round_up(f->rows, &f->nrows, s->pieces);
    f->contexts[0] = 0;
    f->ncontexts = list_values(f->contexts, 1, TABLE_CONTEXTS_MAX, context / CONTEXT_RATIO, context,
                               CONTEXT_RATIO);
}

/* Read the scenario's prefill and decode, with a decode of one token. */
static int read_halves(struct step_plans *s, const struct chosen *chosen, struct diag *diag)
{
    const struct scenario *scenario;
    struct text name = TEXT_INIT;
    struct chosen c = choose_half(chosen, true, &name);
    int status = chosen_read(&c, &scenario, diag);

    if (status == SHD_OK) {
        const struct scenario *prefill = scenario->prefill ? scenario->prefill : scenario;

        s->apart = prefill->apart;
        s->decode.ngroups = (uint32_t)scenario_batch_shards(scenario);
        s->prefill.ngroups = (uint32_t)scenario_batch_shards(prefill);
        s->pieces = scenario_pieces(prefill);
        s->draft.tokens = (uint32_t)scenario->decode.draft;
        s->draft.accepted = scenario->decode.accepted;
    }
    chosen_fini(&c);
    text_fini(&name);
    return status;
}

/* Say which strategies there are, where halves of the one asked for are not found: in the names of
 * the file. */
static int read_whole(const struct chosen *chosen, struct diag *diag)
{
    const struct scenario *scenario;
    struct chosen c = *chosen;
    int status = chosen_read(&c, &scenario, diag);

    if (status == SHD_OK) {
        diag_error(diag, (struct place){c.path, 0, 0},
                   "the strategy has no prefill and decode steps");
        status = SHD_ENOTFOUND;
    }
    chosen_fini(&c);
    return status;
}

int step_plans_begin(struct step_plans *s, struct chosen *chosen)
{
    struct diag diag = DIAG_INIT;
    int exit = CMD_OK, status;

    if (chosen->nsets + NSETS > CHOSEN_SETS_MAX)
        return cmd_wrong(chosen->path, "too many --set; expected fewer");
    status = chosen_keep(chosen, &s->text, &diag);
    if (status == SHD_OK)
        status = read_halves(s, chosen, &diag);
    if (status == SHD_ENOTFOUND) {
        diag_fini(&diag);
        diag_init(&diag);
        status = read_whole(chosen, &diag);
    }
    if (status != SHD_OK)
        exit = write_errors(chosen, &diag);
    diag_fini(&diag);
    return exit;
}

void step_plans_fini(struct step_plans *s)
{
    text_fini(&s->text);
}

int step_plans_make(struct step_plans *s, const struct chosen *chosen)
{
    struct planner p = {s, chosen, false, CMD_OK};
    struct planned decode, prefill;
    double decode_tokens = 0, prefill_tokens = 0, prefill_bytes = 0;

    set_sizes(s);
    plan_grid(&p, &s->tables.decode, true, &decode);
    if (p.exit == CMD_OK)
        plan_grid(&p, &s->tables.prefill, false, &prefill);
    if (p.exit != CMD_OK)
        return p.exit;
    refine(&p, &s->tables.decode, true);
    refine(&p, &s->tables.prefill, false);
    decode_tokens = room_of(&p, &s->tables.decode, true, &s->token_bytes);
    prefill_tokens = room_of(&p, &s->tables.prefill, false, &prefill_bytes);
    s->decode.ndevices = decode.ndevices;
    s->prefill.ndevices = prefill.ndevices;
    if (!s->apart) {
        decode_tokens = prefill_tokens = fmin(decode_tokens, prefill_tokens);
        s->decode.together = s->prefill.together |= s->decode.together;
    }
    s->decode.cache_tokens = tokens_of(&p, decode_tokens, &s->decode);
    s->prefill.cache_tokens = tokens_of(&p, prefill_tokens, &s->prefill);
    plan_transfers(&p, &decode);
    s->tables.draft = s->draft.tokens;
    tables_init(&s->tables);
    return p.exit;
}
