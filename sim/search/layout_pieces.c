/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/layout_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/pack.h"
#include "search/task.h"

/* Everything that a piece's ops depend on.  The distance between neighbours determines the links of
 * their transfers. */
struct key {
    int64_t stride[3]; /* of tp, cp, dp; 0 where the axis has one device */
    int32_t kind, tp, cp, dp, ep, microbatch, recompute, sp, zero, shards;
    int32_t method, products, fold;
    int32_t alike;  /* the program is that of another number of replicas and shards */
    int32_t staged; /* the layout has a pipeline */
    int32_t splits; /* the schedule splits the backward phase */
    int32_t microbatches;
};

struct entry {
    struct key key;
    struct layout layout; /* the first layout with this key */
    struct piece piece;
    /* Pieces that differ only in the order of the mesh's axes share a program, whose transfers run
     * over other links.  The first of them leads; `next` is the following piece, UINT32_MAX:
     * none. */
    bool leads;
    uint32_t next;
};

struct pieces {
    const struct subject *subject;
    struct entry *entries;
    uint32_t n;
    uint32_t nbuilt;    /* all pieces before this one are built */
    struct map numbers; /* by hash of the key */
};

/* ---- finding ---- */

/* Distance between neighbours along an axis, at most the largest domain of a tier: beyond that the
 * links of a group depend only on how many devices of a domain it has, unless the tier is a
 * torus. */
static int64_t stride_of(const struct hardware *hardware, const struct layout *layout,
                         enum space_choice axis)
{
    int64_t stride = space_stride(layout, axis), most = 1;

    if (layout->value[axis] == 1)
        return 0;
    for (int t = 0; t < hardware->ntiers; t++) {
        if (hardware->tiers[t].torus)
            return stride;
        if (hardware->tiers[t].devices > most)
            most = hardware->tiers[t].devices;
    }
    return stride < most ? stride : most;
}

static struct key key_of(const struct subject *subject, const struct layout *layout,
                         enum attempt_kind kind)
{
    const int32_t *v = layout->value;
    const struct hardware *h = subject->hardware;
    struct key key;

    memset(&key, 0, sizeof key);
    key.kind = kind;
    key.staged = v[SPACE_PP] > 1;
    key.splits = attempt_splits(layout, kind);
    key.microbatches = (int32_t)attempt_microbatches(subject, layout, kind);
    key.tp = v[SPACE_TP];
    key.cp = v[SPACE_CP];
    key.stride[0] = stride_of(h, layout, SPACE_TP);
    key.stride[1] = stride_of(h, layout, SPACE_CP);
    key.sp = v[SPACE_SP];
    key.ep = v[SPACE_EP];
    key.method = v[SPACE_METHOD];
    key.products = v[SPACE_PRODUCTS];
    key.fold = v[SPACE_FOLD];
    if (space_expert_replicas(layout) > 1 || kind == ATTEMPT_REPLICAS)
        key.stride[2] = stride_of(h, layout, SPACE_DP);
    if (kind == ATTEMPT_LAYERS) {
        key.microbatch = v[SPACE_MICROBATCH];
        key.recompute = v[SPACE_RECOMPUTE];
    } else {
        key.shards = v[SPACE_SHARDS];
        key.dp = v[SPACE_DP];
        key.zero = v[SPACE_ZERO];
    }
    return key;
}

/* FNV-1a over the words of a key. */
static uint64_t hash_of(const struct key *key)
{
    uint32_t words[sizeof *key / sizeof(uint32_t)];
    uint64_t hash = HASH_BEGIN;

    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        hash = hash_word(hash, words[i]);
    return hash;
}

/* The number of the piece with a key; UINT32_MAX: none. */
static uint32_t number_of(const struct pieces *p, const struct key *key)
{
    struct map_walk walk = map_find(&p->numbers, hash_of(key));
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (memcmp(&p->entries[i].key, key, sizeof *key) == 0)
            return i;
    return UINT32_MAX;
}

struct pieces *pieces_create(const struct subject *subject)
{
    struct pieces *p = calloc(1, sizeof *p);

