// SPDX-License-Identifier: MIT
// Bash by shellcheck where it is installed, else its form alone by `bash -n`.
#include "base/str.h"
#include "script/api/language/language.h"

#include <stdio.h>
#include <string.h>

// "bash: line 3: syntax error near unexpected token `fi'"
static void take_bash(const struct language_text *t, const char *said, cJSON *found)
{
    int line = 0, n = 0;
    const char *at = strstr(said, "line ");
    if (!at || sscanf(at, "line %d: %n", &line, &n) != 1 || !n || line < 1)
        return;
    struct language_finding f = {{.line = (size_t)line - 1}, LANGUAGE_ERROR, "bash"};
    if (!*language_line(t->text, f.at.line) && f.at.line) // behind the end
        f.at.line--;
    const char *words = at + n;
    words += str_starts(words, "syntax error: ") ? strlen("syntax error: ") : 0;
    language_add(found, t, &f, "%.*s", (int)strcspn(words, "\n"), words);
}

// The comments of shellcheck -f json1; lines and columns count from 1.
static void take_shellcheck(const struct language_text *t, const cJSON *report, cJSON *found)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(report, "comments"))
    {
        int64_t line = json_int_or(one, "line", 1), from = json_int_or(one, "column", 1);
        int64_t to = json_int_or(one, "endColumn", from);
        bool same = json_int_or(one, "endLine", line) == line && to > from;
        bool is_error = str_eq(json_str(one, "level"), "error");
        struct language_finding f = {{.line = line > 0 ? (size_t)line - 1 : 0},
            is_error ? LANGUAGE_ERROR : LANGUAGE_WARNING, "shellcheck"};
        if (same) {
            f.at.from = language_bytes(t->text, f.at.line, (size_t)from - 1);
            f.at.to = language_bytes(t->text, f.at.line, (size_t)to - 1);
        }
        language_add(found, t, &f, "%s (SC%lld)", json_str_or(one, "message", ""),
            (long long)json_int_or(one, "code", 0));
    }
}

void language_bash(const struct language_text *t, const struct language_world *w, cJSON *found)
{
    static const char *const shellcheck[] = {
        "shellcheck", "-s", "bash", "-S", "warning", "-f", "json1", "-", NULL};
    static const char *const bash[] = {"bash", "--norc", "-n", NULL};
    AUTO_BUF out = {0}, said = {0};
    size_t n = strlen(t->text);
    int code = language_program(shellcheck, t->text, n, w, &out, &said);
    AUTO_JSON *report = code == 0 || code == 1 ? json_parse(buf_cstr(&out), out.len, NULL) : NULL;
    if (report) {
        take_shellcheck(t, report, found);
        return;
    }
    buf_clear(&out);
    buf_clear(&said);
    if (language_program(bash, t->text, n, w, &out, &said) > 0)
        take_bash(t, buf_cstr(&said), found);
}
