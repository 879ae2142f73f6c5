// SPDX-License-Identifier: MIT
#include "k8s/client/text/wordwrap.h"

#include "base/text/utf8.h"

#include <stdbool.h>
#include <string.h>

// A line under construction: what stands in it, then spaces, then a word that is not yet complete.
struct wrapping {
    buf *out;
    size_t limit, width; // of what stands in the line
    buf spaces, word;
    size_t n_spaces, n_word;
};

static void put_spaces(struct wrapping *w)
{
    w->width += w->n_spaces;
    buf_add(w->out, w->spaces.data, w->spaces.len);
    buf_clear(&w->spaces);
    w->n_spaces = 0;
}

static void put_word(struct wrapping *w)
{
    put_spaces(w);
    w->width += w->n_word;
    buf_add(w->out, w->word.data, w->word.len);
    buf_clear(&w->word);
    w->n_word = 0;
}

static void drop_spaces(struct wrapping *w)
{
    buf_clear(&w->spaces);
    w->n_spaces = 0;
}

static void end_line(struct wrapping *w)
{
    if (w->word.len)
        put_word(w);
    else if (w->width + w->n_spaces <= w->limit)
        put_spaces(w);
    drop_spaces(w);
    buf_char(w->out, '\n');
    w->width = 0;
}

static void add_space(struct wrapping *w, const char *bytes, size_t n)
{
    if (!w->spaces.len || w->word.len)
        put_word(w);
    buf_add(&w->spaces, bytes, n);
    w->n_spaces++;
}

static void add_letter(struct wrapping *w, const char *bytes, size_t n)
{
    buf_add(&w->word, bytes, n);
    w->n_word++;
    if (w->width + w->n_spaces + w->n_word > w->limit && w->n_word < w->limit) {
        buf_char(w->out, '\n');
        w->width = 0;
        drop_spaces(w);
    }
}

// Go's unicode.IsSpace, without the no-break space.
static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

void wordwrap(buf *out, const char *text, size_t limit)
{
    struct wrapping w = {.out = out, .limit = limit};
    size_t left = strlen(text), n;
    for (; left; text += n, left -= n) {
        uint32_t point = utf8_decode(text, left, &n);
        if (point == '\n')
            end_line(&w);
        else if (is_space(point))
            add_space(&w, text, n);
        else
            add_letter(&w, text, n);
    }
    if (w.word.len)
        put_word(&w);
    else if (w.width + w.n_spaces <= limit)
        put_spaces(&w);
    buf_done(&w.spaces);
    buf_done(&w.word);
}
