/* Routings that are kept for those who ask for the same again (routing.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "kern/routing.h"

/* Memory of routings without a holder.  Some of the largest fit: a routing of a million tokens to
 * eight experts each has 64 MiB, and a search asks for microbatches of several sizes in turns. */
#define BYTES_KEPT ((size_t)640 << 20)

struct kept {
    struct kern_routing routing; /* first: a holder's pointer is the entry's */
    struct kern_routing_spec spec;
    uint32_t holders;
    size_t bytes;
    struct kept *next;
    int32_t numbers[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *first; /* the last one asked for */

/* Whether a distribution depends on the number of ranks. */
static bool has_ranks(const struct kern_routing_spec *spec)
{
    return spec->kind == KERN_ROUTING_HOT_RANK || spec->kind == KERN_ROUTING_RAGGED;
}

static bool is_same(const struct kern_routing_spec *a, const struct kern_routing_spec *b)
{
    return a->kind == b->kind && a->tokens == b->tokens && a->choices == b->choices &&
           a->experts == b->experts && a->groups == b->groups && a->kept == b->kept &&
           a->capacity == b->capacity && a->slot_major == b->slot_major &&
           a->assumed == b->assumed && a->roomy == b->roomy && a->rotate == b->rotate &&
           a->steps == b->steps && a->skew == b->skew && a->share == b->share && a->hot == b->hot &&
           (a->ranks == b->ranks || !has_ranks(a)) && a->seed == b->seed;
}

/* Put an entry at the head. */
static void put(struct kept *entry)
{
    entry->holders++;
    entry->next = first;
    first = entry;
}

/* Take an entry out of the list; NULL: there is none. */
static struct kept *take(const struct kern_routing_spec *spec)
{
    for (struct kept **at = &first; *at; at = &(*at)->next) {
        struct kept *found = *at;

        if (is_same(&found->spec, spec)) {
            *at = found->next;
            return found;
        }
    }
    return NULL;
}

/* Free the entries without a holder beyond BYTES_KEPT, those asked for long ago. */
static void trim(void)
{
    struct kept **at = &first;
    size_t bytes = 0;

    while (*at) {
        struct kept *entry = *at;

        bytes += entry->holders > 0 ? 0 : entry->bytes;
        if (entry->holders > 0 || bytes <= BYTES_KEPT) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        free(entry);
    }
}

const struct kern_routing *kern_routing_hold(const struct kern_routing_spec *spec)
{
    struct kept *entry;
    size_t room = kern_routing_room(spec);

    pthread_mutex_lock(&lock);
    entry = take(spec);
    if (entry)
        put(entry);
    pthread_mutex_unlock(&lock);
    if (entry)
        return &entry->routing;
    entry = malloc(sizeof *entry + room * sizeof entry->numbers[0]);
    if (!entry || !kern_routing_make(&entry->routing, spec, entry->numbers)) {
        free(entry);
        return NULL;
    }
    entry->spec = *spec;
    entry->holders = 0;
    entry->bytes = sizeof *entry + room * sizeof entry->numbers[0];
    pthread_mutex_lock(&lock);
    put(entry); /* another thread may have made an equal one: then there are two */
    pthread_mutex_unlock(&lock);
    return &entry->routing;
}

void kern_routing_release(const struct kern_routing *routing)
{
    struct kept *entry = (struct kept *)routing; /* the store's own: not constant */

    pthread_mutex_lock(&lock);
    entry->holders--;
    trim();
    pthread_mutex_unlock(&lock);
}
