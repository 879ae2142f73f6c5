// SPDX-License-Identifier: MIT
#include "tui/term/pictured.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/picture/kitty.h"

#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_MS = 1500,  // for all answers
    REST_MS = 80,      // a picture that has not moved for so long has stopped
    MOVE_MS = 500,     // and one that always moves is shown after that
    FIRST_NUMBER = 16, // kitty: colours 0 to 15 have short forms, which it may read otherwise
    BLOCK_COLORS = 256,
    USUAL_W = 10,
    USUAL_H = 20, // the VT340's
};

static void tell(struct pictured *p)
{
    if (p->album)
        album_tell(p->album, &p->terminal);
}

// What is possible without pixels.
static enum picture_way without_pixels(const struct pictured *p)
{
    return p->utf8 && p->colors >= BLOCK_COLORS ? WAY_BLOCKS : WAY_NONE;
}

static bool is_called(const struct pictured *p, const char *const *names)
{
    for (; *names; names++)
        if (str_starts(p->name, *names))
            return true;
    return false;
}

// kitty's protocol through tmux needs placeholders: tmux knows where they are, but nothing of
// pictures. Of those that show sixels and more, some are better at the other.
static enum picture_way choose(struct pictured *p)
{
    static const char *const iterm2[] = {"iTerm2", "WezTerm", "mintty", NULL};
    static const char *const placeholders[] = {"kitty", "ghostty", NULL};
    bool tmux = p->extras.mux == MUX_TMUX;
    p->placeholders = p->colors >= BLOCK_COLORS && p->utf8 &&
                      (tmux || p->wanted == WAY_KITTY || is_called(p, placeholders));
    if (p->wanted == WAY_BLOCKS)
        return without_pixels(p);
    if (p->wanted != WAY_UNKNOWN)
        return p->wanted;
    if (!tmux && is_called(p, iterm2))
        return WAY_ITERM2;
    if (p->kitty && (p->placeholders || !tmux))
        return WAY_KITTY;
    return p->sixels && p->terminal.cell_w ? WAY_SIXEL : without_pixels(p);
}

static bool decide(struct pictured *p)
{
    enum picture_way was = p->terminal.way;
    p->terminal.way = choose(p);
    bool changed = was != p->terminal.way;
    if (changed)
        pictured_cleared(p);
    tell(p);
    return changed;
}

static bool can_ask(const struct pictured *p)
{
    return p->extras.osc && p->extras.mux != MUX_SCREEN;
}

void pictured_init(
    struct pictured *p, const struct term_options *o, const struct extras *x, int colors, bool utf8)
{
    *p = (struct pictured){.album = o->album,
        .extras = *x,
        .utf8 = utf8,
        .colors = colors,
        .wanted = o->pictures,
        .salt = (uint32_t)(clock_mono() / CLOCK_MS % 60 + 1)};
    if (!can_ask(p) || p->wanted != WAY_UNKNOWN)
        decide(p);
}

void pictured_done(struct pictured *p)
{
    free(p->spots);
    free(p->shown);
}

void pictured_screen(struct pictured *p, int w, int h, int pixel_w, int pixel_h)
{
    p->spots = mem_resize(p->spots, (size_t)w * (size_t)h + 1, sizeof *p->spots);
    p->w = w;
    p->h = h;
    p->terminal.columns = w;
    p->terminal.rows = h;
    bool known = pixel_w >= w && pixel_h >= h && w && h;
    if (known && !p->cell_said) {
        p->terminal.cell_w = pixel_w / w;
        p->terminal.cell_h = pixel_h / h;
    } else if (!p->terminal.cell_w && p->wanted == WAY_SIXEL) {
        p->terminal.cell_w = USUAL_W;
        p->terminal.cell_h = USUAL_H;
    }
    pictured_cleared(p);
    tell(p);
}

bool pictured_ask(struct pictured *p, int64_t now, buf *out)
{
    if (!album_waits(p->album) || p->asked || p->terminal.way != WAY_UNKNOWN)
        return false;
    p->asked = p->waited = now;
    extras_ask_pictures(&p->extras, out);
    return true;
}

// In a tmux the one question is answered by tmux, the other by the terminal around it, or by
// nobody.
static bool all_said(const struct pictured *p)
{
    return p->device_said && (p->extras.mux != MUX_TMUX || p->kitty_said);
}

