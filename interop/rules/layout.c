/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/layout.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/match.h>
#include <shd/regex.h>

#define RANK_MAX GRAPH_RANK_MAX

struct finder {
    struct import_rules *rules;
    const struct scenario *scenario;
    const struct graph *graph;
    struct diag *diag;
    const char *unmatched; /* the first parameter without a rule, and the number of such
                              parameters */
    size_t nunmatched;
    struct shd_regex **patterns; /* compiled patterns of the rules, to find matches after the
                                    first */
    size_t *firsts;              /* parameters: the first of each kind and spec */
    size_t nfirsts;
};

/* A parameter as an array of the other system: a dimension consists of some dimensions here, the
 * first the major one. */
struct array {
    const struct graph_node *node;
    int64_t ours[RANK_MAX];
    size_t rank;
    int64_t shape[RANK_MAX];
    size_t nparts[RANK_MAX];
    size_t parts[RANK_MAX][RANK_MAX];
    char axes[RANK_MAX][32]; /* T5X's logical names; else "" */
};

/* The axes of each dimension here. */
struct found {
    size_t naxes[RANK_MAX];
    size_t axes[RANK_MAX][SHD_MESH_AXES_MAX];
};

/* ---- names and shapes ---- */

/* Append the name in the other system; '*' becomes the number of the layer in `ours`. */
static void add_name(struct text *out, const char *theirs, const char *ours)
{
    const char *number = ours;

    while (*number && (!isdigit((unsigned char)*number) || (number > ours && number[-1] != '/')))
        number++;
    for (; *theirs; theirs++) {
        if (*theirs == '*')
            text_add_bytes(out, number, strspn(number, "0123456789"));
        else
            text_add_char(out, *theirs);
    }
}

/* Whether a model's kernels have heads and head_dim as one dimension, joined_kv; rules with only
 * "heads" or "kv" mean two dimensions. */
static bool is_joined(const struct shd_logical_rules *rules)
{
    bool apart = false;

    for (size_t i = 0; i < shd_logical_rules_count(rules); i++) {
        const char *name = shd_logical_rules_name(rules, i);

        if (!strcmp(name, "joined_kv"))
            return true;
        apart |= !strcmp(name, "heads") || !strcmp(name, "kv");
    }
    return !apart;
}

/* T5X's name of a dimension. */
static const char *logical(const char *ours, bool router)
{
    return !strcmp(ours, "positions")          ? "abspos_buckets"
           : !strcmp(ours, "buckets")          ? "relpos_buckets"
           : router && !strcmp(ours, "expert") ? "unmodeled"
                                               : ours;
}

/* Add a dimension of the other system, made of these dimensions here ("12"). */
static void add_dim(struct array *a, const char *ours, size_t n, const char *axis)
{
    size_t d = a->rank++;

    a->shape[d] = 1;
    a->nparts[d] = n;
    for (size_t i = 0; i < n; i++) {
        a->parts[d][i] = (size_t)(ours[i] - '0');
        a->shape[d] *= a->ours[a->parts[d][i]];
    }
    snprintf(a->axes[d], sizeof a->axes[d], "%s", axis);
}

static void add_dims(struct array *a, const struct finder *f, const char *dims)
{
    bool t5x = f->rules->request.names == NAMES_T5X;
    bool joined = !f->rules->logical || is_joined(f->rules->logical);

    while (*dims) {
        size_t n = strcspn(dims, " ");
        const char *ours = f->graph->dims[a->node->dims[*dims - '0']].name;

        if (n == 2 && t5x && !joined) {
            add_dim(a, dims, 1, "heads");
            add_dim(a, dims + 1, 1, "kv");
        } else {
            add_dim(a, dims, n,
                    !t5x     ? ""
                    : n == 2 ? "joined_kv"
                             : logical(ours, strstr(a->node->name, "/router/") != NULL));
        }
        dims += n + (dims[n] == ' ');
    }
}

/* ---- specs ---- */

static void report_uneven(const struct finder *f, const struct array *a, size_t dim,
                          const char *axis, int64_t rest, size_t part, struct place place)
{
    const char *ours = f->graph->dims[a->node->dims[a->parts[dim][part]]].name;

    if (a->nparts[dim] == 1)
        diag_error(f->diag, place,
                   "'%s': dimension '%s' has %" PRId64
                   " on a device, which does not divide over axis "
                   "'%s'; expected another axis, or another size (--mesh)",
                   a->node->name, ours, rest, axis);
    else
        diag_error(f->diag, place,
                   "'%s': its dimension %zu merges %s with another dimension, and a device has "
                   "%" PRId64 " of them: axis '%s' would split them, which shardsim cannot "
                   "express; expected axes that divide the %s (--mesh)",
                   a->node->name, dim, ours, rest, axis, ours);
}

