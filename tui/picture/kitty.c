// SPDX-License-Identifier: MIT
#include "tui/picture/kitty.h"

#include "base/mem.h"
#include "base/str.h"

// The marks that stand for 0, 1, 2, …: kitty's gen/rowcolumn-diacritics.txt, as ranges.
static const struct {
    uint32_t from, to;
} marks[] = {{0x305, 0x305}, {0x30D, 0x30E}, {0x310, 0x310}, {0x312, 0x312}, {0x33D, 0x33F},
    {0x346, 0x346}, {0x34A, 0x34C}, {0x350, 0x352}, {0x357, 0x357}, {0x35B, 0x35B}, {0x363, 0x36F},
    {0x483, 0x487}, {0x592, 0x595}, {0x597, 0x599}, {0x59C, 0x5A1}, {0x5A8, 0x5A9}, {0x5AB, 0x5AC},
    {0x5AF, 0x5AF}, {0x5C4, 0x5C4}, {0x610, 0x617}, {0x657, 0x65B}, {0x65D, 0x65E}, {0x6D6, 0x6DC},
    {0x6DF, 0x6E2}, {0x6E4, 0x6E4}, {0x6E7, 0x6E8}, {0x6EB, 0x6EC}, {0x730, 0x730}, {0x732, 0x733},
    {0x735, 0x736}, {0x73A, 0x73A}, {0x73D, 0x73D}, {0x73F, 0x741}, {0x743, 0x743}, {0x745, 0x745},
    {0x747, 0x747}, {0x749, 0x74A}, {0x7EB, 0x7F1}, {0x7F3, 0x7F3}, {0x816, 0x819}, {0x81B, 0x823},
    {0x825, 0x827}, {0x829, 0x82D}, {0x951, 0x951}, {0x953, 0x954}, {0xF82, 0xF83}, {0xF86, 0xF87},
    {0x135D, 0x135F}, {0x17DD, 0x17DD}, {0x193A, 0x193A}, {0x1A17, 0x1A17}, {0x1A75, 0x1A7C},
    {0x1B6B, 0x1B6B}, {0x1B6D, 0x1B73}, {0x1CD0, 0x1CD2}, {0x1CDA, 0x1CDB}, {0x1CE0, 0x1CE0},
    {0x1DC0, 0x1DC1}, {0x1DC3, 0x1DC9}, {0x1DCB, 0x1DCC}, {0x1DD1, 0x1DE6}, {0x1DFE, 0x1DFE},
    {0x20D0, 0x20D1}, {0x20D4, 0x20D7}, {0x20DB, 0x20DC}, {0x20E1, 0x20E1}, {0x20E7, 0x20E7},
    {0x20E9, 0x20E9}, {0x20F0, 0x20F0}, {0x2CEF, 0x2CF1}, {0x2DE0, 0x2DFF}, {0xA66F, 0xA66F},
    {0xA67C, 0xA67D}, {0xA6F0, 0xA6F1}, {0xA8E0, 0xA8F1}, {0xAAB0, 0xAAB0}, {0xAAB2, 0xAAB3},
    {0xAAB7, 0xAAB8}, {0xAABE, 0xAABF}, {0xAAC1, 0xAAC1}, {0xFE20, 0xFE26}, {0x10A0F, 0x10A0F},
    {0x10A38, 0x10A38}, {0x1D185, 0x1D189}, {0x1D1AA, 0x1D1AD}, {0x1D242, 0x1D244}};

// 0: there is no mark for it.
static uint32_t mark_of(uint32_t number)
{
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        uint32_t n = marks[i].to - marks[i].from + 1;
        if (number < n)
            return marks[i].from + number;
        number -= n;
    }
    return 0;
}

void kitty_cell(uint32_t id, int column, int row, uint32_t points[KITTY_POINTS])
{
    points[0] = 0x10EEEE;
    points[1] = mark_of((uint32_t)row);
    points[2] = mark_of((uint32_t)column);
    points[3] = id >> 24 ? mark_of(id >> 24) : 0;
    points[4] = 0;
}

void kitty_send(
    uint32_t id, const void *png, size_t n, void (*each)(void *arg, const buf *one), void *arg)
{
    AUTO_BUF text = {0};
    base64_encode(&text, png, n);
    for (size_t at = 0, len; at < text.len; at += len) {
        AUTO_BUF one = {0};
        len = text.len - at < KITTY_CHUNK ? text.len - at : KITTY_CHUNK;
        int more = at + len < text.len;
        if (at == 0)
            buf_fmt(&one, "\x1b_Ga=t,f=100,t=d,i=%u,q=2,m=%d;", id, more);
        else
            buf_fmt(&one, "\x1b_Gq=2,m=%d;", more);
        buf_add(&one, text.data + at, len);
        buf_str(&one, "\x1b\\");
        each(arg, &one);
    }
}

void kitty_virtual(uint32_t id, int columns, int rows, buf *out)
{
    buf_fmt(out, "\x1b_Ga=p,U=1,i=%u,c=%d,r=%d,q=2\x1b\\", id, columns, rows);
}

void kitty_place(uint32_t id, uint32_t place, const struct kitty_part *p, buf *out)
{
    buf_fmt(out, "\x1b_Ga=p,i=%u,p=%u,x=%d,y=%d,w=%d,h=%d,c=%d,r=%d,C=1,q=2\x1b\\", id, place, p->x,
        p->y, p->w, p->h, p->columns, p->rows);
}

void kitty_unplace(uint32_t id, uint32_t place, buf *out)
{
    buf_fmt(out, "\x1b_Ga=d,d=i,i=%u,p=%u,q=2\x1b\\", id, place);
}

void kitty_forget(uint32_t id, buf *out)
{
    buf_fmt(out, "\x1b_Ga=d,d=I,i=%u,q=2\x1b\\", id);
}