bool pictured_take(struct pictured *p, const struct term_event *ev, bool *changed)
{
    *changed = false;
    switch ((int)ev->kind) {
    case EVENT_DEVICE:
        p->sixels = ev->on;
        p->device_said = true;
        break;
    case EVENT_NAME:
        memcpy(p->name, ev->name, sizeof p->name);
        break;
    case EVENT_KITTY:
        p->kitty = ev->on;
        p->kitty_said = true;
        break;
    case EVENT_COLORS:
        p->terminal.colors = (int)(ev->mode < SIXEL_COLORS ? ev->mode : SIXEL_COLORS);
        break;
    case EVENT_CELL_SIZE:
        p->cell_said = ev->w > 0 && ev->h > 0;
        p->terminal.cell_w = p->cell_said ? ev->w : p->terminal.cell_w;
        p->terminal.cell_h = p->cell_said ? ev->h : p->terminal.cell_h;
        break;
    default:
        return false;
    }
    unsigned was = album_version(p->album);
    if (p->terminal.way != WAY_UNKNOWN || all_said(p))
        decide(p);
    p->asked = all_said(p) ? 0 : p->asked;
    *changed = album_version(p->album) != was;
    return true;
}

bool pictured_late(struct pictured *p, int64_t now)
{
    if (!p->waited || p->terminal.way != WAY_UNKNOWN || now - p->waited < ANSWER_MS * CLOCK_MS)
        return false;
    p->asked = 0;
    return decide(p);
}

static int ms_until(int64_t then, int64_t now)
{
    return then > now ? (int)((then - now) / CLOCK_MS) + 1 : 0;
}

int pictured_wait_ms(const struct pictured *p, int64_t now)
{
    if (p->waited && p->terminal.way == WAY_UNKNOWN)
        return ms_until(p->waited + ANSWER_MS * CLOCK_MS, now);
    return p->due ? ms_until(p->due, now) : -1;
}

uint32_t pictured_number(const struct pictured *p, uint32_t id)
{
    return (p->extras.mux == MUX_TMUX ? p->salt << 24 : 0) | (FIRST_NUMBER + album_place(id));
}

struct passing {
    const struct pictured *p;
    buf *out;
};

static void pass_one(void *arg, const buf *one)
{
    struct passing *to = arg;
    extras_pass_on(&to->p->extras, one->data, one->len, to->out);
}

static void pass(const struct pictured *p, const buf *bytes, buf *out)
{
    if (bytes->len)
        extras_pass_on(&p->extras, bytes->data, bytes->len, out);
}

// Sends a picture that the terminal does not have.
static void send_one(struct pictured *p, uint32_t id, buf *out)
{
    err e = {0};
    int columns, rows;
    AUTO_BUF png = {0}, placed = {0};
    const struct picture *pixels = album_pixels(p->album, id);
    uint32_t number = pictured_number(p, id);
    if (p->sent[album_place(id)] == id || !pixels ||
        picture_png(pixels, 0, 0, pixels->width, pixels->height, &png, &e) < 0 ||
        !album_size(p->album, id, &columns, &rows))
        return;
    p->sent[album_place(id)] = id;
    kitty_send(number, png.data, png.len, pass_one, &(struct passing){p, out});
    if (p->placeholders)
        kitty_virtual(number, columns, rows, &placed);
    pass(p, &placed, out);
}

void pictured_send(struct pictured *p, const grid *g, buf *out)
{
    rect all = grid_area(g);
    uint32_t last = 0;
    if (!p->album)
        return;
    for (int y = 0; y < all.h; y++)
        for (int x = 0; x < all.w; x++) {
            uint32_t id = grid_part_of(grid_at(g, x, y)).picture;
            if (!id || id == last)
                continue;
            last = id;
            album_use(p->album, id);
            if (p->terminal.way == WAY_KITTY)
                send_one(p, id, out);
        }
}

void pictured_touch(
    struct pictured *p, int x, int y, const grid_cell *was, const grid_cell *now, int64_t time)
{
    bool had = was && grid_part_of(was).picture, has = grid_part_of(now).picture;
    if (!p->album || x >= p->w || y >= p->h || (!had && !has))
        return;
    p->first = p->first ? p->first : time;
    p->due = time + REST_MS * CLOCK_MS;
    int64_t most = p->first + MOVE_MS * CLOCK_MS;
    p->due = p->due < most ? p->due : most;
}

static bool lies_over(enum picture_way way, bool placeholders)
{
    return way == WAY_SIXEL || way == WAY_ITERM2 || (way == WAY_KITTY && !placeholders);
}

bool pictured_lies(const struct pictured *p)
{
    bool any = p->shown_n > 0;
    for (size_t i = 0; !any && p->spots && i < (size_t)p->w * (size_t)p->h; i++)
        any = p->spots[i].picture;
    return any;
}

struct fragments {
    struct fragment *list;
    size_t n;
};

