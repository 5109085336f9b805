/* tap.h - the four calls every test program is made of.
 *
 * Output is the Test Anything Protocol on stdout.  A test program returns done(), which is 0 even
 * after a failure: the failure is told by the protocol.
 *
 * Thread class: one thread only; device threads hand their findings to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/* Promise `ntests` tests; 0: they are counted, and the number is told at the end. */
void plan(int ntests);

/* One test: passed when `pass` is not 0.  The text says what holds.  Returns `pass`. */
int ok(int pass, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The number that an environment variable holds; `otherwise` where it is not set. */
unsigned long from_env(const char *name, unsigned long otherwise);

/* Whether sanitizers look on, which make everything slow: SHD_TEST_SIZE is small. */
bool small_size(void);

/* Whether case `index` is in this run's sample of one in `every`.  SHD_TEST_TURN, a number that the
 * commit tells, says which: successive commits see all cases.  Always true where SHD_TEST_TIER is not
 * `change`: in the nightly tier, and in a test that is started by hand. */
bool sampled(unsigned every, unsigned long index);

/* A remark, of any number of lines. */
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The end of the program: prints the number of tests if plan() did not.  Returns 0. */
int done(void);

#endif /* TAP_H */
