/* Tests run/channel.h: messages are distinguished by their tags and counted where they are copied,
 * a sender does not wait, and a receiver that waits in vain ends the run with the same message
 * each time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/channel.h"

#include <shd/run.h>
#include <string.h>

#include "run/device.h"
#include "../support/tap.h"

#define ROUNDS 200

static int run(int32_t ndevices, shd_device_fn fn, struct shd_run_stats *stats,
               struct shd_error *err)
{
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    const char *name = "d";
    struct shd_mesh *mesh;
    int status = shd_mesh_create(&mesh, &name, &ndevices, 1, err);

    if (status != SHD_OK)
        return status;
    opts.wait_limit_s = -1;
    status = shd_run(mesh, fn, NULL, &opts, stats, err);
    shd_mesh_destroy(mesh);
    return status;
}

static uint64_t value_of(int32_t position, uint64_t number)
{
    return (uint64_t)position * 1000003 + number * 7919 + 1;
}

static int send_one(struct shd_device *dev, int32_t to, uint64_t number, struct shd_error *err)
{
    const struct message_tag tag = {1, number};
    uint64_t value = value_of(shd_device_position(dev), number);

    return channel_send(dev, to, tag, &value, sizeof value, err);
}

/* Take a message; SHD_EMISMATCH if it is not the expected one. */
static int take_one(struct shd_device *dev, int32_t from, uint64_t number, struct shd_error *err)
{
    const struct message_tag tag = {1, number};
    uint64_t value = 0, received = 0;
    int status = channel_take(dev, from, tag, &value, sizeof value, "x", &received, err);

    if (status != SHD_OK)
        return status;
    if (value != value_of(from, number) ||
        received != (from == shd_device_position(dev) ? 0 : sizeof value))
        return shd_error_set(err, SHD_EMISMATCH, "another message came");
    return SHD_OK;
}

/* ---- what goes well ---- */

/* Each device sends to both neighbours and to itself first, and then takes the messages in reverse
 * order. */
static int all_at_once(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t n = *(const int32_t *)arg, me = shd_device_position(dev);
    const int32_t others[3] = {(me + 1) % n, (me + n - 1) % n, me};
    int status = SHD_OK;

    for (uint64_t k = 0; k < ROUNDS; k++)
        for (int o = 0; o < 3 && status == SHD_OK; o++)
            status = send_one(dev, others[o], k, err);
    for (uint64_t k = ROUNDS; k-- > 0;)
        for (int o = 0; o < 3 && status == SHD_OK; o++)
            status = take_one(dev, others[o], k, err);
    return status;
}

static int five_at_once(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t n = 5;

    (void)arg;
    return all_at_once(dev, &n, err);
}

/* A message goes round the devices, so that each waits for the one before. */
static int round_and_round(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t n = 4, me = shd_device_position(dev);
    int status = SHD_OK;

    (void)arg;
    for (uint64_t k = 0; k < ROUNDS && status == SHD_OK; k++) {
        if (me != 0)
            status = take_one(dev, me - 1, k, err);
        if (status == SHD_OK)
            status = send_one(dev, (me + 1) % n, k, err);
        if (status == SHD_OK && me == 0)
            status = take_one(dev, n - 1, k, err);
    }
    return status;
}

static void test_good(void)
{
    struct shd_run_stats stats;
    struct shd_error err = {SHD_OK, ""};
    bool counted = true;

    if (!ok(run(5, five_at_once, &stats, &err) == SHD_OK,
            "messages are taken by their tags, in any order, and from oneself"))
        diag("%s", err.text);
    for (int32_t d = 0; d < 5 && stats.received_bytes; d++)
        counted = counted && stats.received_bytes[d] == 2 * ROUNDS * sizeof(uint64_t) &&
                  stats.sent_bytes[d] == stats.received_bytes[d] &&
                  stats.matrix[d * 5 + (d + 1) % 5] == ROUNDS * sizeof(uint64_t) &&
                  stats.matrix[d * 5 + d] == 0;
    ok(counted, "received bytes are counted by sender, without a device's own");
    shd_run_stats_fini(&stats);
    ok(run(4, round_and_round, NULL, &err) == SHD_OK, "devices that wait in turn all finish");
}

/* ---- what does not ---- */

static int take_in_vain(struct shd_device *dev, void *arg, struct shd_error *err)
{
    (void)arg;
    if (shd_device_position(dev) == 0)
        return send_one(dev, 1, 0, err);
    return take_one(dev, 0, 1, err); /* a number that was not sent */
}

static int take_in_circle(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t me = shd_device_position(dev);
    int status = take_one(dev, (me + 2) % 3, 0, err);

    (void)arg;
    return status == SHD_OK ? send_one(dev, (me + 1) % 3, 0, err) : status;
}

static int sender_fails(struct shd_device *dev, void *arg, struct shd_error *err)
{
    (void)arg;
    if (shd_device_position(dev) == 0)
        return shd_error_set(err, SHD_ENOMEM, "no memory for it");
    return take_one(dev, 0, 0, err);
}

/* Messages that were sent before their sender failed are still taken. */
static int sender_fails_late(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int status;

    (void)arg;
    if (shd_device_position(dev) == 0) {
        status = send_one(dev, 1, 0, err);
        return status == SHD_OK ? shd_error_set(err, SHD_EINVAL, "done") : status;
    }
    status = take_one(dev, 0, 0, err);
    return status == SHD_OK ? shd_error_set(err, SHD_ERANGE, "taken") : status;
}

static int other_size(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct message_tag tag = {1, 0};
    uint32_t small;
    uint64_t received;

    (void)arg;
    if (shd_device_position(dev) == 0)
        return send_one(dev, 1, 0, err);
    return channel_take(dev, 0, tag, &small, sizeof small, "x", &received, err);
}

static void ends_with(const char *what, int32_t ndevices, shd_device_fn fn, int status,
                      const char *text)
{
    bool good = true;

    for (int i = 0; i < 20 && good; i++) { /* the message is the same each time */
        struct shd_error err = {SHD_OK, ""};

        good = run(ndevices, fn, NULL, &err) == status && strstr(err.text, text);
        if (!good)
            diag("%d: %s", err.status, err.text);
    }
    ok(good, "%s", what);
}

static void test_bad(void)
{
    ends_with("a message that is not sent, and the sender has ended", 2, take_in_vain, SHD_ESTUCK,
              "device 1 waits in receive from device 0 (x) for device 0, which has ended");
    ends_with("three that wait in a circle", 3, take_in_circle, SHD_ESTUCK,
              "device 0 waits in receive from device 2 (x) for device 2, which waits in");
    ends_with("a sender that fails", 2, sender_fails, SHD_ENOMEM, "device 0: no memory for it");
    ends_with("a sender that fails afterwards", 2, sender_fails_late, SHD_EINVAL, "device 0: done");
    ends_with("a message of another size", 2, other_size, SHD_EMISMATCH,
              "device 0 sent 8 bytes to device 1, which expected 4");
}

int main(void)
{
    test_good();
    test_bad();
    return done();
}
