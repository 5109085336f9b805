/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/recompute_choice.h"

#include "scenario/recompute_policies.h"

/* torchtitan's policy is tried in every search. */
#define BY_OP "selective_op"

static const char *const usual[SPACE_NRECOMPUTES] = {
    [SPACE_NONE] = "none", [SPACE_SELECTIVE] = "selective", [SPACE_MLP] = "norms-mlp",
    [SPACE_BY_OP] = BY_OP, [SPACE_FULL] = "full",           [SPACE_GIVEN] = "given"};

/* The policy or module of an unusual value; both NULL: past the last. */
struct named {
    const struct recompute_policy *policy;
    const struct recompute_module *module;
};

/* Attention alone is `selective`, and BY_OP is among the usual. */
static struct named named_of(int32_t value)
{
    int32_t n = SPACE_NRECOMPUTES;

    for (const struct recompute_policy *p = recompute_policies; p->name; p++)
        if (p != recompute_policy_find(BY_OP) && n++ == value)
            return (struct named){.policy = p};
    for (const struct recompute_module *m = recompute_modules; m->name; m++)
        if (m->pattern && n++ == value)
            return (struct named){.module = m};
    return (struct named){NULL, NULL};
}

const char *recompute_choice_word(int32_t value)
{
    struct named named;

    if (value < SPACE_NRECOMPUTES)
        return usual[value];
    named = named_of(value);
    return named.policy ? named.policy->name : named.module ? named.module->name : NULL;
}

void recompute_choice_set(struct text *out, int32_t value, bool experts, bool whole)
{
    struct named named = value < SPACE_NRECOMPUTES ? (struct named){NULL, NULL} : named_of(value);
    const char *to_its_end = whole ? ", whole: true" : "";

    if (value == SPACE_MLP)
        text_addf(out, "{kind: selective, modules: [layernorm, %s]%s}", experts ? "moe" : "mlp",
                  to_its_end);
    else if (value == SPACE_FULL && whole)
        text_add(out, "{kind: full, whole: true}");
    else if (named.module)
        text_addf(out, "{kind: selective, modules: [%s]%s}", named.module->name, to_its_end);
    else
        text_add(out, recompute_choice_word(value));
}
