// SPDX-License-Identifier: MIT
// Shared by the files of this folder and of those in it: the notebook's fields, and the steps
// between text and cells. No file outside includes it.
#pragma once
#include "base/data/hashmap.h"
#include "script/notebook/notebook.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

struct notebook {
    char
        *header; // bytes before the first cell, with a byte order mark and the blank lines after it
    size_t header_n;
    cJSON *metadata; // of an .ipynb; NULL: it comes from the header
    char *came;      // the bytes of the .ipynb that it was read from; NULL: it was none
    size_t came_n;
    int format;                   // the nbformat of the .ipynb; 0: it was none
    bool undecided;               // of an .ipynb: nothing tells the language of its cells
    cJSON *unshown;               // then: that of the .ipynb, for what the header does not say
    cell *gone[50];               // deleted last, in a ring, for an undo
    size_t n_gone;                // how many there ever were
    const struct dialect *script; // of the file it was read from; NULL: it was none of these
    char *script_header;          // its bytes, and what `header` was then
    char *script_header_as;
    bool crlf; // lines end with "\r\n"
    bool json; // options are written as one JSON object (for jupytext, in all of a file or none)
    cell **cells;
    size_t n;
    hashmap *by_id; // index of the first cell with an id
    bool moved;     // the index must be made anew before its next use
    hashmap *twins; // from the hash of a cell's text to the twin that may be free; others before it
                    // have cells
    char *language; // of its cells; NULL: Lua
    char *kernel;   // the name of the Jupyter kernel that it was made with; NULL: none is said
    bool only;      // no other kernel will do (notebook_use_kernel)
    int minor;      // of the nbformat of an .ipynb: from 5 on, cells have ids
    size_t *numbers; // of code cells among code cells, 0 for others: of the first `numbered` cells
    size_t numbered, code_n; // how many code cells there are among these
};

struct cell_kept {
    char *text; // its bytes in the file, up to the next cell; NULL after an edit
    size_t n;
    int blank;   // blank lines up to the next cell: 0, 1 or 2 (jupytext's lines_to_next_cell)
    bool spaced; // somebody said how many: else a format has its own rule
    bool marked; // it has a marker line
    bool plain;  // of an .ipynb: its source has marker lines without escapes
    // Of an .ipynb whose source would be written in another way: its source, and that way. As long
    // as it would still be written so, it is written as it came.
    char *came, *came_as;
    char *script; // of a file of another dialect: its bytes, up to the next cell
    size_t script_n;
    bool unnamed;    // it comes from an .ipynb that has no id for it
    cJSON *metadata; // all options as JSON, also those of other tools; without the title
    cJSON *attachments, *outputs; // of an .ipynb
    cJSON *others;                // members of an .ipynb's cell that nbformat does not name
    cJSON *foreign;               // metadata of an .ipynb that no marker line can show
    int64_t execution_count;      // -1: none
};

// adopt.c: what the cell of an .ipynb has besides its text goes to the cell that it is now.
void kept_adopt(cell *c, const cell *from);

// marker.c: "Title [markdown] a=1 b=[\"x\"]" to and from JSON. Parsing never fails: *problem (new,
// or NULL) tells what cannot be read.
cJSON *marker_parse(const char *text, cell_kind *kind, char **title, char **problem);
void marker_print(const cell *c, bool json, buf *out);
bool marker_is_json(const char *text);

// options.c: fills c->options from c->kept->metadata; the first fault goes to c->problem.
void options_read(cell *c);
void options_done(struct cell_options *o);
// "always" or "failed", when `when` is one word that was probably meant for it; NULL: it is another
// word, or an expression.
const char *options_when_meant(const char *when);
int options_refuse_when(const char *when, const char *meant, err *e); // always -1
// Is it not our option, but one that other tools (Jupyter and jupytext) may have put there?
bool option_is_foreign(const char *name);
// Is it neither, nor spelled like one of ours? In a notebook of Lua it is a mistake, in one of
// another language (`guest`) it belongs to another tool: c->problem is set accordingly.
bool option_is_unknown(const char *name);
void options_settle(cell *c, bool guest);

// notebook.c
cell *cell_new(void);
void cell_free(cell *c);
// Sets kind, title, options and marker from a marker's text.
void cell_mark(cell *c, const char *marker);
// Sets them from metadata (taken), in jupytext's spelling.
void cell_mark_json(cell *c, cell_kind kind, char *title, cJSON *metadata);
// The cell of this id among those that were deleted, the last one first; a new one when there is
// none.
cell *notebook_gone(notebook *nb, const char *id);
void notebook_add(notebook *nb, cell *c); // takes the cell; gives it an id if it has none

// magic.c: comment marks of %magics, as jupytext puts and removes them.
bool magic_line(const char *line, size_t n); // "%env …", "-- %env …"
// Removes or adds one comment mark at every magic line in `source`; new.
char *magics_uncomment(const char *source);
// Lines in the long strings of Lua (`lua`) are left alone: a comment mark would change the string.
void magics_comment(const char *source, bool lua, buf *out);

// escape.c: the text after the "%%" of a marker line; NULL: it is no marker line.
const char *marker_of(const char *line, size_t n);
// Adds or removes one comment mark at each line of a cell that looks like a marker; new. In a file
// of dialect d: of code with the rules of its language, r; NULL: commented. No d: in Lua's.
struct rules;
char *markers_escape(
    const cell *c, const struct dialect *d, const struct rules *r, const char *text);
