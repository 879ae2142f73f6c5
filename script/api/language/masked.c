// SPDX-License-Identifier: MIT
// Texts with insertions of templates, so that their form can be checked before values are known.
#include "base/mem.h"
#include "script/api/language/language.h"

#include <string.h>

// U+E000, which nobody types: three bytes, as few as an insertion has.
#define MARK "\xee\x80\x80"

bool language_is_masked(const char *text)
{
    return strstr(text, MARK) != NULL;
}

// The length of the insertion at p; 0: there is none.
static size_t insertion(const char *p, bool fills)
{
    size_t n = 2;
    int depth = 1;
    if (p[0] == '{' && p[1] == '{') {
        const char *end = strstr(p, "}}");
        return end ? (size_t)(end - p) + 2 : 0;
    }
    if (!fills || p[0] != '$' || p[1] != '{')
        return 0;
    for (; p[n] && depth; n++)
        depth += (p[n] == '{') - (p[n] == '}');
    return depth ? 0 : n;
}

static void fill(char *p, size_t n, const char *mark)
{
    size_t length = strlen(mark);
    for (size_t i = 0; i < n; i++)
        if (p[i] != '\n')
            p[i] = i < length ? mark[i] : 'x';
}

// Is [from, to) all that its lines have?
static bool is_alone(const char *text, const char *from, const char *to)
{
    while (from > text && (from[-1] == ' ' || from[-1] == '\t'))
        from--;
    to += strspn(to, " \t\r");
    return (from == text || from[-1] == '\n') && (!*to || *to == '\n');
}

static void comment_out(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != '\n')
            p[i] = i == 0 || p[i - 1] == '\n' ? '#' : 'x';
}

char *language_masked(const char *text, bool fills, bool *partial)
{
    char *masked = mem_strdup(text);
    *partial = false;
    for (const char *p = text; *p;) {
        if (fills && strncmp(p, "$${", 3) == 0) {
            p += 3;
            continue;
        }
        size_t n = insertion(p, fills);
        bool alone = n && is_alone(text, p, p + n);
        if (alone)
            comment_out(masked + (p - text), n);
        else if (n)
            fill(masked + (p - text), n, MARK);
        *partial = *partial || alone;
        p += n ? n : 1;
    }
    return masked;
}

const char *language_line(const char *text, size_t line)
{
    for (; line > 0 && *text; line--) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

size_t language_bytes(const char *text, size_t line, size_t characters)
{
    text = language_line(text, line);
    size_t n = 0;
    for (; characters > 0 && text[n] && text[n] != '\n'; characters--)
        do
            n++;
        while (((unsigned char)text[n] & 0xc0) == 0x80);
    return n;
}
