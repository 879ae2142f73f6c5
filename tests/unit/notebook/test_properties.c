// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/properties.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>

// Sets properties of a cell, "name=value", and compares the file's text afterwards.
static void check_set(const char *marker, const char *source, const char *const *sets,
    const char *want_marker, const char *want_source)
{
    struct properties p;
    properties_read(marker, source, &p);
    for (; *sets; sets++)
        for (property i = 0; i < PROPERTY_COUNT; i++) {
            size_t n = strlen(property_name(i));
            if (strncmp(*sets, property_name(i), n) != 0 || (*sets)[n] != '=')
                continue;
            free(p.values[i]);
            p.values[i] = mem_strdup(*sets + n + 1);
        }
    AUTO_FREE char *got_marker = NULL, *got_source = NULL;
    properties_write(marker, source, &p, &got_marker, &got_source);
    CHECK_STR(got_marker, want_marker);
    CHECK_STR(got_source, want_source);
    properties_done(&p);
}
#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOTHING   ((const char *const[]){NULL})

static void check_kind(const char *marker, const char *source, const char *kind, const char *file)
{
    struct properties p;
    properties_read(marker, source, &p);
    CHECK_STR(p.values[PROPERTY_KIND], kind);
    CHECK_STR(p.values[PROPERTY_FILE], file);
    properties_done(&p);
    check_set(marker, source, NOTHING, marker, source);
}

TEST(a_kind_is_read_from_options_and_magics)
{
    check_kind("", "x = 1", "Lua", "");
    check_kind("T language=\"bash\"", "ls", "bash", "");
    check_kind("", "%%bash -e\nls", "bash", "");
    check_kind("file=\"a.lua\"", "", "trainer", "a.lua");
    check_kind("", "%%writefile job.yaml\na: 1", "YAML file", "job.yaml");
    check_kind("", "%%writefile $NAME\na: 1", "Lua", "");
    check_kind("language=\"yaml\" template=\"a.yaml\"", "", "YAML template", "a.yaml");
    check_kind("file=\"x.toml\" language=\"toml\"", "", "toml file", "x.toml");
    check_kind("language=\"sh\"", "ls", "sh", "");
    check_kind("[markdown]", "# T", "markdown", "");
    check_kind("T [raw]", "", "raw", "");
}

TEST(a_kind_changes_and_comes_back)
{
    check_set("", "a: 1", SETS("kind=YAML template", "file=app.yaml", "title=The manifest"),
        "The manifest language=\"yaml\" template=\"app.yaml\"", "a: 1");
    check_set("The manifest language=\"yaml\" template=\"app.yaml\"", "a: 1", SETS("kind=Lua"),
        "The manifest", "a: 1");
    check_set("", "%%bash -e\nls", SETS("kind=Lua"), "", "ls");
    check_set("", "%%bash -e\nls", SETS("tags=x"), "tags=[\"x\"]", "%%bash -e\nls");
    check_set("", "%%writefile job.yaml\na: 1", SETS("kind=YAML template"),
        "language=\"yaml\" template=\"job.yaml\"", "a: 1");
    check_set(
        "", "%%capture out\nprint(1)", SETS("capture=lines"), "capture=\"lines\"", "print(1)");
    check_set(
        "language=\"bash\" magic_args=\"-e\"", "ls", SETS("kind=sh"), "language=\"sh\"", "ls");
    check_set("A file=\"t.lua\" timeout=\"5m\"", "x", SETS("kind=markdown"), "A [markdown]", "x");
    check_set(
        "T language=\"toml\" file=\"x\"", "", SETS("file=y"), "T file=\"y\" language=\"toml\"", "");
    check_set("%% Sub", "", SETS("tags=a"), "%% Sub tags=[\"a\"]", "");
}

