/* An outcome as a row of bytes, and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/outcome.h"

#include "base/diag_pack.h"

void outcome_pack(const struct outcome *o, struct text *out)
{
    pack_uint(out, o->kind);
    pack_uint(out, o->time_ns);
    pack_string(out, o->file);
    pack_string(out, o->suite);
    pack_string(out, o->name);
    for (size_t i = 0; i < OUTCOME_NNOTES; i++)
        pack_string(out, o->notes[i] ? o->notes[i] : "");
    diag_pack(&o->reasons, out);
}

static bool unpack_notes(struct outcome *out, struct unpack *from)
{
    for (size_t i = 0; i < OUTCOME_NNOTES; i++) {
        const char *words = unpack_string(from);

        if (!words || !outcome_set_note(out, (enum outcome_note)i, *words ? words : NULL))
            return false;
    }
    return true;
}

bool outcome_unpack(struct outcome *out, struct unpack *from)
{
    uint64_t kind = unpack_uint(from), time_ns = unpack_uint(from);
    const char *file = unpack_string(from), *suite = unpack_string(from);
    const char *name = unpack_string(from);

    if (kind >= OUTCOME_NKINDS || !file || !suite || !name || !outcome_init(out, file, suite, name))
        return false;
    out->kind = (enum outcome_kind)kind;
    out->time_ns = time_ns;
    if (unpack_notes(out, from) && diag_unpack(&out->reasons, from) && !from->bad)
        return true;
    outcome_fini(out);
    return false;
}