/* Distribute the axes of a dimension in the other system over the dimensions here. */
static bool place_axes(struct found *out, const struct finder *f, const struct array *a, size_t dim,
                       const struct shd_spec *spec, struct place place)
{
    size_t part = 0;
    int64_t rest = a->ours[a->parts[dim][0]];

    for (size_t i = 0; i < shd_spec_naxes(spec, dim); i++) {
        const char *name = shd_spec_axis(spec, dim, i);
        size_t axis = 0, ours;

        while (axis < f->rules->naxes && strcmp(f->rules->axes[axis], name) != 0)
            axis++;
        if (axis == f->rules->naxes)
            return import_rules_axis(f->rules, name, place, f->diag) >= 0;
        while (rest % f->rules->sizes[axis] != 0 && rest == 1 && part + 1 < a->nparts[dim])
            rest = a->ours[a->parts[dim][++part]];
        if (rest % f->rules->sizes[axis] != 0) {
            report_uneven(f, a, dim, name, rest, part, place);
            return false;
        }
        ours = a->parts[dim][part];
        out->axes[ours][out->naxes[ours]++] = axis; /* no axis is in a spec twice */
        rest /= f->rules->sizes[axis];
    }
    return true;
}

static void print_found(struct text *out, const struct import_rules *rules,
                        const struct found *found, size_t rank)
{
    while (rank > 0 && found->naxes[rank - 1] == 0)
        rank--;
    text_add(out, "[");
    for (size_t d = 0; d < rank; d++) {
        const char *open = found->naxes[d] > 1 ? "[" : "", *close = found->naxes[d] > 1 ? "]" : "";

        text_addf(out, "%s%s", d ? ", " : "", found->naxes[d] == 0 ? "null" : open);
        for (size_t i = 0; i < found->naxes[d]; i++)
            text_addf(out, "%s%s", i ? ", " : "", rules->axes[found->axes[d][i]]);
        text_add(out, close);
    }
    text_add(out, "]");
}

/* ---- rules ---- */

/* Note that a rule gave a parameter a spec. */
static void note(struct import_rule *rule, const char *any)
{
    const char *given = text_get(&rule->given), *at = strstr(given, any);

    for (; at; at = strstr(at + 1, any)) {
        char after = at[strlen(any)];

        if ((at == given || at[-1] == ' ') && (after == ',' || after == '\0'))
            return;
    }
    text_addf(&rule->given, "%s%s", rule->given.length ? ", " : "", any);
}

static void report_long(struct finder *f, const struct shd_leaf *leaf, const char *ours)
{
    struct shd_error err;
    size_t rule;

    if (shd_rules_match(&rule, f->rules->patterns, leaf->name, &err) != SHD_OK)
        return;
    diag_error(f->diag, f->rules->list[rule].spec_place,
               "the spec has %zu entries, but '%s' (%s here) has %zu dimension%s; expected a rule "
               "for it before this one (eformer would truncate the spec)",
               shd_spec_nentries(shd_rules_spec(f->rules->patterns, rule)), leaf->name, ours,
               leaf->rank, leaf->rank == 1 ? "" : "s");
}

static bool shards(const struct shd_spec *spec)
{
    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        if (shd_spec_naxes(spec, e) > 0)
            return true;
    return false;
}

/* Note the patterns that match a name, whether or not they come first. */
static void note_found(struct finder *f, const char *theirs)
{
    for (size_t r = 0; f->patterns && r < f->rules->nrules; r++) {
        struct import_rule *rule = &f->rules->list[r];
        struct shd_regex_match at;
        struct shd_error err;

        if (!rule->found && !f->patterns[r] &&
            shd_regex_compile(&f->patterns[r], rule->name, &err) != SHD_OK)
            diag_no_memory(f->diag); /* the pattern compiled before */
        if (!rule->found && f->patterns[r] &&
            shd_regex_search(&at, f->patterns[r], theirs, &err) == SHD_OK)
            rule->found = at.found;
    }
}

