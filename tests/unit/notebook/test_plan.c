// SPDX-License-Identifier: MIT
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static notebook *nb; // of the running case

static struct plan plan(const char *marker, const char *source)
{
    struct plan p;
    err e = {0};
    notebook_free(nb);
    nb = notebook_new();
    const cell *c = notebook_insert(nb, 0, marker, source);
    CHECK_OK(plan_cell(nb, c, &p, &e) == 0, e);
    return p;
}

static void check_lua(const char *source, const char *want)
{
    struct plan p = plan("", source);
    CHECK_INT(p.kind, PLAN_LUA);
    CHECK_STR(p.text, want);
    plan_done(&p);
}

static void check_fault(const char *marker, const char *source, int line, const char *words)
{
    struct plan p;
    err e = {0};
    notebook_free(nb);
    nb = notebook_new();
    CHECK_INT(plan_cell(nb, notebook_insert(nb, 0, marker, source), &p, &e), -1);
    CHECK_INT(p.line, line);
    CHECK_HAS(e.text, words);
}

TEST(lua_stays_as_it_is)
{
    check_lua("x = 1\nprint(x % 2)\n", "x = 1\nprint(x % 2)\n");
    check_lua("", "");
    check_lua("s = [[\n%d\n!wow\n]]\n--[==[\n%x\n]]\n]==]\nt = \"a\\\n!b\"",
        "s = [[\n%d\n!wow\n]]\n--[==[\n%x\n]]\n]==]\nt = \"a\\\n!b\"\n");
    check_lua("a = b ~= c -- it's [[ open\nx = ']' .. '--[['\n!ls",
        "a = b ~= c -- it's [[ open\nx = ']' .. '--[['\nfiresteel.magic.system(\"ls\");\n");
}

TEST(magic_lines_become_lua_on_the_same_line)
{
    check_lua("%env A=b c", "firesteel.magic.env(\"A\", \"b c\");\n");
    check_lua("%env A b", "firesteel.magic.env(\"A\", \"b\");\n");
    check_lua("%env A=", "firesteel.magic.env(\"A\", \"\");\n");
    check_lua("%env A", "firesteel.magic.env(\"A\");\n");
    check_lua("x = 1\n%env", "x = 1\nfiresteel.magic.env();\n");
    check_lua("  !ls -l \"a\"", "  firesteel.magic.system(\"ls -l \\\"a\\\"\");\n");
    check_lua("local x, y = !ls", "local x, y = firesteel.magic.getoutput(\"ls\");\n");
    check_lua("t.a[1] = %env HOME", "t.a[1] = firesteel.magic.env(\"HOME\");\n");
    check_lua("!a \\\n  b\nx = 1", "firesteel.magic.system(\"a   b\");\n\nx = 1\n");
    check_lua("if x ~= 1 then y = 2 end", "if x ~= 1 then y = 2 end\n");
    check_lua("k8s.create?", "help \"k8s.create\";\n");
    check_lua(" ?model:fit ", "help \"model:fit\";\n");
    check_lua("sh??\nx = 1", "help \"sh\";\nx = 1\n");
    check_lua("x = y?", "x = y?\n");
    check_lua("?", "?\n");
    check_lua("[[\nis it?\n]]", "[[\nis it?\n]]\n");
    check_lua("[[\nwhat?\n]]", "[[\nwhat?\n]]\n");
}

