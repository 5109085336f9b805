/* pages.h - memory that is freed stays with the program, for commands that plan many steps.
 *
 * Thread class: called by one thread, before others are started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_PAGES_H
#define CMD_PAGES_H

/* Pages that are freed stay, for the next plan: to map and clear them anew takes longer than to
 * plan a step of training.  So the program keeps what the largest plan needed. */
void pages_keep(void);

#endif /* CMD_PAGES_H */
