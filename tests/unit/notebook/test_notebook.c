// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/notebook/notebook.h"
#include "tests/support/tap.h"

#include <time.h>

static notebook *parse(const char *text)
{
    err e = {0};
    notebook *nb = notebook_parse(text, strlen(text), &e);
    CHECK_OK(nb, e);
    return nb;
}

static void check_text(const notebook *nb, const char *want)
{
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    CHECK_STR(buf_cstr(&text), want);
}

// An unreadable text must be reported with these words.
static void check_refused(const char *text, size_t n, const char *words)
{
    err e = {0};
    notebook *nb = notebook_parse(text, n, &e);
    CHECK(!nb);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_HAS(e.text, words);
}

static void check_fault(const char *text, const char *words)
{
    err e = {0};
    notebook *nb = parse(text);
    CHECK_INT(notebook_check(nb, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_HAS(e.text, words);
    notebook_free(nb);
}

static const char recipe[] = "-- ---\n"
                             "-- jupyter:\n"
                             "--   kernelspec: {name: firesteel}\n"
                             "-- ---\n"
                             "\n"
                             "-- %% [markdown]\n"
                             "-- # Title\n"
                             "--\n"
                             "-- text\n"
                             "\n"
                             "-- %% The trainer file=\"trainer.lua\" tags=[\"a\", \"b\"]\n"
                             "local x = 1\n"
                             "-- %env stays a comment\n"
                             "\n"
                             "\n"
                             "-- %% Versions id=\"v\" timeout=\"1m30s\" effects=\"cluster\"\n"
                             "-- %env A=b\n"
                             "print(2)\n"
                             "\n"
                             "-- %% m language=\"yaml\" template=\"app.yaml\"\n"
                             "-- a:\n"
                             "--   b: 1\n"
                             "--no space\n";

TEST(cells_and_their_options_are_read)
{
    notebook *nb = parse(recipe);
    CHECK_INT(notebook_count(nb), 4);
    const cell *c = notebook_cell(nb, 0);
    CHECK_INT(c->kind, CELL_MARKDOWN);
    CHECK_STR(c->source, "# Title\n\ntext");
    c = notebook_cell(nb, 1);
    CHECK_STR(c->title, "The trainer");
    CHECK_STR(c->options.file, "trainer.lua");
    CHECK(cell_has_tag(c, "b") && !cell_has_tag(c, "c"));
    CHECK_STR(c->source, "local x = 1\n-- %env stays a comment");
    CHECK_INT(c->line, 11);
    CHECK_INT(c->first_line, 12);
    c = notebook_cell(nb, 2);
    CHECK_STR(c->id, "v");
    CHECK(c->options.timeout_ns == INT64_C(90000000000));
    CHECK_STR(c->options.effects[0], "cluster");
    CHECK_STR(c->source, "%env A=b\nprint(2)");
    c = notebook_cell(nb, 3);
    CHECK_STR(c->options.language, "yaml");
    CHECK_STR(c->source, "a:\n  b: 1\nno space");
    notebook_free(nb);
}

TEST(what_is_not_edited_keeps_its_bytes)
{
    static const char *const texts[] = {recipe, "", "\n\n", "x = 1", "-- %%", "--%%\nx\n",
        "-- %% a\r\nx\r\n\r\n-- %% b\r\n", "\xef\xbb\xbf-- %% bom\nx\n",
        "  -- %% indented   \n  x\n\n\n\n\n-- %%%% deep\n", "-- %% t {\"file\": \"a\"}\nx\n",
        "-- %% bad =\"option\"\nx\n",
        "#!/usr/bin/lua\n-- coding: utf-8\n-- ---\n-- a: b\n-- ---\nx\n",
        "-- ---\n-- never closed\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        notebook *nb = parse(texts[i]);
        check_text(nb, texts[i]);
        notebook_free(nb);
    }
}

TEST(an_edited_cell_is_written_as_jupytext_writes)
{
    notebook *nb = parse("-- %% keep   id=\"x\"  tags=[\"a\",\"b\"]\nx = 1\n\n--%% other   "
                         "timeout='30s' id='y'\ny = 1\n");
    notebook_replace(nb, 1, "y = 2\n%env A=b\ns = [[\n%d\n]]");
    check_text(nb, "-- %% keep   id=\"x\"  tags=[\"a\",\"b\"]\nx = 1\n\n"
                   "-- %% other id=\"y\" timeout=\"30s\"\ny = 2\n-- %env A=b\ns = [[\n%d\n]]\n");
    notebook_set_marker(nb, 0, "renamed tags=[\"\u00e9\"]");
    check_text(nb, "-- %% renamed tags=[\"\\u00e9\"]\nx = 1\n\n"
                   "-- %% other id=\"y\" timeout=\"30s\"\ny = 2\n-- %env A=b\ns = [[\n%d\n]]\n");
    CHECK_STR(notebook_cell(nb, 0)->id, "x"); // it keeps its id, though the marker lost it
    notebook_free(nb);
}

TEST(edits_are_operations_on_a_list)
{
    notebook *nb = parse("-- %% a\na = 1\n\n-- %% b\nb = 1\n\n-- %% c\nc = 1\n");
    AUTO_FREE char *id = mem_strdup(notebook_cell(nb, 2)->id);
    notebook_move(nb, 2, 0);
    check_text(nb, "-- %% c\nc = 1\n\n-- %% a\na = 1\n\n-- %% b\nb = 1\n");
    CHECK_STR(notebook_cell(nb, 0)->id, id);
    notebook_insert(nb, 3, "[markdown]", "# end\n\nx");
    check_text(nb, "-- %% c\nc = 1\n\n-- %% a\na = 1\n\n-- %% b\nb = 1\n\n-- %% [markdown]\n-- # "
                   "end\n--\n-- x\n");
    notebook_delete(nb, 3);
    notebook_delete(nb, 2);
    check_text(nb, "-- %% c\nc = 1\n\n-- %% a\na = 1\n");
    notebook_split(nb, 0, 0);
    CHECK_INT(notebook_count(nb), 3);
    CHECK_STR(notebook_cell(nb, 0)->source, "");
    CHECK_STR(notebook_cell(nb, 1)->source, "c = 1");
    CHECK_STR(notebook_cell(nb, 0)->title, "c");
    CHECK(!notebook_cell(nb, 1)->title);
    while (notebook_count(nb))
        notebook_delete(nb, 0);
    check_text(nb, "");
    notebook_free(nb);
}

TEST(a_file_without_a_marker_is_one_cell)
{
    notebook *nb = parse("print(1)\nprint(2)");
    CHECK_INT(notebook_count(nb), 1);
    CHECK_STR(notebook_cell(nb, 0)->source, "print(1)\nprint(2)");
    notebook_insert(nb, 1, "", "print(3)");
    check_text(nb, "print(1)\nprint(2)\n\n-- %%\nprint(3)\n");
    notebook_move(nb, 0, 1);
    check_text(nb, "-- %%\nprint(3)\n\n-- %%\nprint(1)\nprint(2)\n");
    notebook_free(nb);
}

TEST(line_ends_of_windows_stay)
{
    notebook *nb = parse("-- %% a\r\nx = 1\r\ny = 2\r\n\r\n-- %% b\r\n");
    CHECK_STR(notebook_cell(nb, 0)->source, "x = 1\ny = 2");
    notebook_replace(nb, 0, "x = 3\nz = 4");
    check_text(nb, "-- %% a\r\nx = 3\r\nz = 4\r\n\r\n-- %% b\r\n");
    notebook_free(nb);
}

TEST(markers_in_a_fenced_block_are_text)
{
    notebook *nb = parse("-- %% [markdown]\n-- ```mermaid\n-- %% comment\n-- ```\n\n-- %%\nx\n");
    CHECK_INT(notebook_count(nb), 2);
    CHECK_STR(notebook_cell(nb, 0)->source, "```mermaid\n%% comment\n```");
    notebook_free(nb);
}

TEST(a_notebook_knows_the_text_it_was_read_from)
{
    notebook *nb = parse(recipe);
    size_t n = strlen(recipe);
    CHECK(notebook_was_read_from(nb, recipe, n));
    CHECK(!notebook_was_read_from(nb, recipe, n - 1));
    CHECK(!notebook_was_read_from(nb, "", 0));
    AUTO_FREE char *longer = str_fmt("%sx\n", recipe), *other = mem_strdup(recipe);
    CHECK(!notebook_was_read_from(nb, longer, strlen(longer)));
    other[n - 2] ^= 1;
    CHECK(!notebook_was_read_from(nb, other, n));
    notebook_replace(nb, 1, "x = 2");
    CHECK(!notebook_was_read_from(nb, recipe, n));
    notebook_free(nb);
}

// Text typed into the only cell is read back from the file unchanged, and the file is `want`.
static void check_typed(const char *marker, const char *typed, const char *want)
{
    err e = {0};
    notebook *nb = notebook_new();
    notebook_insert(nb, 0, marker, typed);
    notebook_insert(nb, 1, "", "last = 1");
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    CHECK_HAS(buf_cstr(&text), want);
    notebook *again = notebook_parse(text.data, text.len, &e);
    CHECK_OK(again, e);
    CHECK_INT(notebook_count(again), 2);
    CHECK_STR(notebook_cell(again, 0)->source, typed);
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    AUTO_BUF ipynb = {0};
    json_print(&ipynb, j);
    notebook *third = notebook_parse_ipynb(ipynb.data, ipynb.len, &e);
    CHECK_OK(third, e);
    CHECK_STR(notebook_cell(third, 0)->source, typed);
    notebook_free(nb);
    notebook_free(again);
    notebook_free(third);
}

TEST(a_marker_that_is_typed_into_a_cell_is_text)
{
    check_typed("", "a = 1\n-- %% T language=\"yaml\"\nb = 2", "\n-- -- %% T language=\"yaml\"\nb");
    check_typed("", "  --%%\n-- %%%% deep", "-- %%\n  -- --%%\n-- -- %%%% deep\n");
    check_typed("", "-- -- %% twice\n---- %% none", "\n-- -- -- %% twice\n---- %% none\n");
    check_typed("", "s = [[\n-- %%\n]]\n%env A=b", "[[\n-- -- %%\n]]\n-- %env A=b\n");
    check_typed("file=\"t.lua\"", "-- %% x", "\n-- -- %% x\n");
    check_typed("", "%%writefile a.m\n-- %% x", "\n-- %%writefile a.m\n-- -- %% x\n");
    check_typed("language=\"yaml\" file=\"a\"", "a\n  %% x\n-- %%", "-- --   %% x\n-- -- -- %%\n");
    check_typed("[markdown]", "%% a\n```\n%% in\n```\n%%",
        "-- -- %% a\n-- ```\n-- %% in\n-- ```\n-- -- %%");
}

TEST(an_ipynb_of_others_keeps_what_looks_like_a_marker)
{
    static const char text[] =
        "{\"cells\": [{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [\"%% a\\n\", "
        "\"-- %% b\"]}], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}";
    err e = {0};
    notebook *nb = notebook_parse_ipynb(text, sizeof text - 1, &e);
    CHECK_OK(nb, e);
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(j, "cells[0].source[0]"), "%% a\n");
    CHECK_STR(json_path_str(j, "cells[0].source[1]"), "-- %% b");
    notebook_replace(nb, 0, "%% c");
    AUTO_JSON *edited = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(edited, "cells[0].source[0]"), "-- %% c");
    notebook_free(nb);
}

