// SPDX-License-Identifier: MIT
// Notebooks as other programs write them: Jupyter of all ages, Colab, VS Code, Databricks, and what
// scripts put together. What is read is saved whole: cells, sources, outputs, attachments, counts;
// saved again it is the same; in the percent format it has the same cells.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/notebook.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *const formats[] = {"4", "4", "4", "4", "3", "2", "\"4\"", "4.0", "5", ""};
static const char *const minors[] = {"5", "4", "2", "0", "", "-1", "99", "\"x\"", "null"};
static const char *const notebook_metadata[] = {"{}",
    "{\"kernelspec\":{\"name\":\"python3\",\"language\":\"python\",\"display_name\":\"Python 3\"},"
    "\"language_info\":{\"name\":\"python\",\"file_extension\":\".py\"}}",
    "{\"kernelspec\":{\"name\":\"lua\",\"language\":\"lua\",\"display_name\":\"Lua\"}}",
    "{\"colab\":{\"provenance\":[],\"collapsed_sections\":[\"a\"]},\"accelerator\":\"GPU\"}",
    "{\"language_info\":{\"name\":\"R\"},\"kernelspec\":{\"name\":\"ir\"}}",
    "{\"application/vnd.databricks.v1+notebook\":{\"language\":\"python\",\"widgets\":{}}}",
    "{\"jupytext\":{\"text_representation\":{\"extension\":\".py\",\"format_name\":\"light\"},"
    "\"cell_metadata_filter\":\"-all\"}}",
    "{\"jupytext\":{\"notebook_metadata_filter\":\"-all\",\"cell_metadata_filter\":\"all\"}}",
    "{\"name\":\"old\",\"signature\":\"sha256:0\"}", "{\"widgets\":{\"state\":{}},\"toc\":null}",
    "[]", "null", ""};
static const char *const types[] = {"\"code\"", "\"code\"", "\"code\"", "\"markdown\"", "\"raw\"",
    "\"heading\"", "\"html\"", "7", ""};
static const char *const metadata[] = {"{}", "{\"tags\":[\"parameters\"]}",
    "{\"collapsed\":true,\"scrolled\":\"auto\",\"deletable\":false}",
    "{\"id\":\"QmX_1\",\"colab\":{\"base_uri\":\"https://x/\"},\"outputId\":\"3f\"}",
    "{\"vscode\":{\"languageId\":\"shellscript\"}}", "{\"title\":\"two\\nlines [md]\"}",
    "{\"lines_to_next_cell\":2}", "{\"lines_to_next_cell\":-7,\"name\":\"x\"}",
    "{\"language\":\"bash\",\"magic_args\":\"-e\"}", "{\"language\":\"R\"}",
    "{\"execution\":{\"iopub.status.busy\":\"2024-01-01T00:00:00Z\"},\"trusted\":true}",
    "{\"application/vnd.databricks.v1+cell\":{\"nuid\":\"1\",\"inputWidgets\":{}}}",
    "{\"ExecuteTime\":{\"start_time\":\"x\"},\"heading_collapsed\":true,\"level\":null}",
    "{\"slideshow\":{\"slide_type\":\"-\"},\"nbgrader\":{\"grade\":true,\"points\":1.5}}",
    "{\"file\":\"a.lua\"}", "{\"id\":\"same\",\"tags\":\"no list\"}", "{\"\":1,\"a b\":\"c=d\"}",
    "{\"format\":\"text/latex\"}", "[]", "null", ""};
static const char *const ids[] = {
    "", "\"a1\"", "\"same\"", "\"has a blank\"", "\"\"", "5", "null", "\"cell-1\"", "\"cell-2\""};
