/* An outcome as a row of bytes, and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "report/outcome.h"

void outcome_pack(const struct outcome *o, struct text *out)
{
    pack_uint(out, o->kind);
    pack_string(out, o->file);
    pack_string(out, o->suite);
    pack_string(out, o->name);
    pack_uint(out, o->reasons.nerrors);
    pack_uint(out, o->reasons.nmessages);
    for (size_t i = 0; i < o->reasons.nmessages; i++) {
        const struct diag_message *m = &o->reasons.messages[i];

        pack_string(out, m->file);
        pack_string(out, m->text);
        pack_string(out, m->of_any);
        pack_uint(out, (uint64_t)m->line);
        pack_uint(out, (uint64_t)m->column);
        pack_uint(out, m->nalike);
    }
}

static bool copy(char **out, const char *string)
{
    *out = string ? strdup(string) : NULL;
    return *out || !string;
}

static bool unpack_message(struct diag_message *m, struct unpack *from)
{
    bool ok = copy(&m->file, unpack_string(from));

    ok &= copy(&m->text, unpack_string(from));
    ok &= copy(&m->of_any, unpack_string(from));
    m->line = (int)unpack_uint(from);
    m->column = (int)unpack_uint(from);
    m->nalike = unpack_uint(from);
    return ok && m->text;
}

static bool unpack_reasons(struct diag *diag, struct unpack *from)
{
    bool ok = true;

    diag->nerrors = unpack_uint(from);
    diag->capacity = unpack_uint(from);
    if (diag->capacity > DIAG_KEPT_MAX)
        return false;
    diag->messages = calloc(diag->capacity + 1, sizeof *diag->messages);
    if (!diag->messages)
        return false;
    for (; diag->nmessages < diag->capacity; diag->nmessages++)
        ok &= unpack_message(&diag->messages[diag->nmessages], from);
    return ok;
}

bool outcome_unpack(struct outcome *out, struct unpack *from)
{
    enum outcome_kind kind = (enum outcome_kind)unpack_uint(from);
    const char *file = unpack_string(from), *suite = unpack_string(from);
    const char *name = unpack_string(from);

    if (!file || !suite || !name || !outcome_init(out, file, suite, name))
        return false;
    out->kind = kind;
    if (unpack_reasons(&out->reasons, from) && !from->bad)
        return true;
    outcome_fini(out);
    return false;
}