// The cells of a file of another language: "kind source|kind source", as jupytext 1.19 reads them;
// and its bytes again.
static void check_script(const char *path, const char *text, const char *cells)
{
    err e = {0};
    AUTO_BUF got = {0}, again = {0};
    notebook *nb = notebook_parse_as(path, text, strlen(text), &e);
    CHECK_OK(nb, e);
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        buf_fmt(&got, "%s%s %s", i ? "|" : "", cell_kind_name(c->kind), c->source);
    }
    CHECK_STR(buf_cstr(&got), cells);
    CHECK_OK(notebook_print_as(nb, path, NULL, NULL, &again, &e) == 0, e);
    CHECK_STR(buf_cstr(&again), text);
    AUTO_BUF lua = {0}, kept = {0};
    notebook_print(nb, &lua); // what a kernel has of it
    notebook *inner = notebook_parse(buf_cstr(&lua), lua.len, &e);
    CHECK_OK(inner, e);
    for (size_t i = 0; i < notebook_count(inner); i++) {
        const cell *c = notebook_cell(inner, i);
        buf_fmt(&kept, "%s%s %s", i ? "|" : "", cell_kind_name(c->kind), c->source);
    }
    CHECK_STR(buf_cstr(&kept), cells);
    notebook_free(inner);
    notebook_free(nb);
}

