/* An allocator for jansson that survives a lack of memory (json_memory.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "question/json_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

/* more than jansson requests between a failed request and its return */
#define RESERVE_BYTES 16384

/* jansson reports a lack of memory as a fault of the text, so it is recorded where it occurs. */
static _Thread_local bool ran_out;

/* jansson does not survive every failed request.  Later requests are served from this reserve, and
 * the results are discarded. */
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