TEST(variables_and_expressions_are_filled_in)
{
    check_lua("!echo $NAME/x",
        "firesteel.magic.system(\"echo \" .. firesteel.magic.var(\"NAME\", NAME) .. \"/x\");\n");
    check_lua("!echo {t.a[1] .. f(2, 'x')}",
        "firesteel.magic.system(\"echo \" .. tostring(t.a[1] .. f(2, 'x')));\n");
    check_lua("!echo {-x + #t * (1 - y)} {not a and b or c:d()}",
        "firesteel.magic.system(\"echo \" .. tostring(-x + #t * (1 - y)) .. \" \" .. tostring(not "
        "a and b or c:d()));\n");
    check_lua("!echo $$HOME {{x}} ${HOME} $1 $end",
        "firesteel.magic.system(\"echo $HOME {x} ${HOME} $1 $end\");\n");
    // the shell's and awk's own braces
    check_lua("!awk '{print $1}' {a,b} {1..3} {} { x",
        "firesteel.magic.system(\"awk '{print $1}' {a,b} {1..3} {} { x\");\n");
    check_lua("!f {x; y} {a b} {f(} {)} {local}",
        "firesteel.magic.system(\"f {x; y} {a b} {f(} {)} {local}\");\n");
}

TEST(cells_that_write_files)
{
    struct plan p = plan("file=\"a.lua\"", "x = 1\n!not a magic here");
    CHECK_INT(p.kind, PLAN_FILE);
    CHECK_STR(p.path, "a.lua");
    CHECK_STR(p.text, "x = 1\n!not a magic here\n");
    CHECK(!p.path_lua && !p.append);
    plan_done(&p);
    p = plan("template=\"a.yaml\" language=\"yaml\"", "a: ${b}");
    CHECK_INT(p.kind, PLAN_TEMPLATE);
    CHECK_STR(p.text, "a: ${b}\n");
    CHECK_STR(p.language, "yaml");
    plan_done(&p);
    p = plan("", "%%writefile -a $DIR/x.txt\nhi\n%env stays");
    CHECK_INT(p.kind, PLAN_FILE);
    CHECK(p.append);
    CHECK_STR(p.path, "$DIR/x.txt");
    CHECK_STR(p.path_lua, "firesteel.magic.var(\"DIR\", DIR) .. \"/x.txt\"");
    CHECK_STR(p.text, "hi\n%env stays\n");
    CHECK_INT(p.skipped, 1);
    plan_done(&p);
}

TEST(bash_and_capture)
{
    struct plan p = plan("language=\"bash\"", "echo hi");
    CHECK_INT(p.kind, PLAN_BASH);
    CHECK_STR(p.text, "echo hi\n");
    plan_done(&p);
    p = plan("", "%%bash -eu\necho hi\n");
    CHECK_INT(p.kind, PLAN_BASH);
    CHECK_STR(p.text, "set -eu; echo hi\n");
    plan_done(&p);
    p = plan("", "%%capture --no-stderr out\n%%bash\necho hi");
    CHECK_INT(p.kind, PLAN_BASH);
    CHECK_STR(p.capture, "out");
    CHECK_INT(p.skipped, 2);
    plan_done(&p);
    p = plan("capture=\"v\"", "print(1)");
    CHECK_STR(p.capture, "v");
    plan_done(&p);
    p = plan("", "%%capture\nprint(1)");
    CHECK_STR(p.capture, "");
    plan_done(&p);
    p = plan("[markdown]", "!text %%bash");
    CHECK_INT(p.kind, PLAN_NOTHING);
    plan_done(&p);
}

TEST(common_magics_of_ipython)
{
    struct plan p = plan("", "%%time\nx = 1\nx + 1");
    CHECK_INT(p.kind, PLAN_LUA);
    CHECK_INT(p.skipped, 0);
    CHECK_STR(p.text, "local timed <close> = firesteel.magic.time();\nx = 1\nx + 1\n");
    plan_done(&p);
    check_lua("%time f()", "do local timed <close> = firesteel.magic.time(); f() end;\n");
    check_lua("%pip install x", "firesteel.magic.system(\"python3 -m pip install x\");\n");
    check_fault("", "%cd /tmp", 1, "there is no %cd: cells run in the folder of the notebook");
    check_fault("", "x = 1\n%timeit f()", 2, "write %time before the statement");
    check_fault("", "%%time\n%%bash\nls", 1, "%%time is for cells in Lua");
}