TEST(files_of_other_languages_are_read_as_jupytext_reads_them)
{
    check_script("a.py", "# %%\nq = \"\"\"\n# %% no cell\n-- %% x\n\"\"\"\n\n# %%\nprint(q)\n",
        "code q = \"\"\"\n# %% no cell\n-- %% x\n\"\"\"|code print(q)");
    check_script("a.py", "# %% [markdown]\n# ```mermaid\n# %% way\n# ```\n\n# %%\nx = 1\n",
        "markdown ```mermaid\n%% way\n```|code x = 1");
    check_script("a.py",
        "# %% [markdown]\n\"\"\"\n# Head\n\ntext\n\"\"\"\n\n# %% [md]\nr'''$\\frac$'''\n",
        "markdown # Head\n\ntext|markdown $\\frac$");
    check_script("a.py",
        "# %%\n# # !rm -rf x\n# !ls\nif a:\n    # %pip install b\n# y = !date\n# c?\n# text\n",
        "code # !rm -rf x\n!ls\nif a:\n    %pip install b\ny = !date\nc?\n# text");
    check_script("a.py", "# In[1]:\n\n\nx = 1\n\n\n# In[ ]:\n\n\ny\n", "code \n\nx = 1|code \n\ny");
    check_script("a.py",
        "# %% language=\"bash\" mine=\"x\"\n# ls\n\n# %% active=\"ipynb\"\n# z\n\n# %% "
        "active=\"py\"\nw\n",
        "code ls|code z|raw w");
    check_script("a.py", "# %%\r\nx = 1\r\n\r\n# %%\r\ny\r\n", "code x = 1|code y");
    check_script("a.R", "# %% [markdown]\n# it's\n\n# %%\nx <- \"# %% y\"\n# %ls\n",
        "markdown it's|code x <- \"# %% y\"\n%ls");
    check_script("a.rs", "// %% [markdown]\n// text\n\n// %%\n// :dep x\nlet a = 1;\n",
        "markdown text|code :dep x\nlet a = 1;");
    check_script("a.jl", "x = 1\n", "code x = 1");
    err e = {0};
    CHECK(!notebook_parse_as("a.md", "x", 1, &e));
    CHECK_HAS(e.text, "a .md is not read; `jupytext --to ipynb`");
}

// What is written of the cells of an .ipynb, as jupytext 1.19 writes them; and they are back again.
static void check_written(
    const char *path, const char *language, const char *cells, const char *want)
{
    err e = {0};
    AUTO_FREE char *json =
        str_fmt("{\"cells\": [%s], \"metadata\": {\"language_info\": {\"name\": \"%s\"}}, "
                "\"nbformat\": 4, \"nbformat_minor\": 4}",
            cells, language);
    notebook *nb = notebook_parse_ipynb(json, strlen(json), &e);
    CHECK_OK(nb, e);
    AUTO_BUF text = {0};
    CHECK_OK(notebook_print_as(nb, path, NULL, NULL, &text, &e) == 0, e);
    const char *body = strstr(buf_cstr(&text), " %%");
    while (body > buf_cstr(&text) && body[-1] != '\n')
        body--;
    CHECK_STR(body, want);
    notebook *back = notebook_parse_as(path, buf_cstr(&text), text.len, &e);
    CHECK_OK(back, e);
    CHECK_INT(notebook_count(back), notebook_count(nb));
    AUTO_JSON *was = notebook_to_ipynb(nb, NULL, NULL), *is = notebook_to_ipynb(back, NULL, NULL);
    const cJSON *x = json_path(was, "cells[0]"), *y = json_path(is, "cells[0]");
    for (; x && y; x = x->next, y = y->next) {
        CHECK(json_equal(json_get(x, "source"), json_get(y, "source")));
        CHECK(json_equal(json_get(x, "metadata"), json_get(y, "metadata")));
    }
    notebook_free(back);
    notebook_free(nb);
}

#define SCRIPT_CODE(source)                                                                        \
    "{\"cell_type\": \"code\", \"metadata\": {}, \"outputs\": [], \"execution_count\": null, "     \
    "\"source\": [\"" source "\"]}"
#define SCRIPT_TEXT(metadata, source)                                                              \
    "{\"cell_type\": \"markdown\", \"metadata\": {" metadata "}, \"source\": [\"" source "\"]}"