    if (p)
        p->subject = subject;
    return p;
}

void pieces_destroy(struct pieces *pieces)
{
    if (!pieces)
        return;
    free(pieces->entries);
    map_fini(&pieces->numbers);
    free(pieces);
}

/* Append a piece; UINT32_MAX: no memory. */
static uint32_t append(struct pieces *p, const struct key *key, const struct layout *layout)
{
    if (!array_make_room(&p->entries, p->n, sizeof *p->entries) ||
        !map_add(&p->numbers, hash_of(key), p->n))
        return UINT32_MAX;
    p->entries[p->n] = (struct entry){.key = *key, .layout = *layout, .next = UINT32_MAX};
    return p->n++;
}

/* Append a piece, unless it is there, after `last` (UINT32_MAX: it leads), whose program it shares;
 * returns the last piece.  False: no memory. */
static bool append_after(struct pieces *p, uint32_t *last, const struct key *key,
                         const struct layout *layout)
{
    uint32_t before = *last;

    if (number_of(p, key) != UINT32_MAX)
        return true;
    *last = append(p, key, layout);
    if (*last == UINT32_MAX)
        return false;
    if (before == UINT32_MAX)
        p->entries[*last].leads = true;
    else
        p->entries[before].next = *last;
    return true;
}

/* Append the pieces of a layout in all orders of the mesh's axes, its own first. */
static bool append_orders(struct pieces *p, const struct layout *own, enum attempt_kind kind)
{
    struct key key = key_of(p->subject, own, kind);
    struct layout layout = *own;
    uint32_t last = UINT32_MAX;
    bool good = append_after(p, &last, &key, own);

    for (int32_t o = 0; good && (o = space_next_order(&p->subject->space, &layout, o)) >= 0; o++) {
        layout.value[SPACE_ORDER] = o;
        key = key_of(p->subject, &layout, kind);
        good = append_after(p, &last, &key, &layout);
    }
    return good;
}

uint32_t pieces_find(struct pieces *p, const struct layout *layout, enum attempt_kind kind)
{
    struct key key = key_of(p->subject, layout, kind);
    uint32_t piece = number_of(p, &key);

    if (piece != UINT32_MAX)
        return piece;
    return append_orders(p, layout, kind) ? number_of(p, &key) : UINT32_MAX;
}

/* ---- alike: other numbers of replicas and shards ---- */

static struct key alike_key(const struct subject *subject, const struct layout *layout)
{
    struct key key = key_of(subject, layout, ATTEMPT_REPLICAS);

    key.alike = true;
    return key;
}

/* The same layout with another number of ranks in its pipeline, and so of replicas, which have as
 * many microbatches as the piece has.  False: the devices or the batch do not divide. */
static bool repeat(struct layout *out, const struct subject *subject, const struct layout *layout,
                   int32_t pp)
{
    const struct space *space = &subject->space;
    int64_t n = attempt_microbatches(subject, layout, ATTEMPT_REPLICAS);
    int64_t each = (int64_t)layout->value[SPACE_TP] * layout->value[SPACE_CP] * pp;
    int64_t dp = space->devices / each;

    *out = *layout;
    out->value[SPACE_PP] = pp;
    out->value[SPACE_DP] = (int32_t)dp;
    if (space->devices % each || space->batch % dp || space->batch / dp < n ||
        dp % space_expert_replicas(layout))
        return false;
    out->value[SPACE_MICROBATCH] = (int32_t)(n == 1 ? space->batch / dp : 1);
    return true;
}

/* Whether ZeRO is of the same stage over the same axes of the mesh. */
static bool has_same_zero(const struct layout *a, const struct layout *b)
{
    return a->value[SPACE_ZERO] == b->value[SPACE_ZERO] &&
           space_zero_axes(a) == space_zero_axes(b) && (space_inner(a) > 1) == (space_inner(b) > 1);
}

/* Append the pieces of the layouts that ZeRO makes of a layout as it does of `own`, the most shards
 * first. */
