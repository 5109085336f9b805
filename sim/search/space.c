/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/space.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Parts of a sequence are no shorter than this unless cp is ranged: shorter parts are computed
 * sooner than their keys come round, and each value of cp makes the space several times as
 * large. */
#define CUT_SEQUENCE_LEAST 2048

/* Most tokens of a device in a microbatch of a model with experts, unless the microbatch is ranged:
 * more tokens make kernels no faster, and their saved activations fit no device. */
#define WITH_EXPERTS_MOST 65536

/* ---- the model ---- */

static bool is_decoder(enum scenario_kind kind)
{
    return kind == SCENARIO_TRANSFORMER || kind == SCENARIO_GPT2 || kind == SCENARIO_LLAMA3 ||
           kind == SCENARIO_MIXTRAL || kind == SCENARIO_DEEPSEEK || kind == SCENARIO_DECODER;
}

/* Whether a scenario recomputes other than the words none, selective and full say. */
static bool is_special(const struct scenario_recompute *recompute)
{
    return recompute->kind == SCENARIO_RECOMPUTE_NAMED || recompute->policy || recompute->modules ||
           recompute->nkept > 0 || recompute->hold;
}

/* A search counts on layers that are alike, and sets `pipeline` itself. */
static int check_alike(const struct scenario *scenario, struct shd_error *err)
{
    const struct scenario_recompute *r = &scenario->recompute;

    if (r->kind != SCENARIO_RECOMPUTE_NONE && (r->group > 1 || r->every > 1 || r->first > 0))
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "search needs equal recomputation of all layers; expected no "
                             "recompute.group, every or first");
    if (scenario->pipeline.weighed)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "search splits layers evenly or as given; expected pipeline.layers "
                             "null, or a list of layers per stage");
    return SHD_OK;
}

/* Flops of the LM head in units of the flops of a layer's matmuls, rounded. */
static int64_t head_layers(const struct scenario_model *m)
{
    int64_t kv_heads = m->kv_heads > 0 ? m->kv_heads : m->heads;
    int64_t wide =
        m->moe.experts > 0 ? m->moe.top_k * (m->moe.d_ff > 0 ? m->moe.d_ff : m->d_ff) : m->d_ff;
    double mlp = (double)wide * (m->activation == SCENARIO_SWIGLU ? 3 : 2);
    double attention = 2.0 * (double)(m->heads + kv_heads) * (double)m->head_dim;

    return (int64_t)((double)m->vocab / (mlp + attention) + 0.5);
}

/* Layers without attention: their heads, and whether tokens stay in their order. */
static void find_states(struct space *out, const struct scenario_model *m)
{
    for (uint32_t i = 0; i < m->layer_types.n; i++) {
        enum scenario_layer_type type = (enum scenario_layer_type)m->layer_types.types[i];

        out->in_order |= scenario_layer_in_order(type);
        if (!scenario_layer_has_state(type))
            continue;
        out->states = scenario_state_heads(m);
        out->state_keys = scenario_state_keys(m);
    }
}

int space_init(struct space *out, const struct scenario *scenario, int64_t devices,
               struct shd_error *err)
{
    const struct scenario_model *m = &scenario->model;
    int64_t expert_dim = m->moe.d_ff > 0 ? m->moe.d_ff : m->d_ff;

    if (!is_decoder(m->kind))
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "search supports models of kind transformer, gpt2, llama3, mixtral, "
                             "deepseek or decoder, not %s",
                             scenario_kind_name(m->kind));
    if (scenario_serves(scenario))
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "layouts of a serving step are searched by --serve");
    if (!scenario->step.update)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "search supports whole steps only: [forward, backward, update]");
    if (check_alike(scenario, err) != SHD_OK)
        return err->status;
    *out = (struct space){.devices = devices,
                          .layers = m->layers,
                          .heads = m->heads,
                          .kv_heads = m->kv_heads > 0 ? m->kv_heads : m->heads,
                          .mlp_dim = m->d_ff,
                          .vocab = m->vocab,
                          .seq = scenario->batch.seq,
                          .batch = scenario->batch.size,
                          .experts = m->moe.experts,
                          .first_dense = m->moe.first_dense,
                          .every = m->moe.every,
                          .expert_dim = expert_dim,
                          .shared_dim = m->moe.shared_d_ff > 0 ? m->moe.shared_d_ff
                                                               : m->moe.shared * expert_dim,
                          .nstages = scenario->pipeline.nlayers,
                          .stage_layers = scenario->pipeline.layers,
                          .mlps = scenario_lists_type(m, SCENARIO_LAYER_MLP),
                          .names_recompute = is_special(&scenario->recompute),
                          .head_layers = head_layers(m)};
    find_states(out, m);
    if (devices == 0) {
        out->devices = 1;
        for (size_t i = 0; i < scenario->nmesh; i++)
            out->devices *= scenario->mesh[i].size;
    }
    return SHD_OK;
}

