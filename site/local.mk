# site/local.mk - the site of the docs, which `make site` builds in site/html with MkDocs.
#
# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/c_reference.py \
	%D%/mkdocs.yml \
	%D%/pages.py \
	%D%/requirements.txt \
	%D%/site.css

# A warning, as of a link to no page or heading, is an error.
.PHONY: site
site: shardsim$(EXEEXT) $(dist_man_MANS)
	@test -n '$(MKDOCS)' || { echo 'make site: mkdocs is missing; ./quickstart site installs it in the build' \
		'and makes the site, or: pip install -r $(srcdir)/%D%/requirements.txt, and configure' >&2; exit 1; }
	$(AM_V_GEN)PYTHONDONTWRITEBYTECODE=1 python3 $(srcdir)/%D%/pages.py $(srcdir) . ./shardsim$(EXEEXT)
	$(AM_V_at)cd %D% && NO_MKDOCS_2_WARNING=1 '$(MKDOCS)' build --strict # which --quiet would undo
	@echo 'the site is in %D%/html: open %D%/html/index.html'

clean-local: clean-site
.PHONY: clean-site
clean-site:
	rm -rf %D%/html %D%/pages %D%/mkdocs.yml
