// SPDX-License-Identifier: MIT
// Highlighting, a line at a time: a line's spans depend on its bytes and on the state at the end of
// the line before (inside of a long string, a here-document, a code fence). Views choose the
// styles. Nothing here fails, whatever the text.
#pragma once
#include "base/buf.h"
#include "base/text/style.h"

#include <stddef.h>
#include <stdint.h>

// X(symbol, name)
#define SYNTAX_LANGUAGES(X)                                                                        \
    X(PLAIN, "text")                                                                               \
    X(LUA, "lua")                                                                                  \
    X(YAML, "yaml")                                                                                \
    X(BASH, "bash")                                                                                \
    X(PYTHON, "python")                                                                            \
    X(DOCKERFILE, "dockerfile")                                                                    \
    X(MARKDOWN, "markdown")
typedef enum syntax_language {
#define X(symbol, name) SYNTAX_##symbol,
    SYNTAX_LANGUAGES(X)
#undef X
        SYNTAX_LANGUAGE_COUNT,
} syntax_language;

enum syntax_class {
    CLASS_TEXT,
    CLASS_KEYWORD,
    CLASS_CONSTANT,
    CLASS_NUMBER,
    CLASS_STRING,
    CLASS_ESCAPE,
    CLASS_COMMENT,
    CLASS_FUNCTION,
    CLASS_VARIABLE,
    CLASS_KEY,
    CLASS_OPERATOR,
    CLASS_MAGIC,
    CLASS_HEADING,
    CLASS_EMPHASIS,
    CLASS_STRONG,
    CLASS_CODE,
    CLASS_LINK,
    CLASS_LIST,
    CLASS_QUOTE,
    CLASS_COUNT,
};

struct span {
    size_t from, to; // bytes of the line
    enum syntax_class class;
};
enum { SYNTAX_SPANS = 256 }; // if a line has more, its rest stays plain

// What is still open at the end of a line; 0 at the start of a text.
typedef uint64_t syntax_state;

// Fills up to SYNTAX_SPANS spans, in order and without overlap (the bytes between are text);
// returns the state for the next line.
syntax_state syntax_line(syntax_language language, syntax_state state, const char *s, size_t n,
    struct span *spans, size_t *count);

// Appends a text with the escape sequences for its colours (base/text/ansi.h reads them).
void syntax_colour(syntax_language language, const char *words, buf *out);

// Finds a language by name, or by a file's name ("trainer.lua", "Dockerfile", "app.yml"); PLAIN
// when unknown.
syntax_language syntax_by_name(const char *name);
syntax_language syntax_by_file(const char *path);
// How the language is written, for the editor: what starts a line comment; the words at the end of
// a line after which the next one is indented, "then do"; the words that end such a block, alone on
// a line; and the number of blanks.
struct syntax_writing {
    const char *comment, *opens, *closes;
    int indent;
};
const struct syntax_writing *syntax_writing(syntax_language language);
// The default style of a class, on dark and light backgrounds alike (ANSI colours).
style syntax_style(enum syntax_class c);

// The states at the starts of a text's lines, computed as far as requested.
typedef struct syntax_cache syntax_cache;
typedef const char *syntax_source(const void *arg, size_t line, size_t *n);
syntax_cache *syntax_cache_new(void);
void syntax_cache_free(syntax_cache *c);
// The lines from here on may have changed (SIZE_MAX: none have). Cheap.
void syntax_cache_touch(syntax_cache *c, size_t line);
// The spans of one line of a text that `source` reads (it has the type of text_line).
size_t syntax_cache_spans(syntax_cache *c, syntax_language language, syntax_source *source,
    const void *arg, size_t line, struct span *spans);
