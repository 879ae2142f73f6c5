// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/params.h"
#include "tests/support/tap.h"

static const char text[] = "-- %% tags=[\"parameters\"]\n"
                           "epochs = 5 -- how often\n"
                           "rate = 1e-3\n"
                           "name = \"a\\\"b\" ; -- a comment\n"
                           "base = nil\n"
                           "fast = true\n"
                           "list = {call()}\n"
                           "local mine = 1\n"
                           "one, two = 1, 2\n"
                           "sum = 1 + 2\n"
                           "epochs == 5\n"
                           "big = 0x10\n"
                           "\n"
                           "-- %% rest\n"
                           "print(epochs)\n";

static notebook *nb;
static struct params ps;

static void load(void)
{
    err e = {0};
    params_done(&ps);
    notebook_free(nb);
    nb = notebook_parse(text, strlen(text), &e);
    CHECK_OK(nb, e);
    CHECK_OK(params_find(nb, &ps, &e) == 0, e);
}

static void check_refused(const char *assignment, const char *words)
{
    err e = {0};
    CHECK_INT(params_give(&ps, assignment, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_HAS(e.text, words);
}

TEST(literals_of_the_tagged_cell_are_parameters)
{
    load();
    CHECK_INT(ps.n, 6);
    CHECK_STR(ps.list[0].name, "epochs");
    CHECK_STR(ps.list[0].literal, "5");
    CHECK_STR(ps.list[0].comment, "how often");
    CHECK_INT(ps.list[1].type, PARAM_NUMBER);
    CHECK_STR(ps.list[2].value->valuestring, "a\"b");
    CHECK_INT(ps.list[3].type, PARAM_NIL);
    CHECK_INT(ps.list[4].type, PARAM_BOOLEAN);
    CHECK_NEAR(ps.list[5].value->valuedouble, 16, 0);
}

static void check_hidden(const char *literal, const char *expected)
{
    AUTO_FREE char *words = mem_strdup(literal);
    AUTO_FREE char *name = mem_strdup("db");
    struct param p = {.name = name, .literal = words};
    AUTO_JSON *hidden = param_hidden(&p);
    AUTO_BUF said = {0};
    if (hidden)
        json_print(&said, hidden);
    CHECK_STR(buf_cstr(&said), expected);
}

// What stands below a secret's name is secret, whatever its own name is.
TEST(a_table_below_a_secret_s_name_is_hidden)
{
    check_hidden("{password = {current = \"a\", old = {\"b\", 3}}, user = \"u\"}",
        "{\"password\":{\"current\":\"[secret]\",\"old\":[\"[secret]\",\"[secret]\"]},\"user\":"
        "\"u\"}");
    check_hidden("{{token = \"a\", n = 1}}", "[{\"token\":\"[secret]\",\"n\":1}]");
    check_hidden("{user = {name = \"u\"}}", "");
}

TEST(of_two_lines_for_one_name_the_later_counts)
{
    static const char twice[] =
        "-- %% tags=[\"parameters\"]\nrate = 1 -- first\nepochs = 2\nrate = \"high\"\n";
    err e = {0};
    struct params found = {0};
    notebook *own = notebook_parse(twice, strlen(twice), &e);
    CHECK_OK(own && params_find(own, &found, &e) == 0, e);
    CHECK_INT(found.n, 2);
    CHECK_STR(found.list[0].literal, "\"high\"");
    CHECK_INT(found.list[0].type, PARAM_STRING);
    CHECK(!found.list[0].comment);
    params_done(&found);
    notebook_free(own);
}

TEST(given_values_become_a_cell_after_it)
{
    err e = {0};
    load();
    CHECK_OK(params_give(&ps, "epochs=1", &e) == 0, e);
    CHECK_OK(params_give(&ps, "epochs=2", &e) == 0, e); // the last one holds
    CHECK_OK(params_give(&ps, "name=x = \"y\"\n", &e) == 0, e);
    CHECK_OK(params_give(&ps, "base=spark:3", &e) == 0, e);
    CHECK_OK(params_give(&ps, "fast=false", &e) == 0, e);
    CHECK_OK(params_inject(&ps, nb, &e) == 0, e);
    CHECK_INT(notebook_count(nb), 3);
    const cell *c = notebook_cell(nb, 1);
    CHECK(cell_has_tag(c, "injected-parameters"));
    CHECK_STR(
        c->source, "epochs = 2\nname = \"x = \\\"y\\\"\\n\"\nbase = \"spark:3\"\nfast = false");
    AUTO_JSON *values = params_values(&ps);
    AUTO_FREE char *json = json_to_str(values);
    CHECK_STR(json, "{\"epochs\":2,\"rate\":0.001,\"name\":\"x = "
                    "\\\"y\\\"\\n\",\"base\":\"spark:3\",\"fast\":false,\"big\":16}");
    CHECK_OK(params_inject(&ps, nb, &e) == 0, e); // again: replaced, not added
    CHECK_INT(notebook_count(nb), 3);
}

// Of a parameter without a type, base = nil.
static void check_untyped(const char *given, const char *source)
{
    err e = {0};
    AUTO_FREE char *assignment = str_fmt("base=%s", given);
    load();
    CHECK_OK(params_give(&ps, assignment, &e) == 0, e);
    CHECK_OK(params_inject(&ps, nb, &e) == 0, e);
    CHECK_STR(notebook_cell(nb, 1)->source, source);
}

TEST(a_parameter_that_is_nil_takes_numbers_and_booleans)
{
    check_untyped("0", "base = 0");
    check_untyped("-2.5", "base = -2.5");
    check_untyped("true", "base = true");
    check_untyped("nil", "base = nil");
    check_untyped("3.10", "base = \"3.10\"");
    check_untyped("007", "base = \"007\"");
    check_untyped("0x10", "base = \"0x10\"");
    check_untyped("10m", "base = \"10m\"");
    check_untyped("", "base = \"\"");
}

static int give_json(const char *name, const char *json, err *e)
{
    AUTO_JSON *value = json_parse(json, strlen(json), e);
    CHECK_OK(value, *e);
    return params_give_value(&ps, name, value, e);
}

static void check_value_refused(const char *name, const char *json, const char *words)
{
    err e = {0};
    CHECK_INT(give_json(name, json, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(e.text, words);
}

TEST(values_of_a_file_have_the_parameter_s_type)
{
    err e = {0};
    load();
    CHECK_OK(give_json("epochs", "-12345678901234567", &e) == 0, e);
    CHECK_OK(give_json("rate", "1e-5", &e) == 0, e);
    CHECK_OK(give_json("name", "\"5\"", &e) == 0, e);
    CHECK_OK(give_json("base", "\"b\"", &e) == 0, e);
    CHECK_OK(give_json("base", "null", &e) == 0, e);
    CHECK_OK(give_json("fast", "false", &e) == 0, e);
    CHECK_OK(params_inject(&ps, nb, &e) == 0, e);
    CHECK_STR(notebook_cell(nb, 1)->source, "epochs = -12345678901234567\nrate = 1e-05\nname = "
                                            "\"5\"\nbase = nil\nfast = false");
    check_value_refused("epochs", "\"s3cret\"", "epochs: it is a number, as 5, not a string");
    check_value_refused("epochs", "[1]", "epochs: it is a number, as 5, not a list");
    check_value_refused(
        "name", "5", "name: it is a string, as \"a\\\"b\", not a number; put the value in quotes");
    check_value_refused("fast", "null", "fast: it is a boolean, as true, not null");
    check_value_refused(
        "mine", "1", "mine: it is local, so no other cell would see it; leave out \"local\"");
}

static const char tables[] = "-- %% tags=[\"parameters\"]\n"
                             "sizes = {1, 2.5, -3} -- of layers\n"
                             "model = { -- what is trained\n"
                             "  units = 64, [\"learning rate\"] = 1e-3;\n"
                             "  names = {'a', \"}\"}, deep = {on = true},\n"
                             "} -- the model\n"
                             "none = {}\n"
                             "mixed = {1, a = 2}\n"
                             "hole = {nil, 2}\n"
                             "computed = {2 * 3}\n"
                             "called = {\n"
                             "  inner = 1\n"
                             "  , other = call('}'),\n"
                             "}\n"
                             "after = 7\n";

static void load_tables(void)
{
    err e = {0};
    params_done(&ps);
    notebook_free(nb);
    nb = notebook_parse(tables, strlen(tables), &e);
    CHECK_OK(nb, e);
    CHECK_OK(params_find(nb, &ps, &e) == 0, e);
}

TEST(lists_and_tables_are_parameters)
{
    load_tables();
    AUTO_JSON *values = params_values(&ps);
    AUTO_FREE char *json = json_to_str(values);
    CHECK_STR(json, "{\"sizes\":[1,2.5,-3],\"model\":{\"units\":64,\"learning rate\":0.001,"
                    "\"names\":[\"a\",\"}\"],\"deep\":{\"on\":true}},\"none\":[],\"after\":7}");
    CHECK_INT(ps.list[0].type, PARAM_LIST);
    CHECK_STR(ps.list[0].comment, "of layers");
    CHECK_INT(ps.list[1].type, PARAM_TABLE);
    CHECK_STR(ps.list[1].comment, "the model");
}

TEST(lists_and_tables_are_given_as_yaml)
{
    err e = {0};
    load_tables();
    CHECK_OK(params_give(&ps, "sizes=[8, 'x', {end: yes}]", &e) == 0, e);
    CHECK_OK(params_give(&ps, "model={\"units\": 12345678901234567, \"a b\": []}", &e) == 0, e);
    CHECK_OK(give_json("none", "{\"k\": \"v\\n\"}", &e) == 0, e);
    CHECK_OK(params_inject(&ps, nb, &e) == 0, e);
    CHECK_STR(notebook_cell(nb, 1)->source, "sizes = {8, \"x\", {[\"end\"] = true}}\n"
                                            "model = {units = 12345678901234567, [\"a b\"] = {}}\n"
                                            "none = {k = \"v\\n\"}");
    AUTO_JSON *given = params_given(&ps);
    AUTO_FREE char *spelled = param_text(json_get(given, "sizes"));
    CHECK_STR(spelled, "[8,\"x\",{\"end\":true}]"); // as -p has it, so that a resume gives it again
    check_refused("sizes=3", "it is a list, as {1, 2.5, -3}: write [1, 2]");
    check_refused("sizes={a: 1}", "it is a list, as {1, 2.5, -3}, not a mapping");
    check_refused("sizes=[1, null]", "a null in it has no place");
    check_refused("sizes=[1", "no YAML");
    check_refused("model=[1]", "not a list");
    check_refused("mixed=[1]", "or a table of these");
    check_value_refused("after", "{\"a\": 1}", "after: it is a number, as 7, not a table");
}

TEST(nothing_given_changes_nothing)
{
    err e = {0};
    load();
    CHECK_OK(params_inject(&ps, nb, &e) == 0, e);
    CHECK_INT(notebook_count(nb), 2);
}

static void check_cause(const char *source, const char *assignment, const char *words)
{
    err e = {0};
    struct params own;
    notebook *of = notebook_new();
    notebook_insert(of, 0, "tags=[\"parameters\"]", source);
    CHECK_OK(params_find(of, &own, &e) == 0, e);
    CHECK(params_give(&own, assignment, &e) < 0);
    CHECK_HAS(e.text, words);
    params_done(&own);
    notebook_free(of);
}

TEST(the_cause_is_named_why_there_is_no_parameter)
{
    check_cause("n = 10; m = 2", "n=3", "another statement stands in its line");
    check_cause("n = 10; m = 2", "m=3", "another statement stands in its line");
    check_cause("text = [[a\nb]] .. x", "text=z", "a text in long brackets");
    check_cause("list = {1, 2}", "list={4,5}", "a list is written [4, 5], not {4, 5}");
}

TEST(wrong_names_and_types_are_refused)
{
    load();
    check_refused("epoch=1", "no such parameter; there are epochs (number), rate (number)");
    check_refused("list=1", "-p list: its value is not a number");
    check_refused("mine=1", "-p mine: it is local");
    check_refused("two=1", "-p two: it shares its line");
    check_refused("epochs=many", "it is a number, as 5, not \"many\"");
    check_refused("epochs=1 or os.exit()", "it is a number");
    check_refused("fast=1", "true or false");
    check_refused("epochs", "NAME=VALUE");
    err e = {0};
    notebook *plain = notebook_parse("x = 1\n", 6, &e);
    struct params none;
    CHECK_OK(params_find(plain, &none, &e) == 0, e);
    CHECK_INT(params_give(&none, "x=1", &e), -1);
    CHECK_HAS(e.text, "(no cell is tagged \"parameters\")");
    params_done(&none);
    notebook_free(plain);
    static const char unquoted[] = "-- %% First\nx = 1\n\n-- %% Given tags=parameters\ny = 1\n";
    plain = notebook_parse(unquoted, sizeof unquoted - 1, &e);
    CHECK_OK(params_find(plain, &none, &e) == 0, e);
    CHECK_INT(params_give(&none, "y=2", &e), -1);
    CHECK_HAS(e.text, "line 4: the value of tags needs quotes");
    params_done(&none);
    notebook_free(plain);
}

static const char python_cell[] = "# %% tags=[\"parameters\"]\n"
                                  "n = 3  # how many\n"
                                  "rate: float = 1e-3\n"
                                  "name = 'it\\'s'\n"
                                  "deep = True; none = None\n"
                                  "sizes = [1, 2,  # two\n    (3, 4)]\n"
                                  "more = {'a': None, \"b\": [False]}\n"
                                  "text = \"\"\"\nx = 1\n\"\"\"\n"
                                  "y = n * 2\n"
                                  "if n:\n    z = 1\n";

static notebook *python_notebook(struct params *found)
{
    err e = {0};
    notebook *own = notebook_parse_as("x.py", python_cell, sizeof python_cell - 1, &e);
    CHECK_OK(own && params_find(own, found, &e) == 0, e);
    return own;
}

TEST(parameters_in_python)
{
    struct params found;
    notebook *own = python_notebook(&found);
    AUTO_JSON *values = params_values(&found);
    AUTO_FREE char *words = json_to_str(values);
    CHECK_STR(words,
        "{\"n\":3,\"rate\":0.001,\"name\":\"it's\",\"sizes\":[1,2,[3,4]],\"more\":{\"a\":null,"
        "\"b\":[false]},\"text\":\"\\nx = 1\\n\"}");
    CHECK_STR(found.list[0].comment, "how many");
    params_done(&found);
    notebook_free(own);
}

static void check_wrong(struct params *found, const char *assignment, const char *words)
{
    err e = {0};
    CHECK_INT(params_give(found, assignment, &e), -1);
    CHECK_HAS(e.text, words);
}

TEST(given_values_are_python_s)
{
    static const char *const given[] = {
        "n=0x10", "rate=2", "name=a \"b\"\n", "sizes=[1, true, null]", "more={k: false}", NULL};
    struct params found;
    notebook *own = python_notebook(&found);
    err e = {0};
    for (const char *const *one = given; *one; one++)
        CHECK_OK(params_give(&found, *one, &e) == 0, e);
    check_wrong(&found, "n=many", "it is a number");
    check_wrong(&found, "y=3", "its value is not a number, a string, True, False, None");
    check_wrong(&found, "unknown=3", "no such parameter");
    CHECK_OK(params_inject(&found, own, &e) == 0, e);
    CHECK_STR(notebook_cell(own, 1)->source,
        "# Parameters\nn = 0x10\nrate = 2\nname = \"a \\\"b\\\"\\n\"\nsizes = [1, True, None]\n"
        "more = {\"k\": False}");
    CHECK(cell_has_tag(notebook_cell(own, 1), "injected-parameters"));
    params_done(&found);
    notebook_free(own);
}

TEST(what_is_no_literal_of_python_is_no_parameter)
{
    static const char *const wrong[] = {"x = f(1)\n", "x = [1, y]\n", "x = (1)\n", "x = 1j\n",
        "x = 'a\n", "x = {1: 2}\n", "x = f'a'\n", "x == 1\n", " x = 1\n", "x = '\\x41'\n", "x = [",
        "x = {'a'", "x = 1 + 2\n"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct params found;
        err e = {0};
        AUTO_FREE char *words = str_fmt("# %%%% tags=[\"parameters\"]\n%s", wrong[i]);
        notebook *own = notebook_parse_as("x.py", words, strlen(words), &e);
        CHECK_OK(own && params_find(own, &found, &e) == 0, e);
        CHECK_INT(found.n, 0);
        params_done(&found);
        notebook_free(own);
    }
}

int main(void)
{
    int code = tap_run();
    params_done(&ps);
    notebook_free(nb);
    return code;
}
