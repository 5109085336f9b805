/* Rules that map name patterns to specs (shd/rules.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/rules.h>

#include <stdlib.h>
#include <string.h>

#include <shd/regex.h>

#include "regex/find.h"
#include "rules_match.h"

struct rule {
    char *pattern;
    struct shd_regex *regex;
    struct shd_spec *spec;
    struct shd_error *fault; /* why there is no regex, for rules added late */
};

struct shd_rules {
    struct rule *rules;
    size_t nrules;
    size_t size; /* of rules[] */
};

int shd_rules_create(struct shd_rules **out, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    struct shd_rules *rules = calloc(1, sizeof(*rules));

    if (!rules)
        return shd_error_set(err, SHD_ENOMEM, "no memory for rules");
    *out = rules;
    return SHD_OK;
}

static void destroy_rule(struct rule *rule)
{
    free(rule->pattern);
    shd_regex_destroy(rule->regex);
    shd_spec_destroy(rule->spec);
    free(rule->fault);
}

void shd_rules_destroy(struct shd_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->nrules; i++)
        destroy_rule(&rules->rules[i]);
    free(rules->rules);
    free(rules);
}

static int grow(struct shd_rules *rules, struct shd_error *err)
{
    if (rules->nrules < rules->size)
        return SHD_OK;

    size_t size = rules->size > 0 ? 2 * rules->size : 8;
    struct rule *grown = realloc(rules->rules, size * sizeof(*grown));

    if (!grown)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu rules", size);
    rules->rules = grown;
    rules->size = size;
    return SHD_OK;
}

/* Keep the error of a pattern, for shd_rules_match() to return. */
static int keep_fault(struct rule *rule, const struct shd_error *fault, struct shd_error *err)
{
    if (fault->status != SHD_ENOMEM)
        rule->fault = malloc(sizeof(*rule->fault));
    if (!rule->fault)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a rule");
    *rule->fault = *fault;
    return SHD_OK;
}

int shd_rules_add_late(struct shd_rules *rules, const char *pattern, const struct shd_spec *spec,
                       struct shd_error *err)
{
    if (!SHD_GIVEN(err, rules, pattern))
        return SHD_EINVAL;

    struct rule rule = {0};
    struct shd_error fault;
    int status = grow(rules, err);

    if (status)
        return status;
    rule.pattern = strdup(pattern);
    if (!rule.pattern)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a rule");
    status = shd_regex_compile(&rule.regex, pattern, &fault);
    if (status)
        status = keep_fault(&rule, &fault, err);
    if (!status && spec)
        status = shd_spec_copy(&rule.spec, spec, err);
    if (status)
        destroy_rule(&rule);
    else
        rules->rules[rules->nrules++] = rule;
    return status;
}

int shd_rules_add(struct shd_rules *rules, const char *pattern, const struct shd_spec *spec,
                  struct shd_error *err)
{
    if (!SHD_GIVEN(err, rules, pattern, spec))
        return SHD_EINVAL;

    struct rule rule = {0};
    int status = grow(rules, err);

    if (status)
        return status;
    rule.pattern = strdup(pattern);
    if (!rule.pattern)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a rule");
    status = shd_regex_compile(&rule.regex, pattern, err);
    if (!status)
        status = shd_spec_copy(&rule.spec, spec, err);
    if (status)
        destroy_rule(&rule);
    else
        rules->rules[rules->nrules++] = rule;
    return status;
}

size_t shd_rules_count(const struct shd_rules *rules)
{
    if (!rules)
        return 0;
    return rules->nrules;
}

const char *shd_rules_pattern(const struct shd_rules *rules, size_t rule)
{
    if (!rules || rule >= rules->nrules)
        return NULL;
    return rules->rules[rule].pattern;
}

const struct shd_spec *shd_rules_spec(const struct shd_rules *rules, size_t rule)
{
    if (!rules || rule >= rules->nrules)
        return NULL;
    return rules->rules[rule].spec;
}

int rules_match(size_t *rule, const struct shd_rules *rules, const char *name,
                struct regex_finder *finder, struct shd_error *err)
{
    regex_finder_set_text(finder, name);
    for (size_t i = 0; i < rules->nrules; i++) {
        const struct rule *r = &rules->rules[i];
        struct shd_error why;
        bool found;

        if (r->fault)
            return shd_error_set(err, r->fault->status, "%s", r->fault->text);

        int status = regex_find(&found, r->regex, finder, &why);

        if (status)
            return shd_error_set(err, status, "'%.80s' in '%.80s': %s", r->pattern, name, why.text);
        if (found) {
            *rule = i;
            return SHD_OK;
        }
    }
    return shd_error_set(err, SHD_ENOTFOUND, "no rule matches '%.200s'", name);
}

int shd_rules_match(size_t *rule, const struct shd_rules *rules, const char *name,
                    struct shd_error *err)
{
    if (!SHD_GIVEN(err, rule, rules, name))
        return SHD_EINVAL;

    struct regex_finder finder;

    regex_finder_init(&finder);

    int status = rules_match(rule, rules, name, &finder, err);

    regex_finder_fini(&finder);
    return status;
}