TEST(files_of_other_languages_are_written_as_jupytext_writes_them)
{
    check_written("x.py", "python", SCRIPT_CODE("# !rm -rf build\\n\", \"!echo hi\\n\", \"x = 1"),
        "# %%\n# # !rm -rf build\n# !echo hi\nx = 1\n");
    check_written("x.py", "python", SCRIPT_CODE("if a:\\n\", \"    %pip b\\n\", \"    !date"),
        "# %%\nif a:\n    # %pip b\n    # !date\n");
    check_written("x.py", "python",
        SCRIPT_CODE("import os") ", " SCRIPT_CODE("def f():\\n\", \"    pass") ", " SCRIPT_CODE(
            "f()"),
        "# %%\nimport os\n\n\n# %%\ndef f():\n    pass\n\n\n# %%\nf()\n");
    check_written("x.py", "python",
        SCRIPT_CODE("q = '''\\n\", \"-- %% a\\n\", \"# %% b\\n\", \"'''"),
        "# %%\nq = '''\n-- %% a\n# %% b\n'''\n");
    check_written("x.py", "python",
        SCRIPT_CODE("# %% c") ", " SCRIPT_TEXT("", "%% d\\n\", \"In[1]:"),
        "# %%\n# # %% c\n\n# %% [markdown]\n# # %% d\n# # In[1]:\n");
    check_written("x.py", "python", SCRIPT_TEXT("\"cell_marker\": \"\\\"\\\"\\\"\"", "a"),
        "# %% [markdown]\n\"\"\"\na\n\"\"\"\n");
    check_written("x.R", "R", SCRIPT_CODE("%ls\\n\", \"x <- 1") ", " SCRIPT_TEXT("", "é"),
        "# %%\n# %ls\nx <- 1\n\n# %% [markdown]\n# é\n");
    check_written("x.js", "javascript", SCRIPT_CODE("1") ", " SCRIPT_TEXT("\"mine\": 1", "b"),
        "// %%\n1\n\n// %% [markdown] mine=1\n// b\n");
}

TEST(a_cell_that_is_edited_in_a_python_file_changes_alone)
{
    static const char text[] =
        "#%%   odd  tags = ['a']\nx = 1\n\n\n#%%\n!ls\n# %% [markdown]\n#no blank\n";
    err e = {0};
    AUTO_BUF out = {0};
    notebook *nb = notebook_parse_as("x.py", text, sizeof text - 1, &e);
    CHECK_OK(nb, e);
    notebook_replace(nb, 1, "!pwd");
    CHECK_OK(notebook_print_as(nb, "x.py", NULL, NULL, &out, &e) == 0, e);
    CHECK_STR(buf_cstr(&out),
        "#%%   odd  tags = ['a']\nx = 1\n\n\n# %%\n# !pwd\n# %% [markdown]\n#no blank\n");
    notebook_free(nb);
}

static notebook *parse_ipynb(const char *text)
{
    err e = {0};
    notebook *nb = notebook_parse_ipynb(text, strlen(text), &e);
    CHECK_OK(nb, e);
    return nb;
}

static void check_ipynb(const notebook *nb, const char *want)
{
    err e = {0};
    AUTO_BUF text = {0};
    CHECK_OK(notebook_print_as(nb, "x.ipynb", NULL, NULL, &text, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), want);
}

// Of another program: its indentation, order, members, escapes, and what is no JSON.
#define ODD_BEGIN "{\n   \"nbformat\" : 4, \"nbformat_minor\": 4, \"mine\": NaN,\n   \"cells\": [\n"
#define ODD_FIRST                                                                                  \
    "      {\"cell_type\": \"code\", \"source\": \"import os\", \"metadata\": {\"n\": 1.0, "       \
    "\"m\": "                                                                                      \
    "-Infinity},\n\"zest\": [1], \"execution_count\": 3, \"outputs\": [{\"output_type\": "         \
    "\"stream\", "                                                                                 \
    "\"name\": \"stdout\", \"text\": \"a\\u0000b\\ud800 \\u00e9\"}]}"
#define ODD_MIDDLE                                                                                 \
    ",\n      {\"cell_type\": \"soup\", \"level\": 2, \"source\": [\"x\"], \"metadata\": {}}"
#define ODD_LAST ",\n      {\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": \"end\"}"
#define ODD_END  "\n   ], \"metadata\": {\"a\": NaN}}"

TEST(an_ipynb_of_others_has_its_bytes_but_for_the_cell_that_changed)
{
    static const char text[] = ODD_BEGIN ODD_FIRST ODD_MIDDLE ODD_LAST ODD_END;
    notebook *nb = parse_ipynb(text);
    long count;
    const cJSON *outputs = notebook_outputs(nb, 0, &count);
    CHECK_STR(json_path_str(outputs, "[0].text"), "a\xef\xbf\xbd"
                                                  "b\xef\xbf\xbd \xc3\xa9");
    check_ipynb(nb, text);
    notebook_replace(nb, 2, "the end");
    check_ipynb(nb,
        ODD_BEGIN ODD_FIRST ODD_MIDDLE ",\n      {\n         \"cell_type\": \"markdown\",\n"
                                       "         \"metadata\": {},\n         \"source\": [\n       "
                                       "     \"the end\"\n         ]\n      }" ODD_END);
    notebook_delete(nb, 2);
    check_ipynb(nb, ODD_BEGIN ODD_FIRST ODD_MIDDLE ODD_END);
    notebook_replace(nb, 1, "y");
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(j, "cells[1].cell_type"), "soup");
    CHECK_INT(json_int_or(json_path(j, "cells[1]"), "level", 0), 2);
    CHECK_STR(json_path_str(j, "cells[1].source[0]"), "y");
    notebook_free(nb);
}

TEST(metadata_that_change_leave_the_cells_of_an_ipynb_alone)
{
    notebook *nb = parse_ipynb(ODD_BEGIN
        "      {\"cell_type\": \"code\", \"metadata\": {}, \"source\": "
        "\"f(1)\", \"outputs\": [], \"execution_count\": null}\n   ], \"metadata\": {}}\n");
    CHECK(notebook_is_undecided(nb));
    notebook_set_language(nb, "python");
    CHECK_STR(notebook_language(nb), "python");
    check_ipynb(nb,
        "{\n   \"nbformat\": 4,\n   \"nbformat_minor\": 4,\n   \"mine\": null,\n   \"cells\": [\n"
        "      {\"cell_type\": \"code\", \"metadata\": {}, \"source\": \"f(1)\", \"outputs\": [], "
        "\"execution_count\": null}\n   ],\n   \"metadata\": {\n      \"language_info\": {\n       "
        "  "
        "\"name\": \"python\"\n      }\n   }\n}\n");
    notebook_free(nb);
}

static void check_language(const char *source, const char *metadata, const char *want)
{
    AUTO_FREE char *text = str_fmt(
        "{\"cells\": [{\"cell_type\": \"code\", \"metadata\": {}, \"outputs\": [], "
        "\"execution_count\": null, \"source\": \"%s\"}], \"metadata\": %s, \"nbformat\": 4}",
        source, metadata);
    notebook *nb = parse_ipynb(text);
    const char *is = notebook_is_undecided(nb) ? "?" : notebook_language(nb);
    CHECK_STR(is ? is : "lua", want);
    notebook_free(nb);
}