/* ---- ranges ---- */

/* Orders, or ways of recomputation, in an error message: the first ones show what the others are
 * like. */
#define WORDS_TOLD 6

static int parse_value(int32_t *out, enum space_choice choice, const char *text, size_t length,
                       struct shd_error *err)
{
    struct text known = TEXT_INIT;
    char copy[32], *end;
    const char *word;
    long value;

    if (length == 0 || length >= sizeof copy)
        return shd_error_set(err, SHD_EINVAL, "'%s' lacks a value", space_choice_name(choice));
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (int32_t i = 0; (word = space_word(choice, i)); i++) {
        if (!strcmp(word, copy)) {
            *out = i;
            text_fini(&known);
            return SHD_OK;
        }
        if ((choice != SPACE_ORDER && choice != SPACE_RECOMPUTE) || i < WORDS_TOLD)
            text_addf(&known, "%s%s", i ? ", " : "", word);
    }
    if (space_word(choice, 0)) {
        shd_error_set(err, SHD_ENOTFOUND, "%s cannot be '%s'; expected %s",
                      space_choice_name(choice), copy, text_get(&known));
        text_fini(&known);
        return SHD_ENOTFOUND;
    }
    value = strtol(copy, &end, 10);
    if (*end || value < 0 || value > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL, "%s cannot be '%s'; expected a whole number",
                             space_choice_name(choice), copy);
    *out = (int32_t)value;
    return SHD_OK;
}

int space_parse_range(struct space_range *out, const char *text, bool forbids,
                      struct shd_error *err)
{
    const char *value = strchr(text, '='), *dots = value ? strstr(value, "..") : NULL;
    struct space_range range = {.choice = SPACE_NCHOICES, .forbids = forbids};
    int status;

    for (int c = 0; c < SPACE_NCHOICES && value; c++)
        if (strlen(space_choice_name(c)) == (size_t)(value - text) &&
            !memcmp(space_choice_name(c), text, (size_t)(value - text)))
            range.choice = (enum space_choice)c;
    if (range.choice == SPACE_NCHOICES)
        return shd_error_set(
            err, SHD_ENOTFOUND,
            "'%.30s' is not a choice; expected tp, pp, cp, dp, ep, virtual, "
            "schedule, split, microbatch, recompute, sp, zero, shards, order, method, "
            "products or fold, then = and a value",
            text);
    value++;
    status = parse_value(&range.least, range.choice, value,
                         dots ? (size_t)(dots - value) : strlen(value), err);
    range.most = range.least;
    if (status == SHD_OK && dots)
        status = parse_value(&range.most, range.choice, dots + 2, strlen(dots + 2), err);
    if (status == SHD_OK && range.most < range.least)
        status = shd_error_set(err, SHD_EINVAL,
                               "'%.60s' is an empty range: %" PRId32 " is above %" PRId32, text,
                               range.least, range.most);
    if (status == SHD_OK)
        *out = range;
    return status;
}

bool space_allows(const struct space *space, enum space_choice choice, int64_t value)
{
    for (size_t i = 0; i < space->nranges; i++) {
        const struct space_range *r = &space->ranges[i];

        if (r->choice == choice && (value >= r->least && value <= r->most) == r->forbids)
            return false;
    }
    return true;
}

bool space_has(const struct space *space, const struct layout *layout)
{
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (!space_allows(space, (enum space_choice)c, layout->value[c]))
            return false;
    return true;
}

bool space_is_ranged(const struct space *space, enum space_choice choice)
{
    for (size_t i = 0; i < space->nranges; i++)
        if (space->ranges[i].choice == choice && !space->ranges[i].forbids)
            return true;
    return false;
}

