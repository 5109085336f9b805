/* Rooms for packed operands (kern/packed_room.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/packed_room.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/wait.h"

#define ROOMS_MAX 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct wait_gate gate; /* to free rooms */
static size_t nrooms;
static struct packed_room *rooms; /* until the program ends; NULL: no memory for them */
static _Atomic bool taken[ROOMS_MAX];

static void setup(void)
{
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);

    nrooms = ncores < 1 ? 1 : ncores < ROOMS_MAX ? (size_t)ncores : ROOMS_MAX;
    wait_gate_init(&gate, (uint32_t)nrooms);
    rooms = aligned_alloc(_Alignof(struct packed_room), nrooms * sizeof *rooms);
}

bool packed_room_any(void)
{
    pthread_once(&once, setup);
    return rooms != NULL;
}

struct packed_room *packed_room_take(void)
{
    wait_gate_enter(&gate);
    for (size_t i = 0;; i = (i + 1) % nrooms)
        if (!atomic_exchange(&taken[i], true))
            return &rooms[i];
}

void packed_room_give(struct packed_room *room)
{
    atomic_store(&taken[room - rooms], false);
    wait_gate_leave(&gate);
}