TEST(an_ipynb_without_a_language_is_judged_by_its_content)
{
    check_language("import os", "{}", "python");
    check_language("x = 1\\n%matplotlib inline", "{}", "python");
    check_language("!pip install x", "{}", "python");
    check_language("#| export\\nx = 1", "{}", "python");
    check_language("print(3)", "{\"colab\": {}}", "python");
    check_language("for i in range(3):\\n    print(i)", "{}", "python");
    check_language("local x = 1", "{}", "lua");
    check_language("if x then\\n  y = 1\\nend", "{}", "lua");
    check_language("print(3)", "{}", "?");
    check_language("print(3)", "{\"jupytext\": {\"main_language\": \"lua\"}}", "lua");
    check_language("print(3)", "{\"language_info\": {\"name\": \"R\"}}", "R");
    check_language("library(dplyr)\\n# text\\nx <- 1", "{}", "?");
    check_language("", "{}", "lua");
    err e = {0};
    notebook *nb = parse_ipynb(
        "{\"cells\": [{\"cell_type\": \"code\", \"metadata\": {}, \"source\": \"f()\"}], "
        "\"nbformat\": 4}");
    CHECK(notebook_check(nb, &e) < 0);
    CHECK_HAS(e.text, "write \"language_info\": {\"name\": \"python\"}");
    notebook_free(nb);
}

TEST(an_old_ipynb_is_read_and_written_as_nbformat_4)
{
    notebook *nb =
        parse_ipynb("{\"metadata\": {\"name\": \"\"}, \"nbformat\": 3, \"nbformat_minor\": 0, "
                    "\"worksheets\": [{\"cells\": [{\"cell_type\": \"heading\", \"level\": 2, "
                    "\"source\": [\"A\\n\", \"B\"]}, "
                    "{\"cell_type\": \"code\", \"collapsed\": false, \"input\": \"1+1\", "
                    "\"language\": \"python\", \"prompt_number\": "
                    "4, \"outputs\": [{\"output_type\": \"pyout\", \"prompt_number\": 4, \"text\": "
                    "[\"2\"], \"png\": \"iVBO\"}, "
                    "{\"output_type\": \"stream\", \"stream\": \"stderr\", \"text\": \"w\"}, "
                    "{\"output_type\": \"pyerr\", "
                    "\"ename\": \"E\", \"evalue\": \"v\", \"traceback\": []}]}]}]}");
    CHECK(notebook_is_old(nb));
    CHECK_STR(notebook_language(nb), "python");
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_INT(json_int_or(j, "nbformat", 0), 4);
    CHECK_STR(json_path_str(j, "cells[0].cell_type"), "markdown");
    CHECK_STR(json_path_str(j, "cells[0].source[0]"), "## A B");
    CHECK_STR(json_path_str(j, "cells[1].source[0]"), "1+1");
    CHECK_INT(json_int_or(json_path(j, "cells[1]"), "execution_count", 0), 4);
    CHECK_STR(json_path_str(j, "cells[1].outputs[0].output_type"), "execute_result");
    CHECK_STR(
        json_path_str(json_get(json_path(j, "cells[1].outputs[0].data"), "text/plain"), "[0]"),
        "2");
    CHECK_STR(json_path_str(j, "cells[1].outputs[1].name"), "stderr");
    CHECK_STR(json_path_str(j, "cells[1].outputs[2].output_type"), "error");
    CHECK_STR(json_path_str(j, "metadata.language_info.name"), "python");
    notebook_free(nb);
}

#define PYTHON_CELL(source, id)                                                                    \
    "{\"cell_type\": \"code\", \"metadata\": {\"id\": \"" id "\"}, \"outputs\": [], "              \
    "\"execution_count\": null, \"source\": \"" source "\"}"

// Somebody's Python, with cells of other languages.
#define PYTHON(a, b, c)                                                                            \
    "{\"cells\": [" a ", " b ", " c                                                                \
    "], \"metadata\": {\"kernelspec\": {\"language\": \"python\"}}, "                              \
    "\"nbformat\": 4}"

TEST(an_ipynb_of_others_keeps_the_lines_that_name_a_language)
{
    static const char *const sources[] = {"%%lua\n,print(1)", "%%bash", "%%bash -e \n,ls"};
    static const char text[] = PYTHON(PYTHON_CELL("%%lua\\nprint(1)", "a"),
        PYTHON_CELL("%%bash", "b"), PYTHON_CELL("%%bash -e \\nls", "c"));
    err e = {0};
    notebook *file = notebook_parse_ipynb(text, sizeof text - 1, &e);
    CHECK_OK(file, e);
    notebook *nb = notebook_copy(file);
    notebook_adopt_file(nb, file);
    const notebook *both[] = {file, nb};
    for (size_t k = 0; k < ARRAY_LEN(both); k++) {
        AUTO_JSON *j = notebook_to_ipynb(both[k], NULL, NULL);
        for (int i = 0; i < 3; i++) {
            const cJSON *one = cJSON_GetArrayItem(json_get(j, "cells"), i), *line;
            AUTO_BUF got = {0};
            cJSON_ArrayForEach(line, json_get(one, "source"))
            {
                buf_fmt(&got, "%s%s", got.len ? "," : "", line->valuestring);
            }
            CHECK_STR(buf_cstr(&got), sources[i]);
        }
    }
    notebook_replace(nb, 0, "print(2)");
    AUTO_JSON *edited = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(edited, "cells[0].source[0]"), "print(2)");
    notebook_free(file);
    notebook_free(nb);
}