// Adds a row's part of a picture: below the one of the row above that it goes on, or as a new one.
static void add_run(struct fragments *f, struct fragment run)
{
    for (size_t i = f->n; i-- > 0;) {
        struct fragment *o = &f->list[i];
        if (o->picture == run.picture && o->x == run.x && o->w == run.w && o->y + o->h == run.y &&
            o->column == run.column && o->row + o->h == run.row) {
            o->h++;
            return;
        }
    }
    f->list = mem_resize(f->list, f->n + 1, sizeof *f->list);
    f->list[f->n++] = run;
}

static bool is_there(const struct pictured *p, int x, int y, struct grid_part part)
{
    struct spot s = p->spots[(size_t)y * (size_t)p->w + (size_t)x];
    return s.picture == part.picture && s.column == part.column && s.row == part.row;
}

// The parts of pictures in the grid; missing: only those that the terminal does not show yet. The
// last row is left out: after a picture there, terminals scroll.
static struct fragments find_fragments(const struct pictured *p, const grid *g, bool missing)
{
    struct fragments f = {0};
    rect all = grid_area(g);
    for (int y = 0; y + 1 < all.h && y < p->h; y++)
        for (int x = 0, n; x < all.w && x < p->w; x += n) {
            struct grid_part first = grid_part_of(grid_at(g, x, y));
            for (n = 0; x + n < all.w && x + n < p->w; n++) {
                struct grid_part part = grid_part_of(grid_at(g, x + n, y));
                if (!first.picture || part.picture != first.picture || part.row != first.row ||
                    part.column != first.column + n || (missing && is_there(p, x + n, y, part)))
                    break;
            }
            if (n)
                add_run(
                    &f, (struct fragment){first.picture, x, y, n, 1, first.column, first.row, 0});
            n = n ? n : 1;
        }
    return f;
}

// Erases the pixels of cells that show something else now, or another part. Blanks do that in all
// terminals; what xterm erases by ECH or EL comes back when text is scrolled.
static void erase_pixels(struct pictured *p, const grid *g, buf *out)
{
    for (int y = 0; y < p->h; y++)
        for (int x = 0, n; x < p->w; x += n ? n : 1) {
            struct spot *row = p->spots + (size_t)y * (size_t)p->w;
            for (n = 0; x + n < p->w && row[x + n].picture; n++) {
                const grid_cell *c = grid_at(g, x + n, y);
                if (c && is_there(p, x + n, y, grid_part_of(c)))
                    break;
                row[x + n] = (struct spot){0};
            }
            if (n)
                buf_fmt(out, "\x1b[%d;%dH%*s", y + 1, x + 1, n, "");
        }
}

// The cursor, which curses believes to know, comes back.
static void add_around(const buf *bytes, buf *out)
{
    if (!bytes->len)
        return;
    buf_str(out, "\x1b"
                 "7\x1b[m");
    buf_add(out, bytes->data, bytes->len);
    buf_str(out, "\x1b"
                 "8");
}

static void note_spots(struct pictured *p, const struct fragment *f)
{
    for (int y = 0; y < f->h; y++)
        for (int x = 0; x < f->w; x++)
            p->spots[(size_t)(f->y + y) * (size_t)p->w + (size_t)(f->x + x)] =
                (struct spot){f->picture, f->column + x, f->row + y};
}

static void go_to(const struct fragment *f, buf *out)
{
    buf_fmt(out, "\x1b[%d;%dH", f->y + 1, f->x + 1);
}

static void write_sixels(struct pictured *p, const struct fragment *f, buf *out)
{
    const sixel *s = album_sixel(p->album, f->picture);
    int w = p->terminal.cell_w, h = p->terminal.cell_h;
    if (!s || !w || !h)
        return;
    go_to(f, out);
    sixel_write(s, (size_t)(f->column * w), (size_t)(f->row * h), (size_t)(f->w * w),
        (size_t)(f->h * h), out);
}

// iTerm2's protocol (iterm2.com/documentation-images.html): a file, scaled to so many cells.
static void write_iterm2(struct pictured *p, const struct fragment *f, buf *out)
{
    err e = {0};
    int columns, rows;
    AUTO_BUF png = {0};
    const struct picture *all = album_pixels(p->album, f->picture);
    if (!all || !album_size(p->album, f->picture, &columns, &rows))
        return;
    size_t w = all->width / (size_t)columns, h = all->height / (size_t)rows;
    if (picture_png(all, (size_t)f->column * w, (size_t)f->row * h, (size_t)f->w * w,
            (size_t)f->h * h, &png, &e) < 0)
        return;
    go_to(f, out);
    buf_fmt(out,
        "\x1b]1337;File=inline=1;size=%zu;width=%d;height=%d;preserveAspectRatio=0;"
        "doNotMoveCursor=1:",
        png.len, f->w, f->h);
    base64_encode(out, png.data, png.len);
    buf_char(out, '\a');
}

