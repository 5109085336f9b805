/* Rooms for packed operands (kern/packed_room.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/packed_room.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOMS_MAX 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t gate; /* counts free rooms */
static size_t nrooms;
static struct packed_room *rooms; /* until the program ends; NULL: no memory for them */
static _Atomic bool taken[ROOMS_MAX];

static void setup(void)
{
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);

    nrooms = ncores < 1 ? 1 : ncores < ROOMS_MAX ? (size_t)ncores : ROOMS_MAX;
    sem_init(&gate, 0, (unsigned)nrooms);
    rooms = aligned_alloc(_Alignof(struct packed_room), nrooms * sizeof *rooms);
}

bool packed_room_any(void)
{
    pthread_once(&once, setup);
    return rooms != NULL;
}

struct packed_room *packed_room_take(void)
{
    while (sem_wait(&gate) != 0 && errno == EINTR)
        ;
    for (size_t i = 0;; i = (i + 1) % nrooms)
        if (!atomic_exchange(&taken[i], true))
            return &rooms[i];
}

void packed_room_give(struct packed_room *room)
{
    atomic_store(&taken[room - rooms], false);
    sem_post(&gate);
}