static bool append_shards(struct pieces *p, uint32_t *last, const struct layout *layout,
                          const struct layout *own)
{
    const struct subject *subject = p->subject;
    struct layout *members;
    struct shd_error err;
    bool good = true;
    uint32_t n;

    if (space_list_members(&members, &n, &subject->space, layout, &err) != SHD_OK)
        return false;
    for (uint32_t k = 0; k < n && good; k++) {
        struct key key = alike_key(subject, &members[k]);

        if (has_same_zero(&members[k], own))
            good = append_after(p, last, &key, &members[k]);
    }
    free(members);
    return good;
}

/* The most replicas come first: the fewest ranks. */
uint32_t pieces_find_alike(struct pieces *p, const struct layout *layout)
{
    struct key key = alike_key(p->subject, layout);
    int64_t first = layout->value[SPACE_PP] > 1 ? 2 : 1;
    int64_t end = first > 1 ? p->subject->space.layers : 1;
    uint32_t piece = number_of(p, &key), last = UINT32_MAX;
    struct layout other;

    for (int64_t pp = first; piece == UINT32_MAX && pp <= end; pp++)
        if (repeat(&other, p->subject, layout, (int32_t)pp) &&
            !append_shards(p, &last, &other, layout))
            return UINT32_MAX;
    return append_after(p, &last, &key, layout) ? number_of(p, &key) : UINT32_MAX;
}

const struct piece *pieces_get(const struct pieces *pieces, uint32_t piece)
{
    return &pieces->entries[piece].piece;
}

uint32_t pieces_count(const struct pieces *pieces)
{
    return pieces->n;
}

static struct piece_of piece_of(const struct entry *entry, enum scenario_layer_type type)
{
    return (struct piece_of){&entry->layout, (enum attempt_kind)entry->key.kind, type,
                             entry->key.staged};
}

/* Take a piece of layers of one more type.  Where layers of one type alone are no model, as what
 * the scenario says is of another type, nothing is known: the bound is 0. */
static void take(struct piece *out, const struct piece *piece, bool first)
{
    if (first)
        *out = *piece;
    else if (out->failed != piece->failed)
        *out = (struct piece){.of_layers = out->of_layers || piece->of_layers};
    else if (!piece->failed)
        piece_lower(out, piece);
}

/* Build a piece with layers of a type, and all pieces that share its program.  SHD_ENOMEM, or
 * SHD_OK. */
static int build_type(struct pieces *pieces, uint32_t lead, enum scenario_layer_type type,
                      bool first)
{
    struct piece_of of = piece_of(&pieces->entries[lead], type);
    struct piece_source sources[2] = {{.built = false}, {.built = false}};
    struct shd_error err = {.text = ""};
    int status = piece_source_init(&sources[0], pieces->subject, &of,
                                   of.staged ? ATTEMPT_LAYERS_STAGED : 2, &err);

    if (status == SHD_OK && !of.staged)
        status = piece_source_init(&sources[1], pieces->subject, &of, 3, &err);
    for (uint32_t i = lead; i != UINT32_MAX; i = pieces->entries[i].next) {
        struct piece piece = {.failed = false};

        of = piece_of(&pieces->entries[i], type);
        if (status == SHD_OK)
            status = piece_read(&piece, pieces->subject, sources, &of, &err);
        if (status != SHD_OK) {
            piece = (struct piece){.failed = true};
            memcpy(piece.why, err.text, sizeof piece.why - 1);
        }
        take(&pieces->entries[i].piece, &piece, first);
    }
    piece_source_fini(&sources[0]);
    piece_source_fini(&sources[1]);
    return status == SHD_ENOMEM ? status : SHD_OK;
}

/* A piece is a bound whichever layers a stage has, so it is the least of all types. */
static int build(struct pieces *pieces, uint32_t lead)
{
    const struct subject *s = pieces->subject;
    int status = SHD_OK;

    if (s->ntypes == 0)
        return build_type(pieces, lead, SCENARIO_NLAYER_TYPES, true);
    for (uint32_t t = 0; t < s->ntypes && status == SHD_OK; t++)
        status = build_type(pieces, lead, s->types[t], t == 0);
    return status;
}

