// SPDX-License-Identifier: MIT
// The pictures that are shown now or were lately, each in the size in which it is shown. Views add
// them and draw their cells into a grid; the terminal asks for their pixels. What has not been
// shown for longest is forgotten first. It knows no terminal: that tells it which way there is.
#pragma once
#include "base/json/json.h"
#include "base/picture/picture.h"
#include "tui/grid/grid.h"
#include "tui/picture/sixel.h"
#include "tui/picture/way.h"

typedef struct album album;
struct album_terminal {
    enum picture_way way;
    int cell_w, cell_h; // pixels of a cell; 0: not known
    int columns, rows;  // of the screen
    int colors;         // of sixels; 0: as many as there may be
};

album *album_new(void);
void album_free(album *a); // NULL is fine
// What is drawn after a change differs from what was: album_version changes, too.
void album_tell(album *a, const struct album_terminal *t);
const struct album_terminal *album_terminal(const album *a);
unsigned album_version(const album *a); // of a NULL album 0

// Has a picture been asked for before it was known how pictures are shown?
bool album_waits(const album *a);

// Turns SVGs into PNGs: album_converted follows, now or later. Texts are borrowed during the call.
typedef void album_convert(void *arg, const char *key, const char *svg, size_t n);
void album_converter(album *a, album_convert *convert, void *arg);
void album_converted(album *a, const char *key, const void *png, size_t n); // n 0: it failed

// The picture of a MIME bundle (PNG, JPEG; SVG where there is a converter) fitted into so many
// columns, and two thirds of the screen's rows. false: it has none that can be shown here (now), or
// pictures are not shown. Small ones are enlarged up to where each pixel can be seen.
struct album_picture {
    uint32_t id; // 0: `blocks` are drawn, or nothing yet
    int columns, rows;
    const picture *blocks; // two rows of it a row; borrowed until the next call
};
bool album_find(album *a, const cJSON *bundle, int columns, int most_rows, struct album_picture *p);
// Draws its cells from the upper left of `area` on, which they fill.
void album_draw(const struct album_picture *p, grid *g, rect clip, int x, int y);

// For the terminal: the RGB of a picture in pixels of the screen; NULL: it is no longer known. What
// is asked for is kept longer than what is not.
const picture *album_pixels(album *a, uint32_t id);
const sixel *album_sixel(album *a, uint32_t id); // the same with few colours
void album_use(album *a, uint32_t id);
// Numbers below ALBUM_PLACES + 1 that tell apart the pictures that are kept.
enum { ALBUM_PLACES = 128 };
unsigned album_place(uint32_t id);
bool album_size(album *a, uint32_t id, int *columns, int *rows);
