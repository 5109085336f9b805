/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "query/json_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

/* What jansson asks for between a failed request and its return, with room to spare. */
#define RESERVE_BYTES 16384

/* jansson takes a lack of memory for a fault of the text, so it is noted where it occurs. */
static _Thread_local bool ran_out;

/* jansson itself does not survive every lack of memory: what it asks for then comes from here, and
 * what it makes of that is dropped. */
static _Thread_local _Alignas(max_align_t) char reserve[RESERVE_BYTES];
static _Thread_local size_t reserve_used;

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    size_t aligned = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);

    if (memory)
        return memory;
    ran_out = true;
    if (aligned < size || aligned > sizeof reserve - reserve_used)
        return NULL;
    memory = reserve + reserve_used;
    reserve_used += aligned;
    return memory;
}

void json_memory_free(void *memory)
{
    uintptr_t at = (uintptr_t)memory, first = (uintptr_t)reserve;

    if (at < first || at >= first + sizeof reserve)
        free(memory);
}

void json_memory_init(void)
{
    json_set_alloc_funcs(allocate, json_memory_free);
}

void json_memory_reset(void)
{
    ran_out = false;
    reserve_used = 0;
}

bool json_memory_ran_out(void)
{
    return ran_out;
}