int pieces_build_apart(struct piece *out, const struct subject *subject,
                       const struct layout *layouts, uint32_t n, enum attempt_kind kind)
{
    struct entry *entries = calloc(n, sizeof *entries);
    struct pieces apart = {.subject = subject, .entries = entries, .n = n};
    int status = SHD_ENOMEM;

    for (uint32_t i = 0; entries && i < n; i++)
        entries[i] = (struct entry){.key = key_of(subject, &layouts[i], kind),
                                    .layout = layouts[i],
                                    .next = i + 1 < n ? i + 1 : UINT32_MAX};
    if (entries)
        status = build(&apart, 0);
    for (uint32_t i = 0; i < n && status == SHD_OK; i++)
        out[i] = entries[i].piece;
    free(entries);
    return status;
}

/* ---- by a farm ---- */

/* A task builds the pieces of one program. */
struct by_farm {
    struct pieces *pieces;
    uint32_t *firsts; /* [task] the leading piece */
    bool no_memory;
};

static void ask_for_pieces(void *arg, size_t task, struct text *out)
{
    const struct by_farm *f = arg;
    const struct entry *entries = f->pieces->entries;
    uint32_t first = f->firsts[task], n = 0;

    for (uint32_t i = first; i != UINT32_MAX; i = entries[i].next)
        n++;
    task_ask(out, f->pieces->subject, (enum attempt_kind)entries[first].key.kind, n);
    for (uint32_t i = first; i != UINT32_MAX; i = entries[i].next)
        pack_bytes(out, &entries[i].layout, sizeof entries[i].layout);
}

static int take_pieces(void *arg, size_t task, int status, const struct text *answer)
{
    struct by_farm *f = arg;
    struct entry *entries = f->pieces->entries;
    struct unpack from;

    unpack_init(&from, text_get(answer), answer->length);
    for (uint32_t i = f->firsts[task]; i != UINT32_MAX && status == 0; i = entries[i].next)
        unpack_bytes(&from, &entries[i].piece, sizeof entries[i].piece);
    f->no_memory |= status != 0;
    return status;
}

static int build_by_farm(struct pieces *pieces, struct farm *farm, struct shd_error *err)
{
    uint32_t first = pieces->nbuilt, n = pieces->n;
    struct by_farm f = {pieces, malloc((n - first) * sizeof *f.firsts), false};
    struct farm_round round = {0, ask_for_pieces, take_pieces, &f};
    int status = SHD_ENOMEM;

    for (uint32_t i = first; f.firsts && i < n; i++)
        if (pieces->entries[i].leads)
            f.firsts[round.ntasks++] = i;
    if (f.firsts)
        status = farm_run(farm, &round, NULL, err);
    free(f.firsts);
    return f.no_memory ? SHD_ENOMEM : status;
}

static int build_here(struct pieces *pieces, int nthreads, const int *stop)
{
    uint32_t first = pieces->nbuilt, n = pieces->n;
    bool no_memory = false;

    (void)nthreads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nthreads) reduction(|| : no_memory)
    for (uint32_t i = first; i < n; i++)
        if (pieces->entries[i].leads && !no_memory &&
            !(stop && __atomic_load_n(stop, __ATOMIC_RELAXED)))
            no_memory = build(pieces, i) != SHD_OK;
    return no_memory ? SHD_ENOMEM : SHD_OK;
}

int pieces_build(struct pieces *pieces, struct farm *farm, int nthreads, const int *stop,
                 struct shd_error *err)
{
    int status;

    if (pieces->nbuilt == pieces->n)
        return SHD_OK;
    status = farm ? build_by_farm(pieces, farm, err) : build_here(pieces, nthreads, stop);
    if (!stop || !__atomic_load_n(stop, __ATOMIC_RELAXED))
        pieces->nbuilt = pieces->n;
    if (status != SHD_OK)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the pieces of layouts");
    return SHD_OK;
}
