/* json_memory.h - memory for jansson, with which it survives a lack of memory.
 *
 * Thread class: pure except for thread-local state; json_memory_init() before the first use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUESTION_JSON_MEMORY_H
#define QUESTION_JSON_MEMORY_H

#include <stdbool.h>

/* Make jansson allocate through this file. */
void json_memory_init(void);

/* Reset before each question, once everything of the last question is freed. */
void json_memory_reset(void);

/* Whether memory ran out since the reset: jansson's results must then be discarded. */
bool json_memory_ran_out(void);

/* Free memory allocated by jansson, such as the text of json_dumps(). */
void json_memory_free(void *memory);

#endif /* QUESTION_JSON_MEMORY_H */