/* Find a parameter's spec by patterns. */
static struct shd_spec *find_by_name(struct finder *f, const struct array *a, const char *theirs,
                                     const char *any, bool *small, struct place *place)
{
    struct shd_leaf leaf = {theirs, a->node->dtype, a->rank, a->shape, NULL};
    struct shd_match_options options = {f->rules->request.min_elements, true};
    struct shd_spec *spec = NULL;
    struct shd_match match;
    struct shd_error err;
    int status = shd_match_leaf(&match, f->rules->patterns, &leaf, &options, &err);

    *small = false;
    note_found(f, theirs);
    if (status == SHD_ENOTFOUND) {
        if (f->nunmatched++ == 0)
            f->unmatched = a->node->name;
        return NULL;
    }
    if (status == SHD_ESPECLONG) {
        report_long(f, &leaf, a->node->name);
        return NULL;
    }
    if (status == SHD_OK)
        status = shd_match_spec(&spec, &match, &err);
    if (status != SHD_OK) {
        diag_failure(f->diag, f->rules->end, status, "'%s': %s", theirs, err.text);
        return NULL;
    }
    if (match.rule != SHD_NO_RULE) {
        *place = f->rules->list[match.rule].spec_place;
        *small = !match.spec && shards(shd_rules_spec(f->rules->patterns, match.rule));
        note(&f->rules->list[match.rule], any);
    }
    return spec;
}

static bool same_axes(const struct shd_spec_entry *entry, const struct shd_spec *spec, size_t dim)
{
    if (entry->naxes != shd_spec_naxes(spec, dim))
        return false;
    for (size_t i = 0; i < entry->naxes; i++)
        if (strcmp(entry->axes[i], shd_spec_axis(spec, dim, i)) != 0)
            return false;
    return true;
}

/* The rule that gave a dimension its axes: the first with this name and exactly these axes. */
static struct import_rule *find_rule(const struct import_rules *rules, const char *name,
                                     const struct shd_spec *spec, size_t dim)
{
    for (size_t i = 0; i < rules->nrules; i++)
        if (!strcmp(rules->list[i].name, name) &&
            same_axes(shd_logical_rules_axes(rules->logical, i), spec, dim))
            return &rules->list[i];
    return NULL;
}

/* Find a parameter's spec by T5X's logical axes. */
static struct shd_spec *find_by_axes(struct finder *f, const struct array *a, const char *any,
                                     struct place *place)
{
    const char *names[RANK_MAX];
    struct shd_spec *spec = NULL;
    struct shd_error err;
    int status;

    for (size_t d = 0; d < a->rank; d++)
        names[d] = a->axes[d];
    status = shd_logical_rules_spec(&spec, f->rules->logical, names, a->rank, &err);
    if (status != SHD_OK) {
        diag_failure(f->diag, f->rules->end, status, "'%s': %s", a->node->name, err.text);
        return NULL;
    }
    for (size_t d = 0; d < a->rank; d++) {
        struct import_rule *rule = find_rule(f->rules, names[d], spec, d);

        if (!rule)
            continue;
        note(rule, any);
        if (shd_spec_naxes(spec, d) > 0)
            *place = rule->spec_place;
    }
    return spec;
}

void rules_layout_logical(struct text *out, const struct import_rules *rules,
                          const char *const *names, size_t nnames, struct diag *diag)
{
    struct found found = {.naxes = {0}};
    struct shd_spec *spec = NULL;
    struct shd_error err;
    int status = shd_logical_rules_spec(&spec, rules->logical, names, nnames, &err);

    if (status != SHD_OK) {
        diag_failure(diag, rules->end, status, "%s", err.text);
        return;
    }
    for (size_t d = 0; d < nnames; d++)
        for (size_t i = 0; i < shd_spec_naxes(spec, d); i++)
            for (size_t axis = 0; axis < rules->naxes; axis++)
                if (!strcmp(rules->axes[axis], shd_spec_axis(spec, d, i)))
                    found.axes[d][found.naxes[d]++] = axis;
    print_found(out, rules, &found, nnames);
    shd_spec_destroy(spec);
}

/* ---- parameters ---- */

/* Find a parameter's array in the other system. */
static bool find_array(struct names_array *out, const struct finder *f, const struct array *a,
                       const char *any)
{
    enum names_system system = f->rules->request.names;

    if (system == NAMES_OWN)
        names_own(out, any, a->node->rank);
    else if (!names_find(out, system, &f->scenario->model, any, a->node->rank)) {
        diag_error(f->diag, f->rules->end,
                   "no name in %s is known for parameter '%s'; expected another model%s",
                   names_systems[system], a->node->name,
                   system == NAMES_T5X ? ""
                                       : ", or rules for shardsim's names with --names shardsim");
        return false;
    }
    return true;
}

static void add_theirs(struct text *out, const struct array *a, const char *theirs)
{
    text_add(out, theirs);
    for (size_t d = 0; d < a->rank && *a->axes[d]; d++)
        text_addf(out, "%s%s%s", d ? ", " : " (", a->axes[d], d + 1 < a->rank ? "" : ")");
}

