/* training/tokenizers.h - sizes of well-known tokenizers, for jobs that name a tokenizer and leave
 * the size of the vocabulary to it.
 *
 * Thread class: the tables are immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_TOKENIZERS_H
#define TRAINING_TOKENIZERS_H

#include <stdint.h>

/* The tokens of a tokenizer by its type in Megatron-LM's --tokenizer-type; 0: the type does not
 * determine them.  `type` may be NULL. */
int64_t tokenizers_of_type(const char *type);

/* The tokens of a model's tokenizer, by the model's name ("Qwen/Qwen3-8B"); the part before the
 * last '/' is ignored.  Several names, separated by spaces, must all agree; 0: no name is known, or
 * they differ.  `names` may be NULL. */
int64_t tokenizers_of_models(const char *names);

#endif /* TRAINING_TOKENIZERS_H */