static bool same_fragment(const struct fragment *a, const struct fragment *b)
{
    return a->picture == b->picture && a->x == b->x && a->y == b->y && a->w == b->w &&
           a->h == b->h && a->column == b->column && a->row == b->row;
}

static struct fragment *find_same(struct fragment *list, size_t n, const struct fragment *one)
{
    for (size_t i = 0; i < n; i++)
        if (same_fragment(&list[i], one))
            return &list[i];
    return NULL;
}

static void place_kitty(struct pictured *p, const struct fragment *f, buf *out)
{
    int columns, rows;
    const struct picture *all = album_pixels(p->album, f->picture);
    if (!all || !album_size(p->album, f->picture, &columns, &rows))
        return;
    int w = (int)all->width / columns, h = (int)all->height / rows;
    go_to(f, out);
    kitty_place(pictured_number(p, f->picture), f->place,
        &(struct kitty_part){f->column * w, f->row * h, f->w * w, f->h * h, f->w, f->h}, out);
}

// Takes away the parts that are no longer there.
static void erase_kitty(struct pictured *p, const grid *g, buf *out)
{
    struct fragments now = find_fragments(p, g, false);
    size_t kept = 0;
    for (size_t i = 0; i < p->shown_n; i++) {
        if (find_same(now.list, now.n, &p->shown[i]))
            p->shown[kept++] = p->shown[i];
        else
            kitty_unplace(pictured_number(p, p->shown[i].picture), p->shown[i].place, out);
    }
    p->shown_n = kept;
    free(now.list);
}

void pictured_erase(struct pictured *p, const grid *g, buf *out)
{
    AUTO_BUF bytes = {0};
    if (!p->album || !p->due || !lies_over(p->terminal.way, p->placeholders))
        return;
    if (p->terminal.way == WAY_KITTY)
        erase_kitty(p, g, &bytes);
    else
        erase_pixels(p, g, &bytes);
    add_around(&bytes, out);
}

static void show_kitty(struct pictured *p, const grid *g, buf *out)
{
    struct fragments now = find_fragments(p, g, false);
    for (size_t i = 0; i < now.n; i++) {
        const struct fragment *was = find_same(p->shown, p->shown_n, &now.list[i]);
        now.list[i].place = was ? was->place : ++p->places;
        if (!was || p->lost)
            place_kitty(p, &now.list[i], out);
    }
    free(p->shown);
    p->shown = now.list;
    p->shown_n = now.n;
    p->lost = false;
}

static void show_pixels(struct pictured *p, const grid *g, buf *out)
{
    struct fragments missing = find_fragments(p, g, true);
    for (size_t i = 0; i < missing.n; i++) {
        if (p->terminal.way == WAY_SIXEL)
            write_sixels(p, &missing.list[i], out);
        else
            write_iterm2(p, &missing.list[i], out);
        note_spots(p, &missing.list[i]);
    }
    free(missing.list);
}

void pictured_show(struct pictured *p, const grid *g, int64_t now, buf *out)
{
    AUTO_BUF bytes = {0};
    bool kitty = p->terminal.way == WAY_KITTY;
    if (!p->album || !lies_over(p->terminal.way, p->placeholders)) {
        p->due = p->first = 0;
        return;
    }
    if (!p->due || (!kitty && now < p->due))
        return;
    p->due = p->first = 0;
    if (kitty)
        show_kitty(p, g, &bytes);
    else
        show_pixels(p, g, &bytes);
    add_around(&bytes, out);
}

void pictured_cleared(struct pictured *p)
{
    p->lost = true;
    if (p->spots)
        memset(p->spots, 0, ((size_t)p->w * (size_t)p->h + 1) * sizeof *p->spots);
}

void pictured_leave(struct pictured *p, buf *out)
{
    AUTO_BUF bytes = {0};
    bool any = pictured_lies(p);
    for (uint32_t place = 1; place <= ALBUM_PLACES; place++)
        if (p->sent[place]) {
            kitty_forget(pictured_number(p, p->sent[place]), &bytes);
            p->sent[place] = 0;
        }
    pass(p, &bytes, out);
    p->shown_n = 0;
    p->due = p->first = 0;
    if (any) // pixels of sixels would stay where there is no second screen
        buf_str(out, "\x1b[H\x1b[2J");
    pictured_cleared(p);
}