static const char *const counts[] = {"null", "1", "0", "-1", "2.5", "\"*\"", "", "12345678901"};
static const char *const outputs[] = {"[]",
    "[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":[\"a\\n\",\"b\"]}]",
    "[{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"\\u001b[31mred\\r\\n\"}]",
    "[{\"output_type\":\"execute_result\",\"execution_count\":1,\"metadata\":{},\"data\":"
    "{\"text/plain\":[\"1\"],\"text/html\":\"<b>1</b>\"}}]",
    "[{\"output_type\":\"display_data\",\"data\":{\"image/png\":\"iVBORw0KGgo=\\n\","
    "\"application/json\":{\"a\":[1,null]}},\"metadata\":{\"image/png\":{\"width\":1}}}]",
    "[{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}]",
    "[{\"output_type\":\"pyout\",\"prompt_number\":1,\"text\":\"1\"}]",
    "[{\"output_type\":\"pyerr\",\"traceback\":[]}]",
    "[{\"output_type\":\"update_display_data\",\"transient\":{\"display_id\":\"x\"},\"data\":{}}]",
    "[{}, 5, null, [], \"text\"]", "{}", "null", "\"none\"", ""};
static const char *const attachments[] = {
    "", "", "{\"a.png\":{\"image/png\":\"iVBORw0KGgo=\"}}", "{}", "null", "[]"};
static const char *const pieces[] = {"print(1)", "\n", "\n\n", "# %% Title",
    "-- %% Title [markdown]", "%%bash -e", "%%R -i x", "%%lua", "%matplotlib inline", "!ls",
    "?print", "---", "-- ---", "#", "\t", " ", "\r\n", "\"\"\"", "[[", "]]", "é",
    "\xf0\x9f\x90\xbb", "```", "%%", "-- +", "-- -", "# ---\n# jupyter:\n# ---",
    "x = 5 -- tags=[\"a\"]", "\\", "\x7f", "\xe2\x80\xa8"};
enum { CELLS = 5, PIECES = 7 };

static void put(cJSON *to, const char *key, cJSON *value)
{
    if (value)
        cJSON_AddItemToObject(to, key, value);
}

static cJSON *text_of(struct choices *c)
{
    AUTO_BUF text = {0};
    for (size_t n = choose(c, PIECES); n > 0; n--)
        buf_str(&text, CHOOSE(c, pieces));
    return cJSON_CreateString(buf_cstr(&text));
}

// As Jupyter has it, a text or a list; and what is neither.
static cJSON *source_of(struct choices *c)
{
    static const char *const odd[] = {"null", "5", "[5]", "{}", "[[]]", "[]", ""};
    size_t how = choose(c, 16);
    if (how == 0)
        return CHOOSE_JSON(c, odd);
    if (how < 8)
        return text_of(c);
    cJSON *list = cJSON_CreateArray();
    for (size_t n = choose(c, 4); n > 0; n--)
        cJSON_AddItemToArray(list, text_of(c));
    return list;
}

static cJSON *cell_of(struct choices *c)
{
    cJSON *j = cJSON_CreateObject();
    put(j, "cell_type", CHOOSE_JSON(c, types));
    const char *source = choose(c, 12) == 11 ? "input" : "source";
    put(j, source, source_of(c));
    put(j, "metadata", CHOOSE_JSON(c, metadata));
    put(j, "id", CHOOSE_JSON(c, ids));
    put(j, "outputs", CHOOSE_JSON(c, outputs));
    put(j, "execution_count", CHOOSE_JSON(c, counts));
    put(j, "attachments", CHOOSE_JSON(c, attachments));
    return j;
}

static cJSON *notebook_of(struct choices *c)
{
    cJSON *j = cJSON_CreateObject(), *cells = cJSON_CreateArray();
    put(j, "nbformat", CHOOSE_JSON(c, formats));
    put(j, "nbformat_minor", CHOOSE_JSON(c, minors));
    put(j, "metadata", CHOOSE_JSON(c, notebook_metadata));
    for (size_t n = choose(c, CELLS); n > 0; n--)
        cJSON_AddItemToArray(cells, cell_of(c));
    if (choose(c, 20) != 19) {
        put(j, "cells", cells);
        return j;
    }
    cJSON *sheets = cJSON_CreateArray(), *sheet = cJSON_CreateObject(); // nbformat 3
    put(sheet, "cells", cells);
    cJSON_AddItemToArray(sheets, sheet);
    put(j, "worksheets", sheets);
    return j;
}

static void joined(const cJSON *source, buf *out)
{
    const cJSON *part;
    if (cJSON_IsString(source))
        buf_str(out, source->valuestring);
    cJSON_ArrayForEach(part, source) buf_str(out, part->valuestring);
}

static void check_same(const cJSON *was, const cJSON *is, const char *key)
{
    if (!cJSON_Compare(json_get(was, key), json_get(is, key), true))
        abort();
}

static void check_cell(const cJSON *was, const cJSON *is)
{
    AUTO_BUF before = {0}, after = {0};
    joined(json_get(was, "source"), &before);
    joined(json_get(is, "source"), &after);
    if (!str_eq(buf_cstr(&before), buf_cstr(&after)))
        abort();
    check_same(was, is, "cell_type");
    if (cJSON_IsObject(json_get(was, "attachments")))
        check_same(was, is, "attachments");
    if (!str_eq(json_str(was, "cell_type"), "code"))
        return;
    if (cJSON_IsArray(json_get(was, "outputs")))
        check_same(was, is, "outputs");
    if (json_int_or(was, "execution_count", -1) >= 0)
        check_same(was, is, "execution_count");
}

static void check_ids(const cJSON *cells)
{
    const cJSON *a, *b;
    cJSON_ArrayForEach(a, cells) for (b = a->next; b;
                                      b = b->next) if (json_str(a, "id") &&
                                                       str_eq(json_str(a, "id"), json_str(b, "id")))
        abort();
}

static notebook *read_again(const cJSON *saved)
{
    err e = {0};
    AUTO_BUF text = {0};
    json_print(&text, saved);
    notebook *nb = notebook_parse_ipynb(buf_cstr(&text), text.len, &e);
    if (!nb)
        abort();
    return nb;
}

// Jupytext, too, takes a fence that is not closed in its cell to go on into the next ones.
static bool has_fence(const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (strstr(notebook_cell(nb, i)->source, "```"))
            return true;
    return false;
}

static void check_percent(const notebook *nb)
{
    err e = {0};
    AUTO_BUF text = {0}, twice = {0};
    notebook_print(nb, &text);
    notebook *again = notebook_parse(buf_cstr(&text), text.len, &e);
    if (!again || (notebook_count(again) != notebook_count(nb) && !has_fence(nb)))
        abort();
    notebook_print(again, &twice);
    if (!str_eq(buf_cstr(&text), buf_cstr(&twice)))
        abort();
    notebook_free(again);
}

static void check_saved(const cJSON *was, const notebook *nb)
{
    AUTO_JSON *saved = notebook_to_ipynb(nb, NULL, NULL);
    const cJSON *old = json_get(was, "cells"), *new = json_get(saved, "cells");
    if (cJSON_GetArraySize(old) != cJSON_GetArraySize(new))
        abort();
    check_ids(new);
    for (old = old->child, new = new->child; old; old = old->next, new = new->next)
        check_cell(old, new);
    notebook *again = read_again(saved);
    AUTO_JSON *twice = notebook_to_ipynb(again, NULL, NULL);
    if (!cJSON_Compare(saved, twice, true))
        abort();
    notebook_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    struct choices c = {data, data + n};
    AUTO_JSON *made = notebook_of(&c);
    AUTO_BUF text = {0};
    json_print(&text, made);
    notebook *nb = notebook_parse_ipynb(buf_cstr(&text), text.len, &e);
    if (!nb) {
        if (!*e.text)
            abort();
        return 0;
    }
    notebook_check(nb, &e);
    if (!notebook_is_old(nb)) // those are saved as nbformat 4
        check_saved(made, nb);
    check_percent(nb);
    notebook_free(nb);
    return 0;
}
