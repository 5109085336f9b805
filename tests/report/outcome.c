/* Tests report/outcome.h: each format of check's report, for every kind of outcome, in full.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

enum { NOUTCOMES = 6 };

static void must(bool good)
{
    if (!good)
        abort();
}

/* One outcome of each kind, in three suites. */
static void make(struct outcome *list)
{
    static const struct {
        enum outcome_kind kind;
        const char *file, *suite, *name;
    } rows[NOUTCOMES] = {
        {OUTCOME_PASSED, "d/a.yaml", "a.yaml", "dp"},
        {OUTCOME_CHANGED, "d/a.yaml", "a.yaml", "t<p>&\"#1"},
        {OUTCOME_SKIPPED, "d/a.yaml", "a.yaml", "wide"},
        {OUTCOME_DOES_NOT_FIT, "d/a,b:%.yaml", "b.yaml", ""},
        {OUTCOME_BAD_SCENARIO, "d/c.yaml", "c.yaml", ""},
        {OUTCOME_PASSED, "d/c.yaml", "c.yaml", "accepted"},
    };

    for (size_t i = 0; i < NOUTCOMES; i++) {
        must(outcome_init(&list[i], rows[i].file, rows[i].suite, rows[i].name));
        list[i].kind = rows[i].kind;
    }
    must(outcome_set_note(&list[0], OUTCOME_PLANNED, "of many devices"));
    must(outcome_set_note(&list[0], OUTCOME_OLDER, "no \"busy\""));
    must(outcome_set_note(&list[1], OUTCOME_OLDER, "old"));
    diag_error(&list[1].reasons, (struct place){"d/other.yaml", 3, 1}, "bytes: 1 < 2, 50 %%");
    diag_error(&list[1].reasons, (struct place){"d/a.yaml", 7, 2}, "peak: 3");
    diag_error(&list[2].reasons, (struct place){"d/a.yaml", 9, 1}, "3 does not divide 4");
    diag_error(&list[3].reasons, (struct place){NULL, 0, 0}, "needs 2");
    diag_error(&list[4].reasons, (struct place){"d/c.yaml", 1, 5}, "no map");
    diag_error(&list[5].reasons, (struct place){"d/c.yaml", 0, 0}, "new");
}

static void is_text(struct text *found, const char *want, const char *what)
{
    if (!ok(!found->failed && !strcmp(text_get(found), want), "%s", what))
        diag("%s", text_get(found));
    text_fini(found);
}

static void test_tap(const struct outcome *list)
{
    static const char want[] =
        "ok 1 - a.yaml: dp # planned: of many devices; baseline: no \"busy\"\n"
        "not ok 2 - a.yaml: t<p>&\"_1 # baseline: old\n"
        "  ---\n"
        "  file: \"d/a.yaml\"\n"
        "  line: 7\n"
        "  reasons:\n"
        "    - \"d/other.yaml:3: bytes: 1 < 2, 50 %\"\n"
        "    - \"line 7: peak: 3\"\n"
        "  ...\n"
        "ok 3 - a.yaml: wide # SKIP 3 does not divide 4\n"
        "not ok 4 - b.yaml\n"
        "  ---\n"
        "  file: \"d/a,b:%.yaml\"\n"
        "  line: 1\n"
        "  reasons:\n"
        "    - \"needs 2\"\n"
        "  ...\n"
        "not ok 5 - c.yaml\n"
        "  ---\n"
        "  file: \"d/c.yaml\"\n"
        "  line: 1\n"
        "  reasons:\n"
        "    - \"line 1: no map\"\n"
        "  ...\n"
        "ok 6 - c.yaml: accepted\n"
        "  ---\n"
        "  file: \"d/c.yaml\"\n"
        "  line: 1\n"
        "  accepted:\n"
        "    - \"new\"\n"
        "  ...\n";
    struct text found = TEXT_INIT;

    for (size_t i = 0; i < NOUTCOMES; i++)
        outcome_print_tap(&list[i], i + 1, &found);
    is_text(&found, want, "TAP");
}