// Copies of a cell may have one id in Colab.
TEST(ids_of_an_ipynb_are_unique)
{
    static const char text[] =
        PYTHON(PYTHON_CELL("1", "x"), PYTHON_CELL("2", "x"), PYTHON_CELL("3", "cell-2"));
    err e = {0};
    notebook *nb = notebook_parse_ipynb(text, sizeof text - 1, &e);
    CHECK_OK(nb, e);
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(j, "cells[0].id"), "x");
    CHECK_STR(json_path_str(j, "cells[1].id"), "cell-2-2");
    CHECK_STR(json_path_str(j, "cells[2].id"), "cell-2"); // its own
    notebook_free(nb);
}

static void check_ids(const char *before, const char *after, const char *want)
{
    notebook *old = parse(before), *nb = parse(after);
    size_t n = notebook_count(old);
    const char *ids[] = {"a", "b", "c", "d"};
    err e = {0};
    CHECK_OK(notebook_set_ids(old, ids, n, &e) == 0, e);
    notebook_adopt_ids(nb, old);
    AUTO_BUF got = {0};
    for (size_t i = 0; i < notebook_count(nb); i++) {
        size_t at;
        const char *id = notebook_cell(nb, i)->id;
        buf_str(&got, notebook_find(old, id, &at) ? id : "?");
        CHECK(notebook_find(nb, id, &at) && at == i);
    }
    CHECK_STR(buf_cstr(&got), want);
    notebook_free(old);
    notebook_free(nb);
}

TEST(what_is_read_again_keeps_the_ids_of_the_same_cells)
{
    static const char four[] = "-- %%\na=1\n\n-- %% T\nb=1\n\n-- %%\nc=1\n\n-- %%\n";
    check_ids(four, four, "abcd");
    check_ids(four, "-- %%\nc=1\n\n-- %%\na=1\n\n-- %% T\nb=1\n\n-- %%\n", "cabd");
    check_ids(four, "-- %%\na=1\n\n-- %% T\nb=2\n\n-- %%\nc=1\n\n-- %%\n", "abcd");
    check_ids(four, "-- %%\na=1\n\n-- %% U\nb=1\n\n-- %%\nc=1\n\n-- %%\n", "abcd");
    check_ids(four, "-- %%\na=1\n\n-- %%\n\n-- %% T\nb=1\n\n-- %%\nc=1\n\n-- %%\n", "a?bcd");
    check_ids(four, "-- %%\nx=1\n\n-- %%\ny=1\n", "??");
    check_ids("-- %%\na=1\n", "-- %% X id=\"a\"\n\n-- %%\na=1\n", "a?");
}

TEST(ids_are_the_same_in_every_process_and_unique)
{
    notebook *a = parse("-- %%\nx\n\n-- %%\nx\n\n-- %%\ny\n"), *b = parse("-- %%\ny\n\n-- %%\nx\n");
    CHECK(!str_eq(notebook_cell(a, 0)->id, notebook_cell(a, 1)->id));
    CHECK_STR(notebook_cell(a, 0)->id, notebook_cell(b, 1)->id);
    CHECK_STR(notebook_cell(a, 2)->id, notebook_cell(b, 0)->id);
    notebook_free(a);
    notebook_free(b);
}

TEST(equal_cells_have_ids_of_their_own)
{
    enum { CELLS = 10000 };
    AUTO_BUF text = {0};
    for (int i = 0; i < CELLS; i++)
        buf_str(&text, "-- %%\nx\n\n");
    clock_t from = clock();
    notebook *nb = parse(buf_cstr(&text));
    size_t at;
    for (size_t i = 0; i < CELLS; i += 7)
        CHECK(notebook_find(nb, notebook_cell(nb, i)->id, &at) && at == i);
    // each looking through all before it took more than half a minute
    CHECK((double)(clock() - from) / CLOCKS_PER_SEC < 10);
    AUTO_FREE char *second = mem_strdup(notebook_cell(nb, 1)->id);
    notebook_delete(nb, 1);
    CHECK_STR(notebook_insert(nb, 5, "", "x")->id, second); // the first that is free
    notebook_free(nb);
}

