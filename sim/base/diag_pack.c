/* Packing messages for another process (base/diag_pack.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/diag_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void diag_pack(const struct diag *diag, struct text *out)
{
    pack_uint(out, diag->nerrors);
    pack_uint(out, diag->nmessages);
    for (size_t i = 0; i < diag->nmessages; i++) {
        const struct diag_message *m = &diag->messages[i];

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

bool diag_unpack(struct diag *out, struct unpack *from)
{
    bool ok = true;
    size_t n;

    out->nerrors = unpack_uint(from);
    n = unpack_uint(from);
    if (n > DIAG_KEPT_MAX)
        return false;
    for (; out->nmessages < n; out->nmessages++) {
        if (!array_make_room(&out->messages, out->nmessages, sizeof *out->messages))
            return false;
        out->messages[out->nmessages] = (struct diag_message){.text = NULL};
        ok &= unpack_message(&out->messages[out->nmessages], from);
    }
    return ok;
}
