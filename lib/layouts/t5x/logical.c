/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/logical.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A rule is one block of memory: the struct, pointers to the names of its axes, and all names. */
struct rule {
    struct shd_spec_entry axes;
    const char *name;
};

struct shd_logical_rules {
    struct rule **rules;
    size_t nrules;
    size_t size; /* of rules[] */
};

int shd_logical_rules_create(struct shd_logical_rules **out, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    struct shd_logical_rules *rules = calloc(1, sizeof(*rules));

    if (!rules)
        return shd_error_set(err, SHD_ENOMEM, "no memory for logical axis rules");
    *out = rules;
    return SHD_OK;
}

void shd_logical_rules_destroy(struct shd_logical_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->nrules; i++)
        free(rules->rules[i]);
    free(rules->rules);
    free(rules);
}

static const char *copy_text(char **text, const char *string)
{
    size_t size = strlen(string) + 1;
    char *copy = memcpy(*text, string, size);

    *text += size;
    return copy;
}

static struct rule *create_rule(const char *name, const struct shd_spec_entry *axes)
{
    size_t text_size = strlen(name) + 1;
    size_t naxes = 0;

    for (size_t a = 0; a < axes->naxes; a++) {
        naxes += axes->axes[a][0] != '\0';
        text_size += strlen(axes->axes[a]) + 1;
    }

    struct rule *rule = malloc(sizeof(*rule) + naxes * sizeof(char *) + text_size);

    if (!rule)
        return NULL;

    const char **copies = (const char **)(rule + 1);
    char *text = (char *)(copies + naxes);
    size_t n = 0;

    rule->name = copy_text(&text, name);
    for (size_t a = 0; a < axes->naxes; a++) {
        if (axes->axes[a][0] != '\0')
            copies[n++] = copy_text(&text, axes->axes[a]);
    }
    rule->axes = (struct shd_spec_entry){copies, naxes};
    return rule;
}

static int grow(struct shd_logical_rules *rules, struct shd_error *err)
{
    if (rules->nrules < rules->size)
        return SHD_OK;

    size_t size = rules->size > 0 ? 2 * rules->size : 16;
    struct rule **grown = realloc(rules->rules, size * sizeof(struct rule *));

    if (!grown)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu logical axis rules", size);
    rules->rules = grown;
    rules->size = size;
    return SHD_OK;
}

int shd_logical_rules_add(struct shd_logical_rules *rules, const char *name,
                          const struct shd_spec_entry *axes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, rules, name, axes))
        return SHD_EINVAL;

    int status = grow(rules, err);

    if (status)
        return status;

    struct rule *rule = create_rule(name, axes);

    if (!rule)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a logical axis rule");
    rules->rules[rules->nrules++] = rule;
    return SHD_OK;
}

int shd_logical_rules_append(struct shd_logical_rules *rules, const struct shd_logical_rules *more,
                             struct shd_error *err)
{
    if (!SHD_GIVEN(err, rules, more))
        return SHD_EINVAL;

    size_t before = rules->nrules;

    for (size_t i = 0, n = more->nrules; i < n; i++) {
        int status = shd_logical_rules_add(rules, more->rules[i]->name, &more->rules[i]->axes, err);

        if (status) {
            while (rules->nrules > before)
                free(rules->rules[--rules->nrules]);
            return status;
        }
    }
    return SHD_OK;
}

size_t shd_logical_rules_count(const struct shd_logical_rules *rules)
{
    if (!rules)
        return 0;
    return rules->nrules;
}

const char *shd_logical_rules_name(const struct shd_logical_rules *rules, size_t rule)
{
    if (rule >= shd_logical_rules_count(rules))
        return NULL;
    return rules->rules[rule]->name;
}

const struct shd_spec_entry *shd_logical_rules_axes(const struct shd_logical_rules *rules,
                                                    size_t rule)
{
    if (rule >= shd_logical_rules_count(rules))
        return NULL;
    return &rules->rules[rule]->axes;
}

/* One of T5X's standard rules.  `when` says for which partitionings it is there: its bit
 * 2 * (activations - 1) + (parameters - 1) is set, for activations and parameters partitioned along
 * so many dimensions. */
struct standard_rule {
    const char *name;
    const char *axis; /* NULL: none */
    unsigned when;
};

enum { DIMS_11 = 1, DIMS_12 = 2, DIMS_21 = 4, DIMS_22 = 8, DIMS_ANY = 15 };