/* Values that are tried only if their choice has a range. */
static bool is_rare(enum space_choice choice, int32_t value)
{
    switch (choice) {
    case SPACE_SCHEDULE:
        return !(space_schedule_of(value)->flags & TIMETABLE_USUAL);
    case SPACE_RECOMPUTE:
        return value >= SPACE_NRECOMPUTES;
    case SPACE_SPLIT:
        return value == SPACE_SPLIT_LIGHT;
    case SPACE_METHOD:
    case SPACE_PRODUCTS:
        return value > 0;
    default:
        return false;
    }
}

bool space_tries(const struct space *space, enum space_choice choice, int32_t value)
{
    return space_allows(space, choice, value) &&
           (!is_rare(choice, value) || space_is_ranged(space, choice));
}

/* ---- orders ---- */

/* Whether two orders differ only in the place of axes with one device. */
static bool is_same_order(const struct layout *layout, const uint8_t *a, const uint8_t *b)
{
    int i = 0, j = 0;

    for (;;) {
        while (i < SPACE_AXES && layout->value[a[i]] == 1)
            i++;
        while (j < SPACE_AXES && layout->value[b[j]] == 1)
            j++;
        if (i == SPACE_AXES || j == SPACE_AXES)
            return i == j;
        if (a[i++] != b[j++])
            return false;
    }
}

int32_t space_next_order(const struct space *space, const struct layout *layout, int32_t order)
{
    for (int32_t o = order; o < SPACE_ORDERS; o++) {
        bool listed = !space_allows(space, SPACE_ORDER, o);

        for (int32_t before = 0; before < o && !listed; before++)
            listed = space_allows(space, SPACE_ORDER, before) &&
                     is_same_order(layout, space_order(o), space_order(before));
        if (!listed)
            return o;
    }
    return -1;
}

/* ---- experts ---- */

/* Devices of the axes besides the replicas' that experts are sharded over. */
static int32_t folded_devices(const struct layout *layout)
{
    const int32_t *v = layout->value;

    return (v[SPACE_FOLD] & SPACE_FOLD_CP ? v[SPACE_CP] : 1) *
           (v[SPACE_FOLD] & SPACE_FOLD_TP ? v[SPACE_TP] : 1);
}

int32_t space_expert_replicas(const struct layout *layout)
{
    return layout->value[SPACE_EP] / folded_devices(layout);
}

const char *space_expert_axes(const struct layout *layout)
{
    static const char *const axes[2][SPACE_NFOLDS] = {
        {NULL, "cp", "tp", "[cp, tp]"}, {"ep", "[ep, cp]", "[ep, tp]", "[ep, cp, tp]"}};

    return axes[space_expert_replicas(layout) > 1][layout->value[SPACE_FOLD]];
}

/* ---- ZeRO ---- */

/* Whether the replicas that ZeRO shards over are axes of the mesh.  Where replicas hold a layer's
 * experts together the axes are these replicas, and the groups of these.  ZeRO shards over
 * both axes or over the groups alone; over the former alone, which leaves experts whole, only if
 * shards is ranged.  Elsewhere any part of the replicas can be an axis. */
static bool are_axes(const struct space *space, const struct layout *layout, int32_t shards)
{
    int32_t dp = layout->value[SPACE_DP], ep = space_expert_replicas(layout);

    return ep == 1 || shards == dp || shards == dp / ep ||
           (shards == ep && space_is_ranged(space, SPACE_SHARDS));
}

/* Whether ZeRO can shard over so many devices. */
static bool can_shard(const struct space *space, const struct layout *layout, int32_t shards)
{
    int32_t dp = layout->value[SPACE_DP];

    return shards > dp || (dp % shards == 0 && are_axes(space, layout, shards));
}

/* The next number of devices that ZeRO may shard over, below `shards`; 0: none. */
static int32_t next_shards(const struct layout *layout, int32_t shards)
{
    int32_t dp = layout->value[SPACE_DP];

    if (shards > dp)
        return dp;
    do
        shards--;
    while (shards > 0 && dp % shards != 0);
    return shards;
}

static int32_t most_shards(const struct layout *layout)
{
    int32_t cp = layout->value[SPACE_CP];

    return cp > 1 ? layout->value[SPACE_DP] * cp : layout->value[SPACE_DP];
}

static bool has_zero(const struct space *s, const struct layout *layout, int32_t zero,
                     int32_t shards)
{
    return (zero > 0) == (shards > 1) && (zero == 0 || can_shard(s, layout, shards)) &&
           space_allows(s, SPACE_ZERO, zero) && space_allows(s, SPACE_SHARDS, shards);
}

