/* The layout of a scenario, part by part, with the places where its file says it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "scenario/logical_values.h"
#include "scenario/rule_values.h"
#include "scenario/scenario.h"

struct lines {
    scenario_line_fn fn;
    void *arg;
    struct text key, value;
    int status;
};

/* Pass on the line that was written to `key` and `value`, and empty both for the next. */
static void tell(struct lines *l, struct place key_place, struct place place)
{
    if (l->key.failed || l->value.failed)
        l->status = SHD_ENOMEM;
    if (l->status == SHD_OK)
        l->status = l->fn(l->arg, text_get(&l->key), text_get(&l->value), key_place, place);
    text_clear(&l->key);
    text_clear(&l->value);
}

static void tell_mesh(struct lines *l, const struct scenario *s)
{
    for (size_t i = 0; i < s->nmesh; i++) {
        text_addf(&l->key, "mesh.%s", s->mesh[i].name);
        text_addf(&l->value, "%d", (int)s->mesh[i].size);
        tell(l, s->mesh[i].place, s->mesh[i].place);
    }
}

static void tell_rules(struct lines *l, const char *option, const struct scenario_rule *rules,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_addf(&l->key, "%s %s", option, rules[i].pattern);
        rules_print_spec(&rules[i], &l->value);
        tell(l, rules[i].place, rules[i].spec_place);
    }
}

static void tell_logical(struct lines *l, const char *option, const struct scenario_logical *list,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct text entry = TEXT_INIT; /* "batch: [fsdp, dp]" */
        const char *value;

        logical_print(&list[i], &entry);
        value = strstr(text_get(&entry), ": ");
        text_addf(&l->key, "%s.%s", option, list[i].name);
        text_add(&l->value, value ? value + 2 : "");
        l->value.failed |= entry.failed;
        text_fini(&entry);
        tell(l, list[i].key_place, list[i].place);
    }
}

int scenario_each_line(const struct scenario *s, scenario_line_fn fn, void *arg)
{
    struct lines l = {.fn = fn, .arg = arg, .status = SHD_OK};

    text_init(&l.key);
    text_init(&l.value);
    tell_mesh(&l, s);
    tell_rules(&l, "params", s->params, s->nparams);
    tell_logical(&l, "axes", s->logical, s->nlogical);
    tell_logical(&l, "partition_axis", s->partition_axis.fields, s->partition_axis.nfields);
    tell_rules(&l, "constraints", s->constraints, s->nconstraints);
    text_fini(&l.key);
    text_fini(&l.value);
    return l.status;
}
