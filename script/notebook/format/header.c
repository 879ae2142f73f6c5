// SPDX-License-Identifier: MIT
// jupytext's header: commented YAML whose "jupyter" key is the .ipynb's metadata.
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool coding_line(const char *line, size_t n, const char *mark)
{
    static const char word[] = "coding";
    const char *end = line + n, *p = line;
    size_t mark_n = strlen(mark);
    if (n < mark_n || memcmp(line, mark, mark_n) != 0)
        return false;
    while ((p = memmem(p, (size_t)(end - p), word, sizeof word - 1))) {
        p += sizeof word - 1;
        if (p == end || (*p != ':' && *p != '='))
            continue;
        for (p++; p < end && (*p == ' ' || *p == '\t');)
            p++;
        if (p < end && (isalnum((unsigned char)*p) || strchr("-_.", *p)))
            return true;
    }
    return false;
}

// The line of the encoding with another comment mark; new.
static char *with_mark(const char *line, const char *mark)
{
    size_t own = strspn(line, "-#/;%");
    return str_fmt("%s%s", mark, line + own);
}

// Splits the header's YAML into jupytext's part and the rest.
static void split(const char *header, buf *jupyter, buf *front, cJSON *jupytext)
{
    bool inside = false, ours = false;
    for (const char *line = header; *line;) {
        size_t whole = strcspn(line, "\n"), n = whole;
        if (n > 0 && line[n - 1] == '\r')
            n--;
        const char *text = line;
        size_t mark = n >= 3 && !strncmp(line, "-- ", 3)  ? 3
                      : n >= 2 && !strncmp(line, "--", 2) ? 2
                                                          : 0;
        text += mark, n -= mark;
        if (!strncmp(line, "#!", 2)) {
            cJSON_AddItemToObject(jupytext, "executable", cJSON_CreateString(""));
            AUTO_FREE char *value = mem_strndup(line + 2, n - 2);
            json_set_str(jupytext, "executable", value);
        } else if (n >= 3 && !strncmp(text, "---", 3)) {
            inside = !inside;
        } else if (!inside && coding_line(line, n + mark, "--")) {
            AUTO_FREE char *value = mem_strndup(line, n + mark);
            json_set_str(jupytext, "encoding", value);
        } else if (inside) {
            if (n && !isspace((unsigned char)*text))
                ours = n >= 8 && !strncmp(text, "jupyter:", 8);
            buf *to = ours ? jupyter : front;
            buf_add(to, text, n);
            buf_char(to, '\n');
        }
        line += whole + (line[whole] != '\0');
    }
}

static void merge(cJSON *into, cJSON *from)
{
    while (from->child) {
        cJSON *item = cJSON_DetachItemViaPointer(from, from->child);
        AUTO_FREE char *key = mem_strdup(item->string);
        json_set(into, key, item);
    }
}

// Copies the members that `into` lacks, at any depth.
static void fill(cJSON *into, const cJSON *from)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, from)
    {
        cJSON *own = cJSON_GetObjectItemCaseSensitive(into, item->string);
        if (!own)
            json_set(into, item->string, cJSON_Duplicate(item, true));
        else if (cJSON_IsObject(own) && cJSON_IsObject(item))
            fill(own, item);
    }
}

cJSON *header_metadata(const notebook *nb, char **front)
{
    *front = NULL;
    if (nb->metadata)
        return cJSON_Duplicate(nb->metadata, true);
    AUTO_BUF jupyter = {0}, rest = {0};
    AUTO_JSON *extra = cJSON_CreateObject();
    split(nb->header ? nb->header : "", &jupyter, &rest, extra);
    if (rest.len)
        *front = str_fmt("---\n%s---", buf_cstr(&rest));
    AUTO_JSON *documents = yaml_parse_letters(buf_cstr(&jupyter), jupyter.len, NULL);
    cJSON *metadata = cJSON_IsObject(json_path(documents, "[0].jupyter"))
                          ? cJSON_Duplicate(json_path(documents, "[0].jupyter"), true)
                          : NULL;
    if (!metadata) {
        metadata = cJSON_CreateObject();
        cJSON *jupytext = json_object_at(metadata, "jupytext");
        json_set_str(jupytext, "main_language", "lua");
        json_set_str(jupytext, "notebook_metadata_filter", "-all");
    }
    if (extra->child)
        merge(json_object_at(metadata, "jupytext"), extra);
    fill(metadata, nb->unshown);
    const char *encoding = json_path_str(metadata, "jupytext.encoding");
    const char *language = nb->language ? nb->language : language_of_metadata(metadata);
    if (encoding && str_eq(language, "python")) { // jupytext writes the line as it stands here
        AUTO_FREE char *line = with_mark(encoding, "#");
        json_set_str(json_object_at(metadata, "jupytext"), "encoding", line);
    }
    return metadata;
}