/* ---- members of a set ---- */

uint32_t space_members(const struct space *space, const struct layout *layout)
{
    uint32_t norders = 0, n = 0;

    for (int32_t o = 0; (o = space_next_order(space, layout, o)) >= 0; o++)
        norders++;
    for (int32_t zero = 0; zero <= 3; zero++)
        for (int32_t shards = most_shards(layout); shards > 0; shards = next_shards(layout, shards))
            n += has_zero(space, layout, zero, shards);
    return n * norders;
}

int space_list_members(struct layout **out, uint32_t *n, const struct space *space,
                       const struct layout *layout, struct shd_error *err)
{
    struct layout own = *layout, *members = calloc(space_members(space, layout), sizeof *members);
    uint32_t nmembers = 0;

    if (!members)
        return shd_error_set(err, SHD_ENOMEM, "no memory for layouts");
    for (int32_t zero = 0; zero <= 3; zero++)
        for (int32_t shards = most_shards(layout); shards > 0;
             shards = next_shards(layout, shards)) {
            if (!has_zero(space, layout, zero, shards))
                continue;
            own.value[SPACE_ZERO] = zero;
            own.value[SPACE_SHARDS] = shards;
            for (int32_t o = 0; (o = space_next_order(space, layout, o)) >= 0; o++) {
                own.value[SPACE_ORDER] = o;
                members[nmembers++] = own;
            }
        }
    *out = members;
    *n = nmembers;
    return SHD_OK;
}

/* ---- listing ---- */

struct list {
    const struct space *space;
    struct space_set *items;
    size_t n;
    uint32_t nmembers; /* of the sets that are being listed */
    bool any;          /* stop at the first set */
    bool failed;
};

/* Append a set of layouts, given by the choices that its members share. */
static void append(struct list *list, const struct layout *layout)
{
    if (list->failed || list->nmembers == 0 || (list->any && list->n > 0))
        return;
    list->failed = !array_make_room(&list->items, list->n, sizeof *list->items);
    if (!list->failed)
        list->items[list->n++] = (struct space_set){.layout = *layout, .nmembers = list->nmembers};
}

static void list_activations(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;
    int64_t tp = layout->value[SPACE_TP], cp = layout->value[SPACE_CP];

    for (int32_t r = 0; recompute_choice_word(r); r++)
        for (int32_t sp = 0; sp <= 1; sp++) {
            if (!space_tries(s, SPACE_RECOMPUTE, r) || !space_allows(s, SPACE_SP, sp) ||
                (r == SPACE_GIVEN && !s->names_recompute) ||
                (!sp && layout->value[SPACE_FOLD] & SPACE_FOLD_TP) ||
                (sp && (tp == 1 || s->seq % (tp * (cp > 1 ? 2 * cp : 1)) != 0)))
                continue;
            layout->value[SPACE_RECOMPUTE] = r;
            layout->value[SPACE_SP] = sp;
            append(list, layout);
        }
}

/* Whether the schedule is the default for its number of stages. */
bool space_is_implied(const struct layout *layout)
{
    return space_schedule(layout) ==
           timetable_made_for(TIMETABLE_USUAL, layout->value[SPACE_VIRTUAL]);
}

/* Whether a layout's schedule is listed.  On one rank all schedules are equal, and only the default
 * is listed.  Unusual schedules are listed only if the schedule is ranged. */
static bool has_schedule(const struct space *s, const struct layout *layout)
{
    const struct timetable_schedule *schedule = space_schedule(layout);
    const struct timetable_sizes sizes = space_sizes(s, layout);

    if (sizes.nranks == 1 && !(sizes.stages_per_rank == 1 && space_is_implied(layout)))
        return false;
    return space_tries(s, SPACE_SCHEDULE, layout->value[SPACE_SCHEDULE]) &&
           timetable_is_made_for(schedule, sizes.stages_per_rank) &&
           timetable_check(schedule, &sizes, NULL) == SHD_OK;
}

static void list_products(struct list *list, struct layout *layout)
{
    for (int32_t p = 0; space_word(SPACE_PRODUCTS, p); p++)
        if (space_tries(list->space, SPACE_PRODUCTS, p)) {
            layout->value[SPACE_PRODUCTS] = p;
            list_activations(list, layout);
        }
}

