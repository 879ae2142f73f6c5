// SPDX-License-Identifier: MIT
#include "script/api/spark/lines.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/text/cause.h"

#include <string.h>

enum { LINE_MAX = 64 << 10 }; // a longer one is handed over in pieces

// "26/11/22 08:00:00 LEVEL ": does a record of Spark's log begin here?
static bool begins_record(const char *line, size_t n)
{
    static const char form[] = "00/00/00 00:00:00 ";
    if (n <= sizeof form)
        return false;
    for (size_t i = 0; i < sizeof form - 1; i++) {
        bool digit = line[i] >= '0' && line[i] <= '9';
        if (form[i] == '0' ? !digit : line[i] != form[i])
            return false;
    }
    return true;
}

// Does a further line of a record begin so? Frames begin with a tab. Where the program's own lines
// come on another stream also plans ("+- *(1) Project", ":- Scan", " MapPartitionsRDD[22] at …")
// and lists of blocks ("[rdd_22_0]") do.
static bool goes_on(const struct spark_lines *s, const char *text, size_t n)
{
    static const char *const begins[] = {" ", "+- ", ":- ", ":  ", "[rdd_"};
    if (n > 0 && *text == '\t')
        return true;
    for (size_t i = 0; s->apart && i < ARRAY_LEN(begins); i++)
        if (n >= strlen(begins[i]) && memcmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static void hand_over_blanks(struct spark_lines *s, bool folded, spark_line_fn *fn, void *arg)
{
    struct spark_line line = {.text = "\n", .n = 1, .folded = folded, .spark_s = folded};
    for (; s->blanks; s->blanks--)
        fn(arg, &line);
}

static void hand_over(struct spark_lines *s, size_t n, spark_line_fn *fn, void *arg)
{
    const char *text = s->rest.data;
    struct spark_line line = {.text = text, .n = n};
    bool noise = spark_is_noise(text, n), begins = begins_record(text, n);
    if (s->informs && n == 1 && *text == '\n') {
        s->blanks++;
        buf_consume(&s->rest, n);
        return;
    }
    line.folded = noise || (!begins && s->informs && goes_on(s, text, n));
    line.spark_s = line.folded || begins;
    hand_over_blanks(s, line.folded && !begins, fn, arg);
    s->informs = line.folded && (begins || s->informs);
    fn(arg, &line);
    buf_consume(&s->rest, n);
}

void spark_lines_feed(
    struct spark_lines *s, const char *bytes, size_t n, spark_line_fn *fn, void *arg)
{
    size_t from = s->rest.len ? s->rest.len - 1 : 0; // it may be a return
    buf_add(&s->rest, bytes, n);
    for (size_t i = from; i < s->rest.len; i++) {
        bool returns = s->rest.data[i] == '\r', full = i >= LINE_MAX;
        if (returns && !full && i + 1 == s->rest.len)
            break; // is it "\r\n", which is one end?
        if (s->rest.data[i] != '\n' && !returns && !full)
            continue;
        hand_over(s, i + 1 + (returns && !full && s->rest.data[i + 1] == '\n'), fn, arg);
        i = (size_t)-1;
    }
}

void spark_lines_end(struct spark_lines *s, spark_line_fn *fn, void *arg)
{
    hand_over_blanks(s, false, fn, arg);
    if (s->rest.len)
        hand_over(s, s->rest.len, fn, arg);
}

void spark_lines_done(struct spark_lines *s)
{
    buf_done(&s->rest);
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
}

// "9": a digit or more; "x": 32 hexadecimal digits; any other character itself.
static bool matches(const char *word, size_t n, const char *form)
{
    size_t at = 0;
    for (; *form; form++) {
        size_t from = at;
        if (*form == '9')
            while (at < n && word[at] >= '0' && word[at] <= '9')
                at++;
        else if (*form == 'x')
            while (at < n && at - from < 32 && memchr("0123456789abcdef", word[at], 16))
                at++;
        else if (at < n && word[at] == *form)
            at++;
        if (at == from || (*form == 'x' && at - from != 32))
            return false;
    }
    return at == n;
}

static char *find(const char *line, size_t n, const char *const *forms)
{
    for (size_t from = 0; from < n;) {
        size_t to = from;
        while (to < n && is_word(line[to]))
            to++;
        for (const char *const *form = forms; to > from && *form; form++)
            if (matches(line + from, to - from, *form))
                return mem_strndup(line + from, to - from);
        from = to + 1;
    }
    return NULL;
}

char *spark_application_id(const char *line, size_t n)
{
    static const char *const forms[] = {
        "app-9-9", "spark-x", "application_9_9", "local-9", "spark-application-9", NULL};
    return find(line, n, forms);
}

char *spark_driver_id(const char *line, size_t n)
{
    static const char *const forms[] = {"driver-9-9", NULL};
    return find(line, n, forms);
}