TEST(lists_and_words_are_written_as_options)
{
    check_set("", "", SETS("tags= a, b,", "timeout=5m", "effects=cluster", "capture=out"),
        "capture=\"out\" effects=\"cluster\" tags=[\"a\", \"b\"] timeout=\"5m\"", "");
    check_set(
        "", "", SETS("effects=cluster, destructive"), "effects=[\"cluster\", \"destructive\"]", "");
    check_set("language=\"bash\"", "", SETS("inputs=a.csv", "outputs=b, c"),
        "inputs=[\"a.csv\"] outputs=[\"b\", \"c\"] language=\"bash\"", "");
    check_set("language=\"bash\"", "", SETS("inputs=[\"a, b.csv\", \"c\"]", "outputs= \"d\", e"),
        "inputs=[\"a, b.csv\", \"c\"] outputs=[\"d\", \"e\"] language=\"bash\"", "");
    check_set("tags=[\"a\"]", "", SETS("tags="), "", "");
    check_set("", "", SETS("retries=2", "when=failed", "tolerance=1e-6"),
        "retries=2 tolerance=1e-06 when=\"failed\"", "");
    check_set("retries=2 tolerance=1e-6", "", SETS("retries="), "tolerance=1e-06", "");
}

TEST(what_is_no_property_keeps_its_bytes)
{
    static const char other[] =
        "nbgrader={ \"n\":12345678901234567890,'x':True} slideshow={\"a\":[1 ,2]}";
    AUTO_FREE char *was = str_fmt("T id=\"load\" %s", other);
    AUTO_FREE char *want = str_fmt("U id=\"load\" %s tags=[\"z\"]", other);
    check_set(was, "", SETS("title=U", "tags=z"), want, "");
    check_set("T tags=[\"a,b\"] jp-x=1.50", "", SETS("title=U"), "U jp-x=1.50 tags=[\"a,b\"]", "");
    check_set("T {\"a\": 1, \"tags\": [\"x\"]}", "", SETS("tags=y"),
        "T {\"a\": 1, \"tags\": [\"y\"]}", "");
}

// Checks the problem of one value in a cell of a kind; NULL: none.
static void check_problem(const char *marker, property which, const char *value, const char *words)
{
    struct properties p;
    char *problems[PROPERTY_COUNT];
    properties_read(marker, "", &p);
    free(p.values[which]);
    p.values[which] = mem_strdup(value);
    bool good = properties_check(marker, "", &p, problems);
    CHECK(good == !words);
    if (words)
        CHECK_HAS(problems[which] ? problems[which] : "(no problem)", words);
    for (property i = 0; i < PROPERTY_COUNT; i++)
        free(problems[i]);
    properties_done(&p);
}

TEST(faults_are_told_at_their_field)
{
    check_problem("", PROPERTY_TIMEOUT, "5x", "5x");
    check_problem("", PROPERTY_TIMEOUT, "5m", NULL);
    check_problem("", PROPERTY_RETRIES, "twice", "needs a number from 0 to 100");
    check_problem("", PROPERTY_RETRIES, "101", "needs a number from 0 to 100");
    check_problem("", PROPERTY_TOLERANCE, "-1", "needs a number of 0 or more");
    check_problem("", PROPERTY_TOLERANCE, "1e-6", NULL);
    check_problem("", PROPERTY_WHEN, "accuracy > 0.9", NULL);
    check_problem("", PROPERTY_WHEN, "faild", "did you mean \"failed\"?");
    check_problem("", PROPERTY_WHEN, "ready", NULL);
    check_problem("", PROPERTY_CAPTURE, "9a", "no name of a Lua variable");
    check_problem("", PROPERTY_EFFECTS, "clustr", "did you mean \"cluster\"");
    check_problem(
        "language=\"yaml\" template=\"a\"", PROPERTY_FILE, "", "needs the name of the file");
    check_problem("", PROPERTY_TITLE, "a=b", "options");
    check_problem("", PROPERTY_TITLE, "x [markdown]", "options");
    check_problem("", PROPERTY_TITLE, "Größe – 50 %", NULL);
    check_problem("language=\"bash\"", PROPERTY_INPUTS, "a.csv, b.csv", NULL);
    check_problem("language=\"bash\"", PROPERTY_INPUTS, "\"a.csv, b.csv", "a quote or a bracket");
    check_problem("language=\"bash\"", PROPERTY_INPUTS, "a.csv, \"", "a quote or a bracket");
    check_problem("language=\"bash\"", PROPERTY_INPUTS, "[\"a.csv\"", "a quote or a bracket");
    check_problem("language=\"bash\"", PROPERTY_INPUTS, "[1]", "list");
}

int main(void)
{
    return tap_run();
}
