/* Loading the text of a scenario (scenario/data_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/data_text.h"

#include <inttypes.h>

#include "base/file.h"

#define BYTE_VALUES 256 /* the least vocabulary for a model of bytes */

/* Whether a text has fewer bytes than a step needs: the tokens of all sequences, and one byte more
 * for the last label. 128 bits, as the file may contain any sizes. */
static bool is_too_short(const struct scenario *s, uint64_t nbytes)
{
    int64_t encoded = s->model.kind == SCENARIO_T5 ? s->batch.source : 0;
    unsigned __int128 tokens =
        (unsigned __int128)(uint64_t)s->batch.size * (uint64_t)(s->batch.seq + encoded);

    return s->batch.size > 0 && s->batch.seq > 0 && nbytes < tokens + 1;
}

void data_load(struct reader *r)
{
    struct scenario *s = r->scenario;
    struct scenario_data *data = &s->data;
    struct place place = scenario_place(s, "data");
    struct shd_error err;
    uint64_t nbytes;
    int status;

    if (!data->path)
        return;
    status = file_bytes_create(&data->bytes, data->path, &err);
    if (status != SHD_OK) {
        diag_failure(r->diag, place, status, "'%s': %s", data->path, err.text);
        return;
    }
    nbytes = file_bytes_count(data->bytes);
    if (is_too_short(s, nbytes))
        diag_error(r->diag, place,
                   "'%s' has %" PRIu64 " bytes; expected more than the tokens of a step, whose "
                   "batch is %" PRId64 " x %" PRId64,
                   data->path, nbytes, s->batch.size, s->batch.seq);
    if (s->model.vocab > 0 && s->model.vocab < BYTE_VALUES)
        diag_error(r->diag, scenario_place(s, "model.vocab"),
                   "a vocabulary of %" PRId64 " for bytes of a text; expected at least %d",
                   s->model.vocab, BYTE_VALUES);
}
