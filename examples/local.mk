# examples/local.mk - programs against the installed interface.  One file a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0
noinst_PROGRAMS += \
	%D%/own_graph \
	%D%/tensor_parallel_mlp

examples_own_graph_LDADD = libshdsim.la libshd.la -lm
examples_own_graph_LINK = $(INSTALLED_LINK)
examples_tensor_parallel_mlp_LDADD = libshdsim.la libshd.la -lm
examples_tensor_parallel_mlp_LINK = $(INSTALLED_LINK)

EXTRA_DIST += \
	%D%/partition_rules.py \
	%D%/step.hlo.txt \
	%D%/t5x.gin \
	%D%/torch/rank-0.json \
	%D%/torch/rank-1.json \
	%D%/torch/rank-2.json \
	%D%/torch/rank-3.json
