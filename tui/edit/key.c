// SPDX-License-Identifier: MIT
#include "tui/edit/key.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    key key;
} names[] = {
#define X(symbol, name) {name, FK_##symbol},
    NAMED_KEYS(X)
#undef X
        {"Space", ' '},
};

static const struct {
    char letter;
    key bit;
} modifiers[] = {{'C', KEY_CTRL}, {'M', KEY_ALT}, {'S', KEY_SHIFT}};

key key_normal(key k)
{
    key code = k & KEY_CODE, mods = k & ~(key)KEY_CODE;
    if (mods & KEY_CTRL && code >= 'A' && code <= 'Z')
        code += 'a' - 'A';
    if (mods & KEY_CTRL && !(mods & KEY_SHIFT)) {
        static const char letters[] = "mih[";
        static const key same[] = {FK_ENTER, FK_TAB, FK_BACKSPACE, FK_ESC};
        const char *at = code && code < 128 ? strchr(letters, (int)code) : NULL;
        if (at)
            return same[at - letters] | (mods & ~(key)KEY_CTRL);
    }
    if (mods & KEY_SHIFT && code < 0x110000 && code != ' ' && !(mods & KEY_CTRL)) {
        if (code >= 'a' && code <= 'z')
            code -= 'a' - 'A';
        mods &= ~(key)KEY_SHIFT;
    }
    return code | mods;
}

static key parse_code(const char *s, size_t n, size_t *len)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t l = strlen(names[i].name);
        if (n >= l && memcmp(s, names[i].name, l) == 0 && (n == l || s[l] == ' ')) {
            *len = l;
            return names[i].key;
        }
    }
    size_t l = utf8_len(s, n);
    if (!l || (unsigned char)*s <= ' ' || *s == 0x7F)
        return 0;
    return utf8_decode(s, n, len);
}

key key_parse(const char *s, size_t n, size_t *len)
{
    key mods = 0;
    size_t at = 0;
    for (bool found = true; found && n - at > 2 && s[at + 1] == '-' && s[at + 2] != ' ';) {
        found = false;
        for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
            if (s[at] == modifiers[i].letter) {
                mods |= modifiers[i].bit;
                found = true;
            }
        at += found ? 2 : 0;
    }
    size_t rest;
    key code = at < n ? parse_code(s + at, n - at, &rest) : 0;
    if (!code)
        return 0;
    *len = at + rest;
    return key_normal(code | mods);
}

void key_print(key k, char out[KEY_NAME_SIZE])
{
    char *at = out;
    for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
        if (k & modifiers[i].bit) {
            *at++ = modifiers[i].letter;
            *at++ = '-';
        }
    key code = k & KEY_CODE;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i].key == code) {
            strcpy(at, names[i].name);
            return;
        }
    at[utf8_encode(code, at)] = '\0';
}

uint32_t key_character(key k)
{
    return k & (KEY_CTRL | KEY_ALT) || (k & KEY_CODE) >= 0x110000 || (k & KEY_CODE) < ' '
               ? 0
               : k & KEY_CODE;
}
