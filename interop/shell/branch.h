/* shell/branch.h - if and case: the branch whose condition holds is run; where conditions
 * are not decided, each branch that may be taken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_BRANCH_H
#define SHELL_BRANCH_H

#include "shell/reader.h"

/* Run from the word `if` or `case` to its end, which is passed. */
enum shell_tri shell_run_if(struct shell *shell);
enum shell_tri shell_run_case(struct shell *shell);

#endif /* SHELL_BRANCH_H */
