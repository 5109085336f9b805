/* shell/loop.h - for, select, while and until: a round for each word, or while a condition
 * holds; where their number is not known, as if there were several.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_LOOP_H
#define SHELL_LOOP_H

#include "shell/reader.h"

/* Run from the word that begins the loop to its end, which is passed. */
enum shell_tri shell_run_for(struct shell *shell);
enum shell_tri shell_run_while(struct shell *shell);

#endif /* SHELL_LOOP_H */