// A scalar as PyYAML's safe_dump writes it.
static void print_scalar(const cJSON *j, buf *out)
{
    if (!cJSON_IsString(j)) {
        json_print(out, j);
        return;
    }
    const char *s = j->valuestring;
    static const char *const words[] = {
        "", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<"};
    char *end;
    strtod(s, &end);
    bool plain = *end != '\0' && !strchr("-?:,[]{}#&*!|>'\"%@` ", *s) && !strstr(s, ": ") &&
                 !strstr(s, " #") && !str_ends(s, ":") && !str_ends(s, " ");
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        plain = plain && strcasecmp(s, words[i]) != 0;
    bool odd = false;
    for (const char *p = s; *p; p++)
        odd = odd || (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f;
    if (odd) {
        json_print(out, j);
    } else if (plain) {
        buf_str(out, s);
    } else {
        buf_char(out, '\'');
        for (; *s; s++)
            buf_fmt(out, *s == '\'' ? "''" : "%c", *s);
        buf_char(out, '\'');
    }
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

static void print_yaml(const cJSON *j, int indent, buf *out)
{
    size_t n = (size_t)cJSON_GetArraySize(j), i = 0;
    AUTO_FREE const cJSON **items = mem_array(n, sizeof *items);
    for (const cJSON *item = j->child; item; item = item->next)
        items[i++] = item;
    if (cJSON_IsObject(j))
        qsort(items, n, sizeof *items, by_key);
    for (i = 0; i < n; i++) {
        const cJSON *item = items[i];
        buf_fmt(out, "-- %*s", indent, "");
        if (cJSON_IsObject(j))
            buf_fmt(out, "%s:", item->string);
        else
            buf_char(out, '-');
        if (!item->child) {
            buf_char(out, ' ');
            if (cJSON_IsArray(item) || cJSON_IsObject(item))
                buf_str(out, cJSON_IsArray(item) ? "[]" : "{}");
            else
                print_scalar(item, out);
            buf_char(out, '\n');
            continue;
        }
        buf_char(out, '\n');
        print_yaml(item, cJSON_IsArray(item) ? indent : indent + 2, out);
    }
}

// The part of the metadata that goes into the header, with the format stated anew.
static cJSON *shown_metadata(const cJSON *metadata)
{
    static const char *const shown[] = {
        "jupytext", "kernelspec", "kernel_info", "orphan", "tocdepth"};
    cJSON *out = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (json_get(metadata, shown[i]))
            json_set(out, shown[i], cJSON_Duplicate(json_get(metadata, shown[i]), true));
    cJSON *jupytext = json_object_at(out, "jupytext");
    cJSON_DeleteItemFromObjectCaseSensitive(jupytext, "executable");
    cJSON_DeleteItemFromObjectCaseSensitive(jupytext, "encoding");
    cJSON_DeleteItemFromObjectCaseSensitive(jupytext, "main_language");
    const char *language = language_of_metadata(metadata);
    if (!language_is_ours(language) && !json_path_str(metadata, "kernelspec.language"))
        json_set_str(jupytext, "main_language", language); // else the file would call it Lua
    cJSON *text = json_object_at(jupytext, "text_representation");
    json_set_str(text, "extension", ".lua");
    json_set_str(text, "format_name", "percent");
    json_set_str(text, "format_version", "1.3");
    json_set_str(text, "jupytext_version", "1.19.6");
    return out;
}

void header_print(const cJSON *metadata, const char *front, bool coded, buf *out)
{
    const char *executable = json_path_str(metadata, "jupytext.executable");
    const char *encoding = json_path_str(metadata, "jupytext.encoding");
    if (executable)
        buf_fmt(out, "#!%s\n", executable);
    AUTO_FREE char *coding = encoding ? with_mark(encoding, "--")
                             : coded  ? mem_strdup("-- -*- coding: utf-8 -*-")
                                      : NULL;
    if (coding)
        buf_fmt(out, "%s\n", coding);
    bool hidden = str_eq(json_path_str(metadata, "jupytext.notebook_metadata_filter"), "-all");
    if (!hidden || front)
        buf_str(out, "-- ---\n");
    for (const char *line = front ? strchr(front, '\n') + 1 : "";
         *line && !str_starts(line, "---");) {
        size_t n = strcspn(line, "\n");
        buf_str(out, n ? "-- " : "--");
        buf_add(out, line, n);
        buf_char(out, '\n');
        line += n + (line[n] != '\0');
    }
    if (!hidden) {
        AUTO_JSON *shown = shown_metadata(metadata);
        buf_str(out, "-- jupyter:\n");
        print_yaml(shown, 2, out);
    }
    if (!hidden || front)
        buf_str(out, "-- ---\n\n");
}

bool jupyter_language(const char *name)
{
    static const char *const names[] = {"R", "bash", "sh", "python", "python2", "python3",
        "coconut", "javascript", "js", "perl", "html", "latex", "markdown", "pypy", "ruby",
        "script", "svg", "matlab", "octave", "idl", "robotframework", "sas", "spark", "sql",
        "cython", "haskell", "tcl", "gnuplot", "wolfram language", "julia", "c++", "scheme",
        "clojure", "powershell", "q", "logtalk", "jenner", "typescript", "scala", "rust", "csharp",
        "fsharp", "sos", "java", "groovy", "sage", "ocaml", "maxima", "stata", "xonsh", "lua", "go",
        "c#", "f#", "cs", "fs"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(name, names[i]))
            return true;
    return false;
}