TEST(what_is_no_notebook_is_said)
{
    check_refused("a\n\0b", 4, "line 2 has a NUL byte");
    check_refused("a\nb\xff", 4, "line 2 is not UTF-8 (byte 0xff)");
    err e = {0};
    CHECK(!notebook_load("/nonexistent/x.lua", &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK(!notebook_parse_ipynb("{\"cells\": 1}", 12, &e));
    CHECK_HAS(e.text, "no list of cells");
    CHECK(!notebook_parse_ipynb("{\"cells\": [], \"nbformat\": 5}", 28, &e));
    CHECK_HAS(e.text, "nbformat is 5; 2, 3 and 4 are read");
    CHECK(!notebook_parse_ipynb("{\"cells\": [", 11, &e));
    static const char bad[] =
        "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"code\", \"source\": 1}]}";
    CHECK(!notebook_parse_ipynb(bad, strlen(bad), &e));
    CHECK_HAS(e.text, "cell 1: source is neither");
}

TEST(a_variable_may_be_named_like_a_word_of_when)
{
    notebook *nb = parse("-- %% a\nallwaise = 1\n-- %% b when=\"allwaise\"\nx\n");
    err e = {0};
    CHECK_OK(notebook_check(nb, &e) == 0, e);
    notebook_free(nb);
}

TEST(faults_of_a_marker_have_a_line_and_a_remedy)
{
    check_fault(
        "x\n-- %% a tmeout=\"1s\"\n", "line 2: unknown option tmeout; did you mean timeout?");
    check_fault("-- %% a colour=\"red\"\n", "unknown option colour; there are file, template");
    check_fault("-- %% a timeout=10m\n", "the value of timeout needs quotes: timeout=\"10m\"");
    check_fault("-- %% a timeout=30\n", "timeout=\"30s\"");
    check_fault("-- %% a effects=\"clutser\"\n", "did you mean \"cluster\"?");
    check_fault("-- %% a language=\"yml\"\n", "did you mean \"yaml\"?");
    check_fault("-- %% a when=\"allways\"\nx\n", "option when: \"allways\" is neither \"always\" "
                                                 "nor \"failed\" nor a Lua expression; did you "
                                                 "mean \"always\"?");
    check_fault("-- %% a when=\"Failed\"\nx\n", "did you mean \"failed\"?");
    check_fault("-- %% a when=\"alwasys\"\nx\n", "did you mean \"always\"?");
    check_fault("-- %% a when=\"allwaise\"\nallwaises = 1\n", "did you mean \"always\"?");
    check_fault("-- %% a capture=\"2x\"\n", "no name of a Lua variable");
    check_fault("-- %% a file=\"x\" template=\"y\"\n", "either file= or template=");
    check_fault("-- %% a file=\"x\n", "does not end");
    check_fault("-- %% a tags=[\"x\"\n", "does not end");
    check_fault("-- %% a file=\"x\" file=\"y\"\n", "given twice");
    check_fault("-- %% [markdown] file=\"x\"\n", "for code cells");
    check_fault("-- %% id=\"x\"\n-- %% id=\"x\"\n", "line 2: the id \"x\" is that of cell 1 too");
    check_fault("-- %% a\n\n-- %foo\n", "line 3: unknown magic %foo");
    check_fault("-- %% y language=\"yaml\"\n-- a: b\n", "say file=");
}

TEST(an_ipynb_keeps_its_minor_version)
{
    static const char text[] =
        "{\"cells\": [{\"cell_type\": \"code\", \"execution_count\": null, \"metadata\": {}, "
        "\"outputs\": [], \"source\": [\"x = 1\"]}, {\"cell_type\": \"code\", "
        "\"execution_count\": 0, \"metadata\": {}, \"outputs\": [], \"source\": []}], "
        "\"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 2}";
    err e = {0};
    notebook *nb = notebook_parse_ipynb(text, sizeof text - 1, &e);
    CHECK_OK(nb, e);
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_INT(json_int_or(j, "nbformat_minor", 0), 2);
    CHECK(json_path(j, "cells[0]") && !json_path(j, "cells[0].id"));
    CHECK(cJSON_IsNull(json_path(j, "cells[0].execution_count")));
    CHECK_INT(json_int_or(json_path(j, "cells[1]"), "execution_count", -1), 0);
    notebook_free(nb);
}

static const char rich[] =
    "{\"cells\": [{\"cell_type\": \"code\", \"id\": \"a\", \"execution_count\": 7, \"metadata\": "
    "{\"mine\": 1}, \"outputs\": [{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": "
    "\"of a\"}], \"source\": \"a = 1\"}, {\"cell_type\": \"markdown\", \"id\": \"b\", "
    "\"metadata\": "
    "{}, \"attachments\": {\"x.png\": {}}, \"source\": \"%% b\"}], \"metadata\": {\"kernelspec\": "
    "{\"name\": \"lua\", \"language\": \"lua\"}, \"language_info\": {\"name\": \"lua\"}, "
    "\"widgets\": {\"w\": 1}}, \"nbformat\": 4, \"nbformat_minor\": 4}";

static notebook *rich_notebook(void)
{
    err e = {0};
    notebook *nb = notebook_parse_ipynb(rich, sizeof rich - 1, &e);
    CHECK_OK(nb, e);
    return nb;
}

static void check_same_ipynb(const notebook *nb, const notebook *want)
{
    AUTO_JSON *got = notebook_to_ipynb(nb, NULL, NULL);
    AUTO_JSON *expected = notebook_to_ipynb(want, NULL, NULL);
    CHECK_HAS(json_path_str(expected, "cells[0].outputs[0].text"), "of a");
    CHECK(cJSON_Compare(got, expected, true));
}

TEST(an_ipynb_that_went_through_text_gets_all_of_its_file_again)
{
    notebook *file = rich_notebook(), *nb = notebook_copy(file), *want = rich_notebook();
    notebook_adopt_file(nb, file);
    check_same_ipynb(nb, want);
    notebook_free(file);
    notebook_free(nb);
    notebook_free(want);
}

TEST(cells_of_an_ipynb_without_ids_keep_their_outputs_after_edits)
{
    notebook *first = rich_notebook(), *nb = notebook_copy(first);
    notebook_replace(nb, 0, "a = 2");
    notebook_insert(nb, 0, "new", "n = 0");
    notebook_free(first);
    first = rich_notebook(); // saved, and read again: other ids of other sources
    notebook_replace(first, 0, "a = 2");
    notebook_insert(first, 0, "new", "n = 0");
    AUTO_JSON *j = notebook_to_ipynb(first, NULL, NULL);
    AUTO_BUF text = {0};
    err e = {0};
    json_print(&text, j);
    notebook *file = notebook_parse_ipynb(buf_cstr(&text), text.len, &e);
    CHECK_OK(file, e);
    notebook_adopt_file(nb, file);
    long count;
    CHECK(notebook_outputs(nb, 1, &count) && count == 7);
    AUTO_JSON *got = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(got, "cells[1].outputs[0].text"), "of a");
    CHECK(json_path(got, "cells[2].attachments") && !json_path(got, "cells[0].outputs[0]"));
    notebook_free(first);
    notebook_free(file);
    notebook_free(nb);
}

TEST(a_deleted_cell_that_comes_back_has_what_it_had)
{
    notebook *nb = rich_notebook(), *want = rich_notebook();
    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *id = mem_strdup(notebook_cell(nb, i)->id);
        AUTO_FREE char *marker = mem_strdup(notebook_cell(nb, i)->marker);
        AUTO_FREE char *source = mem_strdup(notebook_cell(nb, i)->source);
        notebook_delete(nb, i);
        for (int k = 0; k < 49; k++) { // others, deleted since
            notebook_insert(nb, 0, "", "");
            notebook_delete(nb, 0);
        }
        notebook_insert_as(nb, i, id, marker, source);
    }
    check_same_ipynb(nb, want);
    notebook_free(nb);
    notebook_free(want);
}

