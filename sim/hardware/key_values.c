/* The values of keys (key_values.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/key_values.h"

#include <string.h>

#include "base/units.h"

/* Larger than any cluster, and far from an overflow in derived values. */
#define COUNT_LIMIT (INT64_C(1) << 40)

const struct key *key_find(const struct key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static void set_double(void *base, const struct key *key, double value)
{
    memcpy((char *)base + key->offset, &value, sizeof value);
}

const char *key_expected(enum key_type type)
{
    switch (type) {
    case KEY_TEXT:
        return "a text";
    case KEY_SIZE:
        return "a size above 0, for example 80GiB";
    case KEY_BYTES:
        return "a size, for example 80GiB";
    case KEY_RATE:
        return "a rate above 0, for example 300GB/s";
    case KEY_FLOPS:
        return "a rate above 0, for example 312TFLOP/s";
    case KEY_SECONDS:
        return "a time, for example 4us";
    case KEY_SHARE:
        return "a number above 0 and at most 1";
    case KEY_FACTOR:
        return "a number of at least 1";
    case KEY_FRACTION:
    case KEY_NUMBER:
        return "a number of at least 0";
    case KEY_COUNT:
        return "a whole number of at least 0";
    case KEY_YES_NO:
        return "true or false";
    case KEY_OTHER:
        break;
    }
    return "";
}

bool key_read_quantity(double *out, enum key_type type, const char *text)
{
    uint64_t value = 0;
    int64_t ns;
    int status;

    if (type == KEY_SECONDS) {
        status = units_parse_ns(&ns, text, NULL);
        *out = status == SHD_OK ? (double)ns * 1e-9 : 0;
        return status == SHD_OK;
    }
    if (type == KEY_BYTES || type == KEY_SIZE)
        status = units_parse_bytes(&value, text, NULL);
    else if (type == KEY_RATE)
        status = units_parse_rate(&value, text, NULL);
    else
        status = units_parse_flops(&value, text, NULL);
    *out = (double)value;
    return status == SHD_OK && (type == KEY_BYTES || value > 0);
}

static bool read_number(double *out, enum key_type type, const struct yaml_node *node)
{
    if (!yaml_read_double(node, out) || *out < 0)
        return false;
    if (type == KEY_SHARE)
        return *out > 0 && *out <= 1;
    return type != KEY_FACTOR || *out >= 1;
}

bool key_store(void *base, const struct key *key, const struct yaml_node *node, struct diag *diag)
{
    char **text = (char **)(void *)((char *)base + key->offset);
    double value;

    if (node->kind != YAML_TEXT)
        return false;
    switch (key->type) {
    case KEY_TEXT:
        if (yaml_is_null(node) || !*node->text)
            return false;
        *text = strdup(node->text);
        if (!*text)
            diag_no_memory(diag);
        return true;
    case KEY_SIZE:
    case KEY_BYTES:
    case KEY_RATE:
    case KEY_FLOPS:
    case KEY_SECONDS:
        if (!key_read_quantity(&value, key->type, node->text))
            return false;
        set_double(base, key, value);
        return true;
    case KEY_SHARE:
    case KEY_FRACTION:
    case KEY_FACTOR:
    case KEY_NUMBER:
        if (!read_number(&value, key->type, node))
            return false;
        set_double(base, key, value);
        return true;
    case KEY_COUNT: {
        int64_t count;

        if (!yaml_read_int(node, &count) || count < 0 || count > COUNT_LIMIT)
            return false;
        memcpy((char *)base + key->offset, &count, sizeof count);
        return true;
    }
    case KEY_YES_NO:
        return yaml_read_bool(node, (bool *)(void *)((char *)base + key->offset));
    case KEY_OTHER:
        break;
    }
    return true;
}
