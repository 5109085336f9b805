/* The host of a node: its links to the devices, and its own kernels (hardware.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <math.h>

#include "hardware/keys.h"

double hardware_host_copy_seconds(const struct hardware *hardware, bool to_host, double bytes)
{
    const struct hardware_host *h = &hardware->host;

    return h->latency_s + bytes / (to_host ? h->to_host_bytes_per_s : h->from_host_bytes_per_s);
}

int64_t hardware_host_devices(const struct hardware *hardware, int64_t devices)
{
    return hardware->host.devices < devices ? hardware->host.devices : devices;
}

double hardware_host_kernel_seconds(const struct hardware *hardware,
                                    const struct hardware_work *work, int64_t devices)
{
    const struct hardware_host *h = &hardware->host;
    double sharers = (double)hardware_host_devices(hardware, devices);

    return sharers * fmax(work->flops / h->flops_per_s,
                          work->bytes / (h->memory_bytes_per_s * h->memory_efficiency));
}

int hardware_host_check(const struct hardware *hardware, struct shd_error *err)
{
    struct text keys = TEXT_INIT;
    int status;

    if (hardware->host.memory_bytes > 0)
        return SHD_OK;
    for (const struct key *key = host_keys; key->name; key++)
        if (key->required)
            text_addf(&keys, "%s%s", keys.length ? ", " : "", key->name);
    status = shd_error_set(err, SHD_EINVAL,
                           "the file of %.60s has no section host, which needs the keys %s",
                           hardware->name, text_get(&keys));
    text_fini(&keys);
    return status;
}
