/* Figures of each device as JSON (by_device.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/by_device.h"

#include <stdlib.h>

#define CLASSES_ABOVE 64 /* plans over more devices list classes, not devices */

/* Devices of equal value. */
struct alike {
    uint128 value;
    int32_t first, ndevices;
};

static int compare_values(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int compare_firsts(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* The distinct values, each with the first device of that value.  Free with free(). */
static struct alike *find_alike(size_t *n, const uint128 *rows, const struct record *record)
{
    struct alike *list = calloc(record->nrows, sizeof *list);

    *n = 0;
    for (uint32_t i = 0; list && i < record->nrows; i++) {
        struct program_class row = record_row(record, i);

        list[i] = (struct alike){rows[i], row.first, row.ndevices};
    }
    if (!list)
        return NULL;
    qsort(list, record->nrows, sizeof *list, compare_values);
    for (uint32_t i = 0; i < record->nrows; i++)
        if (*n && list[*n - 1].value == list[i].value)
            list[*n - 1].ndevices += list[i].ndevices;
        else
            list[(*n)++] = list[i];
    qsort(list, *n, sizeof *list, compare_firsts);
    return list;
}

static void write_alike(struct json_out *out, const struct alike *alike)
{
    json_out_begin_object(out);
    json_out_key_int(out, "devices", alike->ndevices);
    json_out_key_int(out, "first", alike->first);
    json_out_key_uint(out, "value", alike->value);
    json_out_end_object(out);
}

int by_device_json(struct json_out *out, const char *key, const uint128 *rows,
                   const struct record *record)
{
    struct alike *list = NULL;
    size_t n = 0;

    json_out_key_flat_array(out, key);
    if (record->mode == RECORD_PLANNED && record->ndevices > CLASSES_ABOVE) {
        list = find_alike(&n, rows, record);
        for (size_t i = 0; i < n; i++)
            write_alike(out, &list[i]);
        json_out_end_array(out);
        free(list);
        return n ? SHD_OK : SHD_ENOMEM;
    }
    for (int32_t d = 0; d < record->ndevices; d++)
        json_out_uint(out, rows[record_row_of(record, d)]);
    json_out_end_array(out);
    return SHD_OK;
}