/* All-to-all shards heads in place of the sequence. */
static bool has_method(const struct space *s, const struct layout *layout, int32_t method)
{
    int64_t cp = layout->value[SPACE_CP];

    return method == SPACE_RING || (cp > 1 && s->heads % (layout->value[SPACE_TP] * cp) == 0);
}

static void list_methods(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;
    bool one = layout->value[SPACE_CP] == 1; /* has no method */

    for (int32_t m = 0; m < (one ? 1 : SPACE_NMETHODS); m++)
        if ((one || space_tries(s, SPACE_METHOD, m)) && has_method(s, layout, m)) {
            layout->value[SPACE_METHOD] = m;
            list_products(list, layout);
        }
}

static bool can_split(const struct space *s, int64_t nstages, int32_t split)
{
    if (split == SPACE_SPLIT_EVEN)
        return true;
    if (nstages == 1)
        return false;
    return split == SPACE_SPLIT_GIVEN
               ? (int64_t)s->nstages == nstages
               : s->head_layers > 0 && space_light(s, nstages, nstages - 1) < s->layers;
}

static void list_splits(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;
    int64_t stages = (int64_t)layout->value[SPACE_PP] * layout->value[SPACE_VIRTUAL];

    for (int32_t split = 0; split < SPACE_NSPLITS; split++) {
        if (!space_tries(s, SPACE_SPLIT, split) || !can_split(s, stages, split))
            continue;
        layout->value[SPACE_SPLIT] = split;
        list_methods(list, layout);
    }
}

static void list_schedules(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;

    for (int32_t v = 1; v <= s->layers / layout->value[SPACE_PP]; v++)
        for (int32_t k = 0; space_allows(s, SPACE_VIRTUAL, v) && space_schedule_of(k); k++) {
            layout->value[SPACE_VIRTUAL] = v;
            layout->value[SPACE_SCHEDULE] = k;
            if (has_schedule(s, layout))
                list_splits(list, layout);
        }
}

static void list_microbatches(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;
    int64_t each = s->batch / layout->value[SPACE_DP], most = space_most_sequences(s, layout);

    for (int32_t mb = 1; mb <= each; mb++) {
        if (each % mb != 0 || !space_allows(s, SPACE_MICROBATCH, mb) ||
            (s->experts > 0 && mb > most && !space_is_ranged(s, SPACE_MICROBATCH)))
            continue;
        layout->value[SPACE_MICROBATCH] = mb;
        list_schedules(list, layout);
    }
}

/* Experts are sharded over replicas and the folded axes. */
static void list_replicas_of_experts(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;
    int32_t dp = layout->value[SPACE_DP], folded = folded_devices(layout);

    for (int32_t replicas = 1; replicas <= dp; replicas++) {
        int32_t ep = replicas * folded;

        if (dp % replicas != 0 || s->experts % ep != 0 || (s->experts == 0 && ep > 1) ||
            !space_allows(s, SPACE_EP, ep))
            continue;
        layout->value[SPACE_EP] = ep;
        list->nmembers = space_members(s, layout);
        list_microbatches(list, layout);
    }
}

/* An axis of one device is not folded.  One of context parallelism always is: else its devices
 * would each do the expert work of all of them. */
static void list_experts(struct list *list, struct layout *layout)
{
    const struct space *s = list->space;

    for (int32_t fold = 0; fold < (s->experts > 0 ? SPACE_NFOLDS : 1); fold++)
        if (space_allows(s, SPACE_FOLD, fold) &&
            (s->experts == 0 || (layout->value[SPACE_CP] > 1) == ((fold & SPACE_FOLD_CP) > 0)) &&
            (layout->value[SPACE_TP] > 1 || !(fold & SPACE_FOLD_TP))) {
            layout->value[SPACE_FOLD] = fold;
            list_replicas_of_experts(list, layout);
        }
}

/* A ring has tokens in zigzag order, which states do not take. */
static bool cuts_sequence(const struct space *s, int64_t cp)
{
    if (cp > 1 && s->in_order && !space_is_ranged(s, SPACE_METHOD))
        return false;
    return cp == 1 || (s->seq % (2 * cp) == 0 &&
                       (s->seq / cp >= CUT_SEQUENCE_LEAST || space_is_ranged(s, SPACE_CP)));
}

