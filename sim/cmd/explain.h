/* explain.h - the forms of `shardsim explain` that need no scenario.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

/* argv[0] is "shardsim explain collective", "shardsim explain reshard". */
int explain_collective(int argc, char **argv);
int explain_reshard(int argc, char **argv);

#endif /* CMD_EXPLAIN_H */
