// SPDX-License-Identifier: MIT
#include "tui/edit/indent.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

static bool ends_with_word(const char *s, size_t n, const char *word, size_t length)
{
    if (n < length || memcmp(s + n - length, word, length) != 0)
        return false;
    return n == length || !isalnum((unsigned char)word[0]) ||
           !(isalnum((unsigned char)s[n - length - 1]) || s[n - length - 1] == '_');
}

bool indent_opens(const char *words, const char *s, size_t n)
{
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    for (const char *w = words; *w; w += strspn(w, " ")) {
        size_t length = strcspn(w, " ");
        if (ends_with_word(s, n, w, length))
            return true;
        w += length;
    }
    if (!n || s[n - 1] != ')' || !strstr(words, "function"))
        return false;
    AUTO_FREE char *line = mem_strndup(s, n); // "function f(x)", "x = function()"
    const char *open = strstr(line, "function");
    return open && !strstr(open, "end");
}

static bool is_word_of(const char *words, const char *s, size_t n)
{
    for (const char *w = words; *w; w += strspn(w, " ")) {
        size_t length = strcspn(w, " ");
        if (length == n && memcmp(w, s, n) == 0)
            return true;
        w += length;
    }
    return false;
}

size_t indent_excess(const struct edit_language *l, const text *t, size_t line)
{
    size_t n, above_n, indent, step = (size_t)l->indent;
    const char *s = text_line(t, line, &n), *above = "";
    indent = strspn(s, " ");
    if (!is_word_of(l->closes, s + indent, n - indent))
        return 0;
    for (above_n = 0; line > 0 && strspn(above, " \t") >= above_n;)
        above = text_line(t, --line, &above_n);
    size_t want = strspn(above, " ");
    if (!indent_opens(l->opens, above, above_n))
        want = want > step ? want - step : 0;
    return indent > want ? indent - want : 0;
}
