/* shell/test.h - conditions of a shell: test, [ ... ], [[ ... ]], and patterns.
 *
 * Conditions on known values are decided; no file is looked at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_TEST_H
#define SHELL_TEST_H

#include "shell/reader.h"

/* Read and decide [[ ... ]] or ((...)). */
enum shell_tri shell_read_test(struct shell *shell);
enum shell_tri shell_run_sum(struct shell *shell);

/* Evaluate the words from `first` to `end` as a condition; `twice`: of [[ ]].  SHELL_UNSURE leaves
 * the reason in shell->cause. */
enum shell_tri shell_test(struct shell *shell, const struct shell_words *words, size_t first,
                          size_t end, bool twice);

/* Whether a word matches another word as a pattern (* ? [a-z]), whose quoted bytes stand for
 * themselves. */
enum shell_tri shell_match(struct shell *shell, const struct shell_words *words, size_t word,
                           const struct shell_words *patterns, size_t pattern);

enum shell_tri shell_and(enum shell_tri a, enum shell_tri b);
enum shell_tri shell_or(enum shell_tri a, enum shell_tri b);
enum shell_tri shell_not(enum shell_tri a);

#endif /* SHELL_TEST_H */
