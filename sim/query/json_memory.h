/* json_memory.h - the memory of jansson, which survives that there is none.
 *
 * Thread class: pure but for what belongs to each thread; json_memory_init() before the first use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_JSON_MEMORY_H
#define QUERY_JSON_MEMORY_H

#include <stdbool.h>

/* From here on jansson takes its memory from this file. */
void json_memory_init(void);

/* Before each question, when nothing of the one before is left: as if memory had never run out. */
void json_memory_reset(void);

/* Whether memory ran out since: what jansson made meanwhile is not to be used. */
bool json_memory_ran_out(void);

/* Free what jansson has allocated, as the text of json_dumps(). */
void json_memory_free(void *memory);

#endif /* QUERY_JSON_MEMORY_H */