char *markers_unescape(
    const cell *c, const struct dialect *d, const struct rules *r, const char *text);
// The character of a code block's fence, 0: the line is none. *n: its length; *bare: nothing
// follows.
char text_fence(const char *line, size_t len, size_t *n, bool *bare);

// interpolate.c: `text` with $NAME and {expr} as a Lua expression. true: it had some.
bool interpolate(const char *text, size_t n, buf *lua);
void lua_quote(const char *s, size_t n, buf *out); // a Lua string literal on one line

// percent.c: the lines of a text, borrowed.
struct line {
    const char *text;
    size_t n;     // without the line end
    size_t whole; // with the line end
};

// Of the bytes from p up to end: do they start with the prefix, and where is the first that is no
// white space?
static inline bool bytes_start(const char *p, const char *end, const char *prefix)
{
    size_t n = strlen(prefix);
    return (size_t)(end - p) >= n && memcmp(p, prefix, n) == 0;
}
static inline const char *bytes_after_space(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p;
}
static inline bool line_starts(const struct line *l, const char *prefix)
{
    return bytes_start(l->text, l->text + l->n, prefix);
}
struct lines {
    struct line *list;
    size_t n;
};
// Refuses bytes that are no text: NUL, what is not UTF-8, CR alone.
int lines_check(const char *text, size_t n, err *e);
void lines_cut(const char *text, size_t n, struct lines *out); // free(out->list)
bool line_is_blank(const struct line *l);
// The line without its comment mark, removed as jupytext does it.
struct line line_uncommented(struct line l, const char *mark);
// In text, a fenced block may hold "%%" lines that are no markers. Returns the line after the
// block that begins in line i, or 0.
size_t lines_after_fence(const struct lines *ls, size_t i, const char *mark);
// How many of the lines [from, to) are the blank lines between this cell and the next.
size_t lines_blank(const struct lines *ls, size_t from, size_t to);
// Appends each line of a text, behind a comment mark if there is one.
void lines_print(const char *text, const char *mark, const char *newline, buf *out);
// The marker line of a cell that is written anew.
void marker_line(
    const notebook *nb, const cell *c, const char *mark, const char *newline, buf *out);

// language.c: a kind of file whose percent format has other comments than Lua's.
struct dialect {
    const char *end, *language, *mark;
};
const struct dialect *dialect_of(const char *path); // by its extension; NULL: none
// others/script.c
notebook *script_parse(const struct dialect *d, const char *text, size_t n, err *e);
void script_print(const notebook *nb, const struct dialect *d, buf *out);
// The text after the "%%" of a marker line; NULL: it is none.
const char *script_marker(const struct dialect *d, const char *line, size_t n);
// python.c: Lua that a .py keeps in comments, as jupytext keeps another language.
bool python_has_lua(const char *text, size_t n); // and nothing else
notebook *python_parse_lua(const char *text, size_t n, err *e);
int python_print_lua(const notebook *nb, buf *out, err *e);

// others/old.c: an .ipynb of nbformat 2 or 3 as one of 4, new.
cJSON *ipynb_upgrade(const cJSON *old);
// others/verbatim.c: the text of an .ipynb: with the bytes it was read with, where nothing changed.
void ipynb_print(const notebook *nb, cJSON *now, buf *out);
// others/guess.c: sets nb->language by what the cells have, or nb->undecided.
void language_guess(notebook *nb, const cJSON *j);

// header.c: jupytext's header to and from .ipynb metadata. `front` gets the header's other lines
// ("---", "title: …", "---"), which jupytext keeps in a raw cell; NULL: none.
cJSON *header_metadata(const notebook *nb, char **front);
// `coded`: is there to be a line with the encoding, although nothing says so?
void header_print(const cJSON *metadata, const char *front, bool coded, buf *out);
// Is a line that begins with the comment mark one that tells the file's encoding (PEP 263)?
bool coding_line(const char *line, size_t n, const char *mark);
// language.c: what an .ipynb's metadata or a header says, NULL: nothing; is it what we run?
const char *language_of_metadata(const cJSON *metadata);
bool language_is_ours(const char *name); // NULL is
void language_from_metadata(notebook *nb);
// The names that language= knows, NULL-terminated.
const char *const *language_names(void);
// What a cell in this language does.
enum language_does {
    LANGUAGE_TEXT,   // nothing by itself: a file is written
    LANGUAGE_BASH,   // bash runs it
    LANGUAGE_KERNEL, // a Jupyter kernel runs it
};
enum language_does language_does(const char *name);
// Is a language that a notebook says (NULL: Lua) this one?
bool language_is(const char *said, const char *language);

// cellfilter.c: does a cell's metadata of this name go into a text file, by the notebook's
// metadata?
bool cell_filter_takes(const cJSON *metadata, const char *name);

#define FRONT_ID "header" // in an .ipynb, of the raw cell with other people's header lines
// ipynb.c: the source of a cell as Jupyter has it and runs it, new.
char *cell_jupyter_source(const notebook *nb, const cell *c);

// Languages whose cells jupytext writes as %%language in an .ipynb.
bool jupyter_language(const char *name);