TEST(what_is_not_known_is_said_with_its_line)
{
    check_fault("", "x = 1\n%evn A=b", 2, "unknown magic %evn; did you mean %env?");
    check_fault("", "%%javascript\nx", 1, "there is no %%javascript: nothing runs it here");
    check_fault("", "%%bassh\nx", 1, "did you mean %%bash?");
    check_fault("", "x = 1\n%%bash", 2, "unknown magic %%bash");
    check_fault("", "%%writefile\nx", 1, "needs the name of a file");
    check_fault("", "%%bash --out x\ny", 1, "switches of `set` only");
    check_fault("", "\n!!ls", 2, "x = !command");
    check_fault("tiemout=\"1s\"", "x", 0, "did you mean timeout?");
}

static void check_kernel(const char *marker, const char *source, const char *language,
    const char *kernel, const char *text)
{
    struct plan p = plan(marker, source);
    CHECK_INT(p.kind, PLAN_KERNEL);
    CHECK_STR(p.language, language);
    CHECK(kernel ? p.kernel && strcmp(p.kernel, kernel) == 0 : !p.kernel);
    CHECK_STR(p.text, text);
    CHECK(!p.wish);
    plan_done(&p);
}

TEST(another_language_goes_to_a_kernel)
{
    check_kernel("language=\"python\"", "%env A=b\n!ls", "python", NULL, "%env A=b\n!ls\n");
    check_kernel("language=\"R\"", "x <- 1", "R", NULL, "x <- 1\n");
    check_kernel("language=\"bash\" kernel=\"bash\"", "x=1", "bash", "bash", "x=1\n");
    check_kernel("", "%%python\nx = 1", "python", NULL, "x = 1\n");
    struct plan p = plan("language=\"bash\"", "x=1");
    CHECK_INT(p.kind, PLAN_BASH);
    plan_done(&p);
    p = plan("file=\"a.py\" language=\"python\"", "x = 1");
    CHECK_INT(p.kind, PLAN_FILE);
    plan_done(&p);
    check_fault("language=\"yaml\"", "a: 1", 0, "a cell in yaml does nothing by itself");
    check_fault("kernel=\"python3\"", "x = 1", 0, "needs language=");
}

// What a cell of somebody's notebook in Python is run as.
static void check_guest(size_t i, const char *text)
{
    struct plan p;
    err e = {0};
    CHECK_OK(plan_cell(nb, notebook_cell(nb, i), &p, &e) == 0, e);
    CHECK_INT(p.kind, PLAN_KERNEL);
    CHECK_STR(p.kernel, "python3");
    CHECK_STR(p.text, text);
    CHECK(p.wish);
    plan_done(&p);
}

TEST(cells_of_a_notebook_in_python_are_sent_as_jupyter_does)
{
    static const char text[] = "{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": "
                               "{\"kernelspec\": {\"name\": \"python3\","
                               " \"language\": \"python\"}}, \"cells\": ["
                               "{\"cell_type\": \"code\", \"id\": \"a\", \"metadata\": {}, "
                               "\"source\": \"%env A=b\\nx = 1\"},"
                               "{\"cell_type\": \"code\", \"id\": \"b\", \"metadata\": {}, "
                               "\"source\": \"%%bash -e\\nls\"},"
                               "{\"cell_type\": \"code\", \"id\": \"c\", \"metadata\": {}, "
                               "\"source\": \"%%time\\ny = 2\"}]}";
    err e = {0};
    notebook_free(nb);
    nb = notebook_parse_ipynb(text, sizeof text - 1, &e);
    CHECK_OK(nb != NULL, e);
    check_guest(0, "%env A=b\nx = 1\n");
    check_guest(1, "%%bash -e\nls\n");
    check_guest(2, "%%time\ny = 2\n");
}

int main(void)
{
    int code = tap_run();
    notebook_free(nb);
    return code;
}
