/* ask.h - asking a question on a terminal until the answer is good.
 *
 * Questions go to standard error, so that a command's output can go elsewhere.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_INIT_ASK_H
#define CMD_INIT_ASK_H

#include <stdbool.h>

/* Whether standard input and standard error are a terminal, where a person can answer. */
bool ask_can(void);

/* Take an answer, which is valid during the call.  False, with a message, if the answer is bad. */
typedef bool ask_take(void *arg, const char *answer);

/* Ask "QUESTION [FALLBACK]: "; an empty line means the fallback.  CMD_OK; CMD_USAGE with an error at
 * the end of input, CMD_INTERRUPTED if the user interrupts, CMD_CANNOT without
 * memory. */
int ask(const char *question, const char *fallback, ask_take *take, void *arg);

#endif /* CMD_INIT_ASK_H */
