/* explain_reshard.h - shardsim explain reshard.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_RESHARD_H
#define CMD_EXPLAIN_RESHARD_H

/* argv[0] is "shardsim explain reshard"; returns the exit status. */
int explain_reshard(int argc, char **argv);

#endif /* CMD_EXPLAIN_RESHARD_H */
