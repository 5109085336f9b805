/* Constants of a cluster's file, by path (constant.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/constant.h"

#include <string.h>

/* Sections with constants, and their offsets in struct hardware. */
static const struct part {
    const char *prefix;
    const struct key *keys;
    size_t offset;
} parts[] = {
    {"memory.", memory_keys, 0},
    {"kernels.", kernel_keys, offsetof(struct hardware, kernels)},
    {"host.", host_keys, offsetof(struct hardware, host)},
    {"fsdp.", fsdp_keys, offsetof(struct hardware, fsdp)},
    {"serving.", serving_keys, offsetof(struct hardware, serving)},
    {"sustained.", sustained_keys, offsetof(struct hardware, sustained)},
    {"tiers.0.", tier_keys, offsetof(struct hardware, tiers[0])},
    {"tiers.1.", tier_keys, offsetof(struct hardware, tiers[1])},
    {"tiers.2.", tier_keys, offsetof(struct hardware, tiers[2])},
    {"tiers.3.", tier_keys, offsetof(struct hardware, tiers[3])},
};

#define NSECTIONS 6 /* the first parts; the others are tiers */

static size_t nparts(const struct hardware *hardware)
{
    return NSECTIONS + (size_t)hardware->ntiers;
}

/* Whether the file has no such section: some are optional. */
static bool is_lacking(const struct hardware *hardware, size_t part)
{
    return (parts[part].keys == host_keys && hardware->host.memory_bytes == 0) ||
           (parts[part].keys == fsdp_keys && hardware->fsdp.matmul_efficiency == 0);
}

static bool is_number(const struct key *key)
{
    return key->type != KEY_OTHER && key->type != KEY_TEXT && key->type != KEY_YES_NO;
}

bool hardware_constant_find(struct hardware_constant *out, const struct hardware *hardware,
                            const char *path)
{
    for (size_t p = 0; p < nparts(hardware); p++) {
        size_t length = strlen(parts[p].prefix);

        if (is_lacking(hardware, p))
            continue;
        for (const struct key *key = parts[p].keys; key->name; key++)
            if (!strncmp(path, parts[p].prefix, length) && !strcmp(path + length, key->name) &&
                is_number(key)) {
                *out =
                    (struct hardware_constant){key->name, key->type, parts[p].offset + key->offset};
                return true;
            }
    }
    return false;
}

bool hardware_constant_path(struct text *out, const struct hardware *hardware, size_t index)
{
    for (size_t p = 0; p < nparts(hardware); p++)
        for (const struct key *key = parts[p].keys; key->name; key++) {
            if (!is_number(key) || is_lacking(hardware, p))
                continue;
            if (index == 0) {
                text_addf(out, "%s%s", parts[p].prefix, key->name);
                return true;
            }
            index--;
        }
    return false;
}