static const struct standard_rule standard_rules[] = {
    {"batch", "data", DIMS_ANY},
    {"vocab", "model", DIMS_ANY},
    {"embed", NULL, DIMS_11},
    {"mlp", "model", DIMS_ANY},
    {"heads", "model", DIMS_ANY},
    {"kv", NULL, DIMS_ANY},
    {"joined_kv", "model", DIMS_ANY},
    {"embed", "model", DIMS_21 | DIMS_22},
    {"embed", "data", DIMS_12 | DIMS_22},
    {"relpos_buckets", NULL, DIMS_ANY},
    {"abspos_buckets", NULL, DIMS_ANY},
    {"length", NULL, DIMS_ANY},
    {"layers", NULL, DIMS_ANY},
    {"stack", NULL, DIMS_ANY},
    {"mlp_activations", NULL, DIMS_ANY},
};

static int add_standard(struct shd_logical_rules *rules, unsigned when, struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t i = 0; !status && i < sizeof(standard_rules) / sizeof(standard_rules[0]); i++) {
        const struct standard_rule *rule = &standard_rules[i];
        const struct shd_spec_entry axes = {&rule->axis, rule->axis ? 1 : 0};

        if (rule->when & when)
            status = shd_logical_rules_add(rules, rule->name, &axes, err);
    }
    return status;
}

int shd_logical_rules_standard(struct shd_logical_rules **out, int64_t activation_dims,
                               int64_t parameter_dims, const struct shd_logical_rules *additional,
                               struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    struct shd_logical_rules *rules;

    if (activation_dims < 1 || activation_dims > 2 || parameter_dims < 1 || parameter_dims > 2)
        return shd_error_set(err, SHD_EINVAL,
                             "activations partitioned along %lld dimensions and parameters along "
                             "%lld: each must be 1 or 2",
                             (long long)activation_dims, (long long)parameter_dims);

    int status = shd_logical_rules_create(&rules, err);

    if (status)
        return status;
    status = add_standard(rules, 1u << (2 * (activation_dims - 1) + (parameter_dims - 1)), err);
    if (!status && additional)
        status = shd_logical_rules_append(rules, additional, err);
    if (status)
        shd_logical_rules_destroy(rules);
    else
        *out = rules;
    return status;
}

static int check_names(const char *const *names, size_t ndims, struct shd_error *err)
{
    for (size_t i = 0; i < ndims; i++) {
        for (size_t j = 0; names[i] && j < i; j++) {
            if (names[j] && !strcmp(names[i], names[j]))
                return shd_error_set(err, SHD_EDUPAXIS,
                                     "two dimensions have the logical name '%.100s'", names[i]);
        }
    }
    return SHD_OK;
}

static size_t find_dim(const char *const *names, size_t ndims, const char *name)
{
    size_t d = 0;

    while (d < ndims && (!names[d] || strcmp(names[d], name) != 0))
        d++;
    return d;
}

static bool has_axis(const struct shd_spec_entry *entry, const char *axis)
{
    for (size_t a = 0; a < entry->naxes; a++) {
        if (!strcmp(entry->axes[a], axis))
            return true;
    }
    return false;
}

/* Whether none of the rule's axes was given to a dimension. */
static bool is_free(const struct shd_spec_entry *axes, const struct shd_spec_entry *entries,
                    size_t ndims)
{
    for (size_t d = 0; d < ndims; d++) {
        for (size_t a = 0; a < axes->naxes; a++) {
            if (has_axis(&entries[d], axes->axes[a]))
                return false;
        }
    }
    return true;
}

/* Give each dimension the axes of the first rule that applies.  `taken` says which dimensions have
 * met a rule: one of no axes leaves no trace in the entries. */
static void assign(struct shd_spec_entry *entries, bool *taken,
                   const struct shd_logical_rules *rules, const char *const *names, size_t ndims)
{
    for (size_t i = 0; i < rules->nrules; i++) {
        const struct rule *rule = rules->rules[i];
        size_t d = find_dim(names, ndims, rule->name);

        if (d < ndims && !taken[d] && is_free(&rule->axes, entries, ndims)) {
            entries[d] = rule->axes;
            taken[d] = true;
        }
    }
}

int shd_logical_rules_spec(struct shd_spec **out, const struct shd_logical_rules *rules,
                           const char *const *names, size_t ndims, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, rules) || !SHD_GIVEN_ARRAY(err, names, ndims))
        return SHD_EINVAL;

    int status = check_names(names, ndims, err);

    if (status)
        return status;

    struct shd_spec_entry *entries = calloc(ndims + 1, sizeof(*entries));
    bool *taken = calloc(ndims + 1, sizeof(*taken));

    if (entries && taken) {
        assign(entries, taken, rules, names, ndims);
        status = shd_spec_create(out, entries, ndims, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for %zu dimensions", ndims);
    }
    free(entries);
    free(taken);
    return status;
}