static void test_annotations(const struct outcome *list)
{
    static const char want[] =
        "::error file=d/other.yaml,line=3,title=a.yaml%3A t<p>&\"_1::bytes: 1 < 2, 50 %25%0Apeak: 3\n"
        "::error file=d/a%2Cb%3A%25.yaml,line=1,title=b.yaml::needs 2\n"
        "::error file=d/c.yaml,line=1,title=c.yaml::no map\n";
    struct text found = TEXT_INIT;

    for (size_t i = 0; i < NOUTCOMES; i++)
        outcome_print_annotation(&list[i], &found);
    is_text(&found, want, "annotations");
}

static void test_junit(const struct outcome *list)
{
    static const char want[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"shardsim check\" tests=\"6\" failures=\"2\" errors=\"1\" "
        "time=\"0.000\">\n"
        "  <testsuite name=\"a.yaml\" tests=\"3\" failures=\"1\" errors=\"0\" "
        "time=\"0.000\" skipped=\"1\">\n"
        "    <testcase classname=\"a.yaml\" name=\"dp\" file=\"d/a.yaml\" line=\"1\" "
        "time=\"0.000\">\n"
        "      <properties>\n"
        "        <property name=\"planned\" value=\"of many devices\"/>\n"
        "        <property name=\"baseline\" value=\"no &quot;busy&quot;\"/>\n"
        "      </properties>\n"
        "    </testcase>\n"
        "    <testcase classname=\"a.yaml\" name=\"t&lt;p&gt;&amp;&quot;#1\" file=\"d/a.yaml\" "
        "line=\"7\" "
        "time=\"0.000\">\n"
        "      <properties>\n"
        "        <property name=\"baseline\" value=\"old\"/>\n"
        "      </properties>\n"
        "      <failure message=\"bytes: 1 &lt; 2, 50 %\" type=\"changed\">"
        "d/other.yaml:3: bytes: 1 &lt; 2, 50 %\nline 7: peak: 3\n</failure>\n"
        "    </testcase>\n"
        "    <testcase classname=\"a.yaml\" name=\"wide\" file=\"d/a.yaml\" line=\"9\" "
        "time=\"0.000\">\n"
        "      <skipped message=\"3 does not divide 4\"></skipped>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "  <testsuite name=\"b.yaml\" tests=\"1\" failures=\"1\" errors=\"0\" "
        "time=\"0.000\" skipped=\"0\">\n"
        "    <testcase classname=\"b.yaml\" name=\"b.yaml\" file=\"d/a,b:%.yaml\" line=\"1\" "
        "time=\"0.000\">\n"
        "      <failure message=\"needs 2\" type=\"does-not-fit\">needs 2\n</failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "  <testsuite name=\"c.yaml\" tests=\"2\" failures=\"0\" errors=\"1\" "
        "time=\"0.000\" skipped=\"0\">\n"
        "    <testcase classname=\"c.yaml\" name=\"c.yaml\" file=\"d/c.yaml\" line=\"1\" "
        "time=\"0.000\">\n"
        "      <error message=\"no map\" type=\"unreadable-scenario\">line 1: no map\n</error>\n"
        "    </testcase>\n"
        "    <testcase classname=\"c.yaml\" name=\"accepted\" file=\"d/c.yaml\" line=\"1\" "
        "time=\"0.000\">\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n";
    struct text found = TEXT_INIT;

    outcome_print_junit(list, NOUTCOMES, &found);
    is_text(&found, want, "JUnit");
}

int main(void)
{
    struct outcome list[NOUTCOMES];
    size_t nfailures = 0, nerrors = 0;

    plan(0);
    make(list);
    test_tap(list);
    test_annotations(list);
    test_junit(list);
    for (int kind = 0; kind < OUTCOME_NKINDS; kind++) {
        nfailures += outcome_is_failure((enum outcome_kind)kind);
        nerrors += outcome_is_error((enum outcome_kind)kind);
    }
    ok(nfailures == 7 && nerrors == 2, "failures are not errors, nor either of them what passed");
    for (size_t i = 0; i < NOUTCOMES; i++)
        outcome_fini(&list[i]);
    return done();
}
