// SPDX-License-Identifier: MIT
#include "k8s/image/ignore.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// Go's filepath.Clean: no ".", no "//", ".." resolved; "." if nothing is left.
static char *clean(const char *path)
{
    AUTO_BUF out = {0};
    bool rooted = *path == '/';
    size_t ups = 0; // leading ".." in out, which stay
    char **parts = strv_split(path, '/');
    for (char **p = parts; *p; p++) {
        const char *slash = out.len ? strrchr(buf_cstr(&out), '/') : NULL;
        if (!**p || str_eq(*p, "."))
            continue;
        if (str_eq(*p, "..") && out.len > ups) {
            size_t cut = slash ? (size_t)(slash - out.data) : 0;
            out.len = cut > ups ? cut : ups;
            continue;
        }
        if (str_eq(*p, "..") && rooted)
            continue;
        buf_fmt(&out, "%s%s", out.len ? "/" : "", *p);
        if (str_eq(*p, ".."))
            ups = out.len;
    }
    strv_free(parts);
    const char *text = out.len ? buf_cstr(&out) : "";
    return str_fmt("%s%s", rooted ? "/" : *text ? "" : ".", text);
}

// The end of a class "[…]", where p is after "["; NULL: it has no end, or a range without one.
static const char *class_end(const char *p)
{
    bool first = true;
    p += *p == '^';
    for (; first || *p != ']'; first = false) {
        for (int ends = 0; ends < 2; ends++) {
            if (!*p || *p == '-' || *p == ']' || (*p == '\\' && !*++p))
                return NULL;
            p++;
            if (ends || *p != '-')
                break;
            p++;
        }
    }
    return p + 1;
}

// What filepath.Match takes for a pattern.
static bool is_pattern(const char *p)
{
    while (p && *p) {
        if (*p == '[')
            p = class_end(p + 1);
        else if (*p == '\\' && !p[1])
            return false;
        else
            p += 1 + (*p == '\\');
    }
    return p != NULL;
}

// Normalises a line: "!" and a clean relative name; new.
static char *normal(const char *line)
{
    bool back = *line == '!';
    AUTO_FREE char *rest = str_trim(line + back, strlen(line + back));
    AUTO_FREE char *name = *rest ? clean(rest) : mem_strdup("");
    return str_fmt("%s%s", back ? "!" : "", name + (name[0] == '/' && name[1]));
}

char **ignore_parse(const char *text, err *e)
{
    text += str_starts(text, "\xef\xbb\xbf") ? 3 : 0;
    char **lines = strv_split(text, '\n'), **patterns = mem_array(1, sizeof *patterns);
    int number = 0, status = 0;
    for (char **l = lines; *l && status == 0; l++) {
        AUTO_FREE char *line = str_trim(*l, strlen(*l));
        number++;
        if (**l == '#' || !*line)
            continue;
        AUTO_FREE char *pattern = normal(line);
        if (str_eq(pattern, "!") || !is_pattern(pattern + (*pattern == '!')))
            status = err_set(
                e, ERR_INVALID, "line %d: “%s” is no pattern", number, str_short(line, 100).text);
        else
            patterns = strv_add(patterns, pattern);
    }
    strv_free(lines);
    if (status == 0)
        return patterns;
    strv_free(patterns);
    return NULL;
}

// Is the character in the class at p, which is after "["? *after: after its "]".
static bool in_class(const char *p, char c, const char **after)
{
    bool negated = *p == '^', found = false;
    for (p += negated; *p && *p != ']'; p++) {
        p += *p == '\\' && p[1];
        char low = *p, high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') {
            p += 2;
            p += *p == '\\' && p[1];
            high = *p;
        }
        found = found ||
                ((unsigned char)low <= (unsigned char)c && (unsigned char)c <= (unsigned char)high);
    }
    *after = p + (*p == ']');
    return found != negated;
}

// How many bytes the character at s has.
static size_t width(const char *s)
{
    size_t n = utf8_len(s, strlen(s));
    return n ? n : 1;
}

// Skips a character of the text that the pattern's next part matches.
static bool match_one(const char **p, const char **s)
{
    const char *after;
    size_t n = width(*s);
    if (**p == '[') {
        if (!in_class(*p + 1, **s, &after))
            return false;
        *p = after;
    } else if (**p == '?') {
        if (**s == '/')
            return false;
        ++*p;
    } else {
        const char *literal = *p + (**p == '\\' && (*p)[1]);
        if (strncmp(literal, *s, n) != 0)
            return false;
        *p = literal + n;
    }
    *s += n;
    return true;
}

// "*" can extend within a name, "**" at the next folder: only the last of each may have to.
static bool match(const char *p, const char *s)
{
    const char *star = NULL, *star_at = NULL, *many = NULL, *many_at = NULL;
    while (*p || *s) {
        if (p[0] == '*' && p[1] == '*') {
            p += 2 + (p[2] == '/');
            if (!*p)
                return true;
            many = p;
            many_at = s;
            star = NULL;
        } else if (*p == '*') {
            star = ++p;
            star_at = s;
        } else if (*s && *p && match_one(&p, &s)) {
            continue;
        } else if (star && *star_at && *star_at != '/') {
            s = star_at += width(star_at);
            p = star;
        } else if (many && (many_at = strchr(many_at, '/'))) {
            s = ++many_at;
            p = many;
            star = NULL;
        } else
            return false;
    }
    return true;
}

// "**name" alone matches a suffix, whatever precedes it in the file's name.
static bool matches_whole(const char *pattern, const char *path)
{
    bool suffix = str_starts(pattern, "**") && !strpbrk(pattern + 2, "*?[]\\");
    if (!suffix)
        return match(pattern, path);
    pattern += 2;
    return str_ends(path, pattern) || (*pattern == '/' && str_eq(path, pattern + 1));
}

// Does the pattern match the path, or a folder above it?
static bool matches_above(const char *pattern, const char *path)
{
    if (matches_whole(pattern, path))
        return true;
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        AUTO_FREE char *folder = mem_strndup(path, (size_t)(slash - path));
        if (matches_whole(pattern, folder))
            return true;
    }
    return false;
}

bool ignore_matches(const char *const *patterns, const char *path)
{
    bool ignored = false;
    if (!patterns || !*patterns || !*path)
        return false;
    AUTO_FREE char *name = clean(path);
    for (; *patterns; patterns++) {
        bool back = **patterns == '!';
        if (back == ignored && matches_above(*patterns + back, name))
            ignored = !back;
    }
    return ignored;
}
