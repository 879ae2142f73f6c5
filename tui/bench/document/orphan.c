// SPDX-License-Identifier: MIT
// When the kernel is gone, nothing that was typed must be lost: the document as shown is put
// together here, and saved, or given to another kernel.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>
#include <sys/stat.h>

static int64_t stamp_of(const char *path)
{
    struct stat st;
    return path && stat(path, &st) == 0 ? st.st_mtim.tv_sec * CLOCK_SEC + st.st_mtim.tv_nsec : 0;
}

void orphan_note_file(bench *b)
{
    b->file_stamp = stamp_of(b->path);
}

// Puts the slots' texts into the fold, as a kernel's event would.
static const notebook *compose(bench *b)
{
    for (size_t i = 0; i < b->n_slots; i++) {
        AUTO_BUF source = {0};
        text_all(edit_text(b->slots[i]->edit), &source);
        if (str_eq(buf_cstr(&source), slot_cell(b, i)->source))
            continue;
        AUTO_JSON *edited = message_new(MESSAGE_edited);
        json_set_int(edited, "rev", b->rev);
        json_set_str(edited, "change", "edit");
        json_set_str(edited, "cell", b->slots[i]->id);
        json_set_str(edited, "source", buf_cstr(&source));
        fold_event(b->fold, edited, NULL);
        b->saved = false;
    }
    return fold_notebook(b->fold);
}

bool orphan_unsaved(bench *b)
{
    compose(b);
    return !b->saved;
}

struct saving {
    bench *bench;
    err unread; // why outputs stay as the file has them
};

static cJSON *outputs_of(void *arg, const cell *c, size_t i, long *count)
{
    struct saving *s = arg;
    return memory_outputs(s->bench, c->id, count, &s->unread);
}

// The fold has text and outputs; the rest of an .ipynb is in its file.
static int save_as(bench *b, const notebook *nb, const char *path, err *unread, err *e)
{
    struct saving saving = {.bench = b};
    notebook *copy = notebook_copy(nb);
    notebook *file = b->path && !str_ends(b->path, ".lua") ? notebook_load(b->path, NULL) : NULL;
    if (copy && file)
        notebook_adopt_file(copy, file);
    int result = notebook_save_with(copy ? copy : nb, path, outputs_of, &saving, e);
    err_give(unread, &saving.unread);
    notebook_free(copy);
    notebook_free(file);
    return result;
}

bool orphan_save(bench *b, const char *path, bool force)
{
    err e = {0}, unread = {0};
    const notebook *nb = compose(b);
    const char *to = path ? path : b->path;
    int64_t now = stamp_of(to);
    if (b->read_only || !(path || b->path))
        bench_complain(b, "a run that is only watched is not saved");
    else if (path_is_dir(to))
        bench_complain(b, "not saved: %s is a folder: name a file", to);
    else if (!force && path_is_read_only(to))
        bench_complain(b, "not saved: %s is read-only; only force writes it (:w!)", to);
    else if (!force && now && (path ? true : now != b->file_stamp))
        bench_complain(b, "%s %s: :w! overwrites it, :w NAME saves under another name", to,
            path ? "is there already" : "has changed meanwhile");
    else if (save_as(b, nb, to, &unread, &e) < 0)
        bench_complain(b, "not saved: %s", e.text);
    else {
        b->saved = true;
        orphan_note_file(b);
        if (unread.code)
            bench_complain(b, "saved %s, with the outputs that its file had: %s", to, unread.text);
        else
            bench_say(b, "saved %s, without a kernel", to);
        return true;
    }
    return false;
}

void orphan_start(bench *b)
{
    err e = {0};
    AUTO_BUF words = {0};
    if (b->read_only) {
        bench_complain(b, "the run that was watched is over");
        return;
    }
    notebook_print(compose(b), &words);
    if (b->ops->start(b->arg, buf_cstr(&words), words.len, b->run, &e) < 0)
        bench_complain(b, "%s", e.text);
    else
        bench_say(b, SAYS_STARTING);
}
