# man/local.mk - the manual, made of what the program says.  One page a line, sorted.
#
# SPDX-License-Identifier: Apache-2.0

# In the tarball too, and there newer than what they are made of: a build from it needs not run the
# program, which may be for another machine.
dist_man_MANS = \
	%D%/shardsim-bench.1 \
	%D%/shardsim-calibrate.1 \
	%D%/shardsim-check.1 \
	%D%/shardsim-compare.1 \
	%D%/shardsim-explain.1 \
	%D%/shardsim-export.1 \
	%D%/shardsim-import.1 \
	%D%/shardsim-init.1 \
	%D%/shardsim-plan.1 \
	%D%/shardsim-query.1 \
	%D%/shardsim-query.7 \
	%D%/shardsim-replay.1 \
	%D%/shardsim-report.1 \
	%D%/shardsim-run.1 \
	%D%/shardsim-runs.1 \
	%D%/shardsim-scenario.5 \
	%D%/shardsim-search.1 \
	%D%/shardsim-serve.1 \
	%D%/shardsim-show.1 \
	%D%/shardsim-trace.1 \
	%D%/shardsim.1

manual_sources = %D%/manual.awk %D%/manual.sh %D%/query.txt %D%/scenario.txt
EXTRA_DIST += $(manual_sources)
CLEANFILES += $(dist_man_MANS)

# The program must be there, but only newer sources make a page old.
$(dist_man_MANS): $(manual_sources) $(libsim_la_SOURCES) configure.ac | shardsim$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) %D% && AWK='$(AWK)' $(SHELL) $(srcdir)/%D%/manual.sh \
		./shardsim$(EXEEXT) $(@F) $(RELEASE_DATE) >$@.part && mv $@.part $@
