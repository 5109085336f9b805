/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/match.h>

#include "regex/find.h"
#include "rules_match.h"

struct shd_match_options shd_match_defaults(void)
{
    return (struct shd_match_options){SHD_MIN_SHARDING_ELEMENTS, false};
}

/* The elements of a leaf.  The original multiplies in 64 bits, wrapping around; strictly, a count
 * that does not fit is taken as the largest number. */
static int64_t count_elements(const struct shd_leaf *leaf, bool strict)
{
    uint64_t n = 1;
    int64_t exact;

    if (strict)
        return shd_shape_count(&exact, leaf->shape, leaf->rank, NULL) == SHD_OK ? exact : INT64_MAX;
    for (size_t d = 0; d < leaf->rank; d++)
        n *= (uint64_t)leaf->shape[d];
    return (int64_t)n;
}

/* The number of entries of a spec up to the last one that names an axis. */
static size_t nsharded(const struct shd_spec *spec)
{
    size_t n = shd_spec_nentries(spec);

    while (n > 0 && shd_spec_naxes(spec, n - 1) == 0)
        n--;
    return n;
}

static int match(struct shd_match *out, const struct shd_rules *rules, const struct shd_leaf *leaf,
                 const struct shd_match_options *options, struct regex_finder *finder,
                 struct shd_error *err)
{
    struct shd_match found = {SHD_NO_RULE, NULL, 0};

    if (leaf->rank > 0) {
        int status = rules_match(&found.rule, rules, leaf->name, finder, err);

        if (status)
            return status;
        if (count_elements(leaf, options->strict) >= options->min_elements) {
            found.spec = shd_rules_spec(rules, found.rule);
            if (!found.spec)
                return shd_error_set(err, SHD_ETYPE, "rule %zu, '%.100s', has no spec", found.rule,
                                     shd_rules_pattern(rules, found.rule));
            found.nentries = shd_spec_nentries(found.spec);
        }
    }
    if (found.nentries > leaf->rank) {
        if (options->strict && nsharded(found.spec) > leaf->rank)
            return shd_error_set(err, SHD_ESPECLONG,
                                 "'%.100s' has %zu dimensions, its rule's spec %zu entries",
                                 leaf->name, leaf->rank, found.nentries);
        found.nentries = leaf->rank;
    }
    *out = found;
    return SHD_OK;
}

int shd_match_leaf(struct shd_match *out, const struct shd_rules *rules,
                   const struct shd_leaf *leaf, const struct shd_match_options *options,
                   struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, rules, leaf, options))
        return SHD_EINVAL;

    struct regex_finder finder;

    regex_finder_init(&finder);

    int status = match(out, rules, leaf, options, &finder, err);

    regex_finder_fini(&finder);
    return status;
}

int shd_match_tree(struct shd_match *out, const struct shd_rules *rules,
                   const struct shd_tree *tree, const struct shd_match_options *options,
                   struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, rules, tree, options))
        return SHD_EINVAL;

    struct regex_finder finder;
    int status = SHD_OK;

    regex_finder_init(&finder);
    for (size_t i = 0; !status && i < shd_tree_count(tree); i++)
        status = match(&out[i], rules, shd_tree_leaf(tree, i), options, &finder, err);
    regex_finder_fini(&finder);
    return status;
}

int shd_match_spec(struct shd_spec **out, const struct shd_match *match, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, match))
        return SHD_EINVAL;
    if (!match->spec)
        return shd_spec_create(out, NULL, 0, err);
    return shd_spec_cut(out, match->spec, match->nentries, err);
}
