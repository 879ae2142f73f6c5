// SPDX-License-Identifier: MIT
// The rows and columns that are shown, as a CSV file in the working folder. A few thousand rows are
// written at once; of more it is seen how far the file is, and q stops.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/views.h"
#include "tui/view/table/columns.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 16, WORK_MS = 8, SOON_MS = 200 };

struct csv_view {
    view head;
    struct columns of; // the view below
    char *path;        // the file, and as people call it
    char *name;
    int fd;
    size_t row;
    bool finished;
    char wrong[200];
};

// "pods-in-ml-20260102-030405.csv": what stands for nothing in a file's name becomes '-'.
static char *file_name(const char *title)
{
    AUTO_BUF name = {0}, now = {0};
    for (const char *at = title; *at; at++)
        buf_char(&name,
            isalnum((unsigned char)*at) || *at == '_' || (*at == '.' && name.len) ? *at : '-');
    clock_rfc3339(&now, clock_wall(), CLOCK_SECONDS);
    buf_char(&name, '-');
    for (const char *at = buf_cstr(&now); *at && *at != 'Z'; at++)
        if (isdigit((unsigned char)*at) || *at == 'T')
            buf_char(&name, *at == 'T' ? '-' : *at);
    buf_str(&name, ".csv");
    return buf_take(&name);
}

static int write_all(int fd, const buf *words)
{
    for (size_t done = 0; done < words->len;) {
        ssize_t n = write(fd, words->data + done, words->len - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static void finish(struct csv_view *v, bool good)
{
    int why = errno;
    v->finished = true;
    bool closed = v->fd >= 0 && close(v->fd) == 0;
    v->fd = -1;
    if (good && closed)
        return;
    str_fit(v->wrong, sizeof v->wrong, strerror(good ? errno : why));
    unlink(v->path); // half a table would be taken for all of it
}

static void go_on(struct csv_view *v, int ms)
{
    int64_t until = clock_mono() + ms * CLOCK_MS;
    AUTO_BUF words = {0};
    bool more = true;
    while (!v->finished && more && clock_mono() < until) {
        buf_clear(&words);
        more = sheet_csv(v->of.sheet, &v->row, AT_ONCE, &words);
        if (write_all(v->fd, &words) < 0 || !more)
            finish(v, !more);
    }
}

static void say_end(struct csv_view *v)
{
    if (*v->wrong)
        bench_complain(v->head.bench, "%s was not written: %s", v->name, v->wrong);
    else
        bench_say(
            v->head.bench, "%zu row%s written to %s", v->row, v->row == 1 ? "" : "s", v->name);
}

static void settle(view *view_, rect area)
{
    go_on((struct csv_view *)view_, WORK_MS);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct csv_view *v = (const struct csv_view *)view_;
    const struct sheet *s = v->of.sheet;
    rect row = {area.x, area.y + area.h - 1, area.w, 1};
    grid_fill(g, row, ' ', (style){0});
    if (*v->wrong)
        grid_print(g, row, row.x, row.y, LOOK_ERROR, "%s was not written: %s", v->name, v->wrong);
    else
        grid_print(g, row, row.x, row.y, LOOK_BOLD, "%s: %zu of %zu rows%s", v->name, v->row,
            s->ops->count(s->rows), v->finished ? ", written; any key goes on" : "; q stops");
}

static bool act(view *view_, enum action a)
{
    struct csv_view *v = (struct csv_view *)view_;
    if (!v->finished) {
        errno = EINTR;
        finish(v, false);
        str_fit(v->wrong, sizeof v->wrong, "it was stopped");
    }
    say_end(v);
    view_pop(view_);
    return true;
}

static bool type(view *view_, key k)
{
    return ((struct csv_view *)view_)->finished && act(view_, ACT_CLOSE);
}

static int wait_ms(const view *view_)
{
    return ((const struct csv_view *)view_)->finished ? -1 : 1;
}

static void done(view *view_)
{
    struct csv_view *v = (struct csv_view *)view_;
    if (v->fd >= 0) {
        close(v->fd);
        unlink(v->path);
    }
    free(v->path);
    free(v->name);
}

void csv_save(const struct columns *of)
{
    bench *b = of->view->bench;
    AUTO_FREE char *folder = bench_folder(b), *name = file_name(of->title),
                   *path = path_join(folder ? folder : ".", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        bench_complain(b, "%s was not written: %s", name, strerror(errno));
        return;
    }
    struct csv_view *v = view_push(b, &csv_view_ops, sizeof *v);
    v->of = *of;
    v->of.title = NULL;
    v->fd = fd;
    v->path = STEAL(path);
    v->name = STEAL(name);
    go_on(v, SOON_MS);
    if (!v->finished)
        return;
    say_end(v);
    view_pop(&v->head);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "q", ACT_CLOSE},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops csv_view_ops = {.name = "CSV",
    .keys = &keys,
    .overlay = true,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .wait_ms = wait_ms,
    .done = done};