size_t space_divisions(struct space_division out[SPACE_DIVISIONS_MAX], const struct space *s,
                       int64_t tp, int64_t pp, int64_t cp)
{
    bool mlps = s->experts == 0 || s->mlps || !space_is_uniform(s);
    int64_t others = tp * pp * cp;
    size_t n = 0;

    out[n++] = (struct space_division){"model.heads", s->heads, tp, SPACE_TP};
    out[n++] = (struct space_division){"model.kv_heads", s->kv_heads, tp, SPACE_TP};
    out[n++] = (struct space_division){"model.vocab", s->vocab, tp, SPACE_TP};
    if (s->states > 0)
        out[n++] = (struct space_division){"linear.value_heads", s->states, tp, SPACE_TP};
    if (s->state_keys > 1)
        out[n++] = (struct space_division){"linear.key_heads", s->state_keys, tp, SPACE_TP};
    if (mlps)
        out[n++] = (struct space_division){"model.d_ff", s->mlp_dim, tp, SPACE_TP};
    if (s->experts > 0) {
        out[n++] = (struct space_division){"moe.d_ff", s->expert_dim, tp, SPACE_TP};
        out[n++] =
            (struct space_division){"the shared experts' width", s->shared_dim, tp, SPACE_TP};
    }
    if (cp > 1)
        out[n++] = (struct space_division){"half of batch.seq", s->seq / 2, cp, SPACE_CP};
    if (s->devices % others == 0)
        out[n++] = (struct space_division){"batch.size", s->batch, s->devices / others, SPACE_DP};
    else
        out[n++] =
            (struct space_division){"the number of devices", s->devices, others, SPACE_NCHOICES};
    return n;
}

/* Whether the ranges allow the axes, and the axes divide all counts. */
static bool divides(const struct space *s, int64_t tp, int64_t pp, int64_t cp)
{
    struct space_division divisions[SPACE_DIVISIONS_MAX];
    int64_t others = tp * pp * cp;
    size_t n;

    if (!cuts_sequence(s, cp) || !space_allows(s, SPACE_TP, tp) || !space_allows(s, SPACE_PP, pp) ||
        !space_allows(s, SPACE_CP, cp) || !space_allows(s, SPACE_DP, s->devices / others))
        return false;
    n = space_divisions(divisions, s, tp, pp, cp);
    while (n > 0 && divisions[n - 1].whole % divisions[n - 1].parts == 0)
        n--;
    return n == 0;
}

static void list_all(struct list *list)
{
    const struct space *s = list->space;

    for (int32_t tp = 1; tp <= s->devices && tp <= s->heads; tp++)
        for (int32_t pp = 1; pp <= s->layers; pp++) {
            int64_t most_cp = s->devices % ((int64_t)tp * pp) == 0 ? s->seq : 0;

            for (int32_t cp = 1; cp <= most_cp && (int64_t)tp * pp * cp <= s->devices; cp++) {
                int64_t dp = s->devices / ((int64_t)tp * pp * cp);
                struct layout layout = {.value = {[SPACE_TP] = tp,
                                                  [SPACE_PP] = pp,
                                                  [SPACE_CP] = cp,
                                                  [SPACE_DP] = (int32_t)dp,
                                                  [SPACE_SHARDS] = 1}};

                if (list->any && list->n > 0)
                    return;
                if (divides(s, tp, pp, cp))
                    list_experts(list, &layout);
            }
        }
}

bool space_any(const struct space *space)
{
    struct list list = {.space = space, .any = true};

    list_all(&list);
    free(list.items);
    return list.n > 0;
}

int space_list_sets(struct space_set **out, size_t *n, const struct space *space,
                    struct shd_error *err)
{
    struct list list = {.space = space};

    list_all(&list);
    if (list.failed) {
        free(list.items);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu sets of layouts", list.n);
    }
    *out = list.items;
    *n = list.n;
    return SHD_OK;
}

static bool append_members(struct layout **layouts, size_t *n, const struct space *space,
                           const struct space_set *set, struct shd_error *err)
{
    struct layout *members = NULL;
    uint32_t nmembers = 0;
    bool failed = space_list_members(&members, &nmembers, space, &set->layout, err) != SHD_OK;

    for (uint32_t k = 0; !failed && k < nmembers; k++) {
        failed = !array_make_room(layouts, *n, sizeof **layouts);
        if (!failed)
            (*layouts)[(*n)++] = members[k];
    }
    free(members);
    return !failed;
}