/* Find the parameters that equal the last one except for the layer.  There are few kinds, so that a
 * list of the first of each kind and spec is short. */
static void find_alike(struct finder *f, struct rules_layout *out)
{
    size_t last = out->count - 1;
    struct rules_layout_param *param = &out->list[last];

    param->kind = param->alike = last;
    for (size_t i = 0; i < f->nfirsts; i++) {
        const struct rules_layout_param *first = &out->list[f->firsts[i]];

        if (strcmp(first->any, param->any) != 0)
            continue;
        param->kind = first->kind;
        if (!strcmp(first->spec, param->spec))
            param->alike = f->firsts[i];
    }
    out->list[param->alike].nalike++;
    if (param->alike == last)
        f->firsts[f->nfirsts++] = last;
}

/* Store all texts of a parameter together.  False: no memory. */
static bool keep(struct rules_layout_param *out, struct text *any, struct text *theirs,
                 struct text *spec, const char *ours)
{
    out->ours = strdup(ours);
    out->any = text_take(any);
    out->theirs = text_take(theirs);
    out->spec = text_take(spec);
    return out->ours && out->any && out->theirs && out->spec;
}

static void find_param(struct finder *f, struct rules_layout *out, const struct array *node)
{
    struct array a = *node;
    struct rules_layout_param *param = &out->list[out->count];
    struct text any = TEXT_INIT, name = TEXT_INIT, theirs = TEXT_INIT, printed = TEXT_INIT;
    struct place place = f->rules->end;
    struct found found = {.naxes = {0}};
    struct shd_spec *spec = NULL;
    struct names_array there;

    text_add_any_layer(&any, a.node->name);
    if (!any.failed && find_array(&there, f, &a, text_get(&any))) {
        add_dims(&a, f, there.dims);
        add_name(&name, there.name, a.node->name);
        spec = f->rules->logical
                   ? find_by_axes(f, &a, text_get(&any), &place)
                   : find_by_name(f, &a, text_get(&name), text_get(&any), &param->small, &place);
    }
    for (size_t d = 0; spec && d < a.rank && d < shd_spec_nentries(spec); d++)
        if (!place_axes(&found, f, &a, d, spec, place))
            break;
    if (spec) {
        add_theirs(&theirs, &a, there.name);
        print_found(&printed, f->rules, &found, a.node->rank);
        param->part = there.part;
        out->count++;
        if (keep(param, &any, &theirs, &printed, a.node->name))
            find_alike(f, out);
        else
            diag_no_memory(f->diag);
    }
    if (any.failed || name.failed)
        diag_no_memory(f->diag);
    shd_spec_destroy(spec);
    text_fini(&any);
    text_fini(&name);
    text_fini(&theirs);
    text_fini(&printed);
}

void rules_layout_init(struct rules_layout *out, struct import_rules *rules,
                       const struct scenario *scenario, const struct graph *graph,
                       struct diag *diag)
{
    struct finder f = {.rules = rules, .scenario = scenario, .graph = graph, .diag = diag};

    *out = (struct rules_layout){0, calloc((size_t)graph->nnodes + 1, sizeof *out->list)};
    if (rules->patterns)
        f.patterns = calloc(rules->nrules + 1, sizeof *f.patterns);
    f.firsts = calloc((size_t)graph->nnodes + 1, sizeof *f.firsts);
    if (!out->list || !f.firsts || (rules->patterns && !f.patterns))
        diag_no_memory(diag);
    for (uint32_t node = 0; node < graph->nnodes && !diag->no_memory && !diag_is_full(diag);
         node++) {
        struct array a = {.node = &graph->nodes[node]};

        if (a.node->op != GRAPH_PARAM)
            continue;
        graph_shape(graph, node, a.ours);
        find_param(&f, out, &a);
    }
    if (f.nunmatched > 0)
        diag_error(diag, rules->end,
                   "no rule matches parameter '%s' by its name in that system%s; end the list with "
                   "('.*', PartitionSpec()) to replicate the rest",
                   f.unmatched, f.nunmatched > 1 ? ", nor others" : "");
    for (size_t r = 0; f.patterns && r < rules->nrules; r++)
        shd_regex_destroy(f.patterns[r]);
    free(f.patterns);
    free(f.firsts);
}

void rules_layout_fini(struct rules_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        free(layout->list[i].ours);
        free(layout->list[i].any);
        free(layout->list[i].theirs);
        free(layout->list[i].spec);
    }
    free(layout->list);
    *layout = (struct rules_layout){0, NULL};
}
