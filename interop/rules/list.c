/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/list.h"

struct search {
    const struct statements *statements;
    const struct value *found, *lone; /* a pair outside of any list */
    struct diag *diag;
};

static bool is_pair(const struct statements *statements, const struct value *v)
{
    v = statements_resolve(statements, v);
    if (v->kind != VALUE_LIST || v->nitems != 2)
        return false;
    return statements_resolve(statements, v->items[0])->kind == VALUE_TEXT;
}

/* Look for a list in a value.  Names are not followed, because their bindings are looked at,
 * too. */
static void look_at(struct search *s, const struct value *v)
{
    if (v->kind == VALUE_CALL)
        for (size_t i = 0; i < v->nitems; i++)
            look_at(s, v->items[i]);
    if (v->kind != VALUE_LIST || v->nitems == 0 || v == s->found)
        return;
    if (is_pair(s->statements, v->items[0])) {
        if (s->found)
            diag_error(s->diag, v->place, "a second list of rules after line %d; expected one list",
                       s->found->place.line);
        s->found = v;
    } else if (is_pair(s->statements, v) && v->items[1]->kind == VALUE_CALL) {
        s->lone = v;
    }
}

const struct value *rules_list_find(const struct statements *statements, const char *example,
                                    struct place end, struct diag *diag)
{
    struct search s = {statements, NULL, NULL, diag};
    size_t before = diag->nerrors;

    for (size_t i = 0; i < statements->count; i++)
        look_at(&s, statements->list[i].value);
    if (diag->nerrors > before)
        return NULL;
    if (!s.found && s.lone)
        diag_error(diag, s.lone->place,
                   "a rule outside of a list; expected brackets and a comma: (%s,)", example);
    else if (!s.found)
        diag_error(diag, end, "no list of rules; expected [%s, ...]", example);
    return s.found;
}

bool rules_list_pair(const struct value *pair[2], const struct statements *statements,
                     const struct value *item, const char *example, struct diag *diag)
{
    char found[VALUE_DESCRIPTION_MAX];
    const struct value *v = statements_resolve(statements, item);

    if (!is_pair(statements, v)) {
        diag_error(diag, item->place, "a rule is %s; expected a pair such as %s",
                   value_describe(v, found, sizeof found), example);
        return false;
    }
    pair[0] = statements_resolve(statements, v->items[0]);
    pair[1] = statements_resolve(statements, v->items[1]);
    return true;
}

bool rules_list_check(const struct value *list, struct diag *diag)
{
    if (list->nitems <= IMPORT_RULES_MAX)
        return true;
    diag_error(diag, list->place, "%zu rules; expected at most %d", list->nitems, IMPORT_RULES_MAX);
    return false;
}