int space_list(struct layout **out, size_t *n, const struct space *space, struct shd_error *err)
{
    struct layout *layouts = NULL;
    struct space_set *sets;
    size_t nsets, nlayouts = 0;
    bool failed = false;
    int status = space_list_sets(&sets, &nsets, space, err);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < nsets && !failed; i++)
        failed = !append_members(&layouts, &nlayouts, space, &sets[i], err);
    free(sets);
    if (failed) {
        free(layouts);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu layouts", nlayouts);
    }
    *out = layouts;
    *n = nlayouts;
    return SHD_OK;
}

/* ---- reading a layout ---- */

int64_t space_most_sequences(const struct space *space, const struct layout *layout)
{
    int64_t most = WITH_EXPERTS_MOST * layout->value[SPACE_CP] / space->seq;

    return most > 0 ? most : 1;
}

int64_t space_microbatches(const struct space *space, const struct layout *layout)
{
    return space->batch / layout->value[SPACE_DP] / layout->value[SPACE_MICROBATCH];
}

int64_t space_light(const struct space *space, int64_t nstages, int64_t stage)
{
    int64_t before = (stage * (space->layers + space->head_layers) + nstages - 1) / nstages;

    return before < space->layers ? before : space->layers;
}

int64_t space_usual(const struct space *space, int64_t n)
{
    if (space->experts == 0)
        return n;
    return n > space->first_dense ? (n - space->first_dense) / space->every : 0;
}

bool space_is_uniform(const struct space *space)
{
    return space->experts == 0 || (space->first_dense == 0 && space->every == 1);
}

const struct timetable_schedule *space_schedule(const struct layout *layout)
{
    return space_schedule_of(layout->value[SPACE_SCHEDULE]);
}

struct timetable_sizes space_sizes(const struct space *space, const struct layout *layout)
{
    return (struct timetable_sizes){.nranks = (uint32_t)layout->value[SPACE_PP],
                                    .stages_per_rank = (uint32_t)layout->value[SPACE_VIRTUAL],
                                    .nmicrobatches = (uint32_t)space_microbatches(space, layout)};
}

int32_t space_inner(const struct layout *layout)
{
    const int32_t *v = layout->value;

    if (space_expert_replicas(layout) > 1)
        return space_expert_replicas(layout);
    return v[SPACE_ZERO] > 0 && v[SPACE_SHARDS] < v[SPACE_DP] ? v[SPACE_SHARDS] : 1;
}

enum space_zero_axes space_zero_axes(const struct layout *layout)
{
    int32_t inner = space_inner(layout), shards = layout->value[SPACE_SHARDS];
    int32_t outer = layout->value[SPACE_DP] / inner;

    if (shards > layout->value[SPACE_DP])
        return SPACE_ZERO_CONTEXT;
    if (space_expert_replicas(layout) == 1)
        return inner > 1 ? SPACE_ZERO_INNER : SPACE_ZERO_OUTER;
    if (shards == outer) /* also of equal sizes: then the outer axis shards experts, too */
        return SPACE_ZERO_OUTER;
    return shards == inner ? SPACE_ZERO_INNER : SPACE_ZERO_BOTH;
}

int64_t space_stride(const struct layout *layout, enum space_choice axis)
{
    const uint8_t *order = space_order(layout->value[SPACE_ORDER]);
    int64_t stride = 1;

    for (int i = SPACE_AXES - 1; order[i] != axis; i--)
        stride *= layout->value[order[i]];
    return stride;
}

static bool is_default_shards(const struct layout *a, const struct layout *b)
{
    return a->value[SPACE_SHARDS] == a->value[SPACE_DP] &&
           b->value[SPACE_SHARDS] == b->value[SPACE_DP];
}

int space_differs(const struct layout *a, const struct layout *b, enum space_choice *which)
{
    bool implied = space_is_implied(a) && space_is_implied(b);
    bool both_zero = a->value[SPACE_ZERO] > 0 && b->value[SPACE_ZERO] > 0;
    int n = 0;

    for (int c = 0; c < SPACE_NCHOICES; c++) {
        /* By default the number of stages implies the schedule, and ZeRO shards over all
         * replicas. */
        if (c == SPACE_DP || (c == SPACE_SHARDS && (!both_zero || is_default_shards(a, b))) ||
            (c == SPACE_SCHEDULE && implied) || a->value[c] == b->value[c])
            continue;
        *which = (enum space_choice)c;
        n++;
    }
    return n;
}
