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
    pack_string(out, o->file);
    pack_string(out, o->suite);
    pack_string(out, o->name);
    diag_pack(&o->reasons, out);
}

bool outcome_unpack(struct outcome *out, struct unpack *from)
{
    enum outcome_kind kind = (enum outcome_kind)unpack_uint(from);
    const char *file = unpack_string(from), *suite = unpack_string(from);
    const char *name = unpack_string(from);

    if (!file || !suite || !name || !outcome_init(out, file, suite, name))
        return false;
    out->kind = kind;
    if (diag_unpack(&out->reasons, from) && !from->bad)
        return true;
    outcome_fini(out);
    return false;
}