TEST(code_cells_are_numbered_after_every_change)
{
    size_t total;
    notebook *nb = parse("-- %% a\n-- %% [markdown]\n-- %% b\n-- %% c\n");
    CHECK_INT(notebook_code_number(nb, 3, &total), 3);
    CHECK_INT(total, 3);
    CHECK_INT(notebook_code_number(nb, 1, NULL), 0);
    notebook_move(nb, 3, 0);
    CHECK_INT(notebook_code_number(nb, 1, NULL), 2);
    notebook_insert(nb, 4, "d", "");
    CHECK_INT(notebook_code_number(nb, 4, &total), 4);
    notebook_set_marker(nb, 0, "[markdown]");
    CHECK_INT(notebook_code_number(nb, 4, &total), 3);
    CHECK_INT(total, 3);
    notebook_delete(nb, 1);
    CHECK_INT(notebook_code_number(nb, 3, &total), 2);
    notebook_free(nb);
}

static void check_title(const notebook *nb, size_t i, const char *title)
{
    AUTO_FREE char *is = notebook_cell_title(nb, i);
    CHECK_STR(is, title);
}

TEST(no_text_has_the_name_of_code)
{
    notebook *nb =
        parse("-- %% [markdown]\n-- %%\n-- %% [markdown]\n-- %% Words [markdown]\n-- %%\n");
    check_title(nb, 0, "text before cell 1");
    check_title(nb, 1, "cell 1");
    check_title(nb, 2, "text after cell 1");
    check_title(nb, 3, "Words");
    check_title(nb, 4, "cell 2");
    notebook_free(nb);
}

TEST(a_titled_text_before_all_code_has_no_number)
{
    notebook *nb = parse("-- %% Words [markdown]\n-- %%\n");
    AUTO_BUF name = {0};
    notebook_cell_name(nb, 0, &name);
    CHECK_STR(buf_cstr(&name), "text before cell 1 (Words)");
    notebook_free(nb);
}

TEST(other_tools_options_are_kept)
{
    err e = {0};
    const char *text = "-- %% a slideshow={\"slide_type\": \"skip\"} jp-x=true name=\"n\"\nx\n";
    notebook *nb = parse(text);
    CHECK_OK(notebook_check(nb, &e) == 0, e);
    notebook_replace(nb, 0, "y");
    check_text(nb, "-- %% a jp-x=true name=\"n\" slideshow={\"slide_type\": \"skip\"}\ny\n");
    notebook_free(nb);
}

TEST(ipynb_opens_and_saves_without_loss)
{
    static const char text[] = "{\"cells\": [{\"cell_type\": \"code\", \"id\": \"one\", "
                               "\"execution_count\": 3, \"metadata\": {\"title\": \"T\", "
                               "\"mine\": 1}, \"source\": [\"%%bash\\n\", \"echo hi\"], "
                               "\"outputs\": [{\"output_type\": \"stream\", \"name\": "
                               "\"stdout\", \"text\": [\"hi\\n\"]}]}], \"metadata\": "
                               "{\"kernelspec\": {\"name\": \"firesteel\", \"language\": "
                               "\"lua\"}, \"other\": {}}, \"nbformat\": 4, \"nbformat_minor\": 5}";
    err e = {0};
    notebook *nb = notebook_parse_ipynb(text, strlen(text), &e);
    CHECK_OK(nb, e);
    CHECK_OK(notebook_check(nb, &e) == 0, e);
    const cell *c = notebook_cell(nb, 0);
    CHECK_STR(c->id, "one");
    CHECK_STR(c->options.language, "bash");
    CHECK_STR(c->marker, "T language=\"bash\""); // as in a script, not as JSON
    CHECK_STR(c->source, "echo hi");
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    CHECK_STR(json_path_str(j, "cells[0].source[0]"), "%%bash\n");
    CHECK_STR(json_path_str(j, "cells[0].outputs[0].text[0]"), "hi\n");
    CHECK_INT(json_int_or(json_path(j, "cells[0].metadata"), "mine", 0), 1);
    CHECK_INT(json_int_or(json_path(j, "cells[0]"), "execution_count", 0), 3);
    CHECK(json_path(j, "metadata.other"));
    AUTO_BUF lua = {0};
    notebook_print(nb, &lua);
    CHECK_HAS(lua.data, "-- %% T language=\"bash\"\n-- echo hi\n");
    CHECK_HAS(lua.data, "--     name: firesteel\n");
    notebook_free(nb);
}

TEST(files_are_told_apart_by_their_names)
{
    AUTO_FREE char *lua = path_join(tap_dir(), "a.lua"), *ipynb = path_join(tap_dir(), "a.ipynb");
    err e = {0};
    notebook *nb = parse(recipe);
    CHECK_OK(notebook_save(nb, lua, &e) == 0, e);
    CHECK_OK(notebook_save(nb, ipynb, &e) == 0, e);
    notebook_free(nb);
    notebook *again = notebook_load(ipynb, &e);
    CHECK_OK(again, e);
    CHECK_INT(notebook_count(again), 4);
    CHECK_STR(notebook_cell(again, 1)->source, "local x = 1\n-- %env stays a comment");
    notebook_free(again);
    CHECK_OK(path_write(ipynb, "[", 1, 0644, &e) == 0, e);
    CHECK(!notebook_load(ipynb, &e));
    CHECK_HAS(e.text, "a.ipynb is not a notebook");
}

TEST(a_cell_comes_back_with_its_id_and_a_copy_gets_another)
{
    const char *text = "-- %% A id=\"one\"\na = 1\n\n-- %% B\nb = 2\n";
    err e = {0};
    notebook *nb = notebook_parse(text, strlen(text), &e);
    AUTO_FREE char *second = mem_strdup(notebook_cell(nb, 1)->id);
    notebook_delete(nb, 1);
    CHECK_STR(notebook_insert_as(nb, 1, second, "B", "b = 2")->id, second);
    CHECK(strcmp(notebook_insert_as(nb, 2, second, "B", "b = 2")->id, second) != 0);
    const cell *copy = notebook_insert_as(nb, 3, NULL, "A id=\"one\"", "a = 1");
    CHECK(strcmp(copy->id, "one") != 0);
    CHECK_STR(copy->marker, "A");
    CHECK(notebook_check(nb, &e) == 0);
    notebook_free(nb);
}

int main(void)
{
    return tap_run();
}
