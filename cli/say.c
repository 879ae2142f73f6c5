// SPDX-License-Identifier: MIT
#include "cli/say.h"

#include "base/printable.h"
#include "script/journal/mask/mask.h"

#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

static mask *of_environment;

static void learn(void)
{
    of_environment = mask_new();
    mask_add_env(of_environment, (const char *const *)environ);
}

static void put(FILE *to, const char *text, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    AUTO_BUF clean = {0}, told = {0};
    if (to == stderr) {
        fflush(stdout); // earlier output first
        pthread_once(&once, learn);
        mask_text(of_environment, text, n, &told);
        text = buf_cstr(&told);
        n = told.len;
    }
    printable(&clean, text, n);
    fwrite(buf_cstr(&clean), 1, clean.len, to);
}

void say(FILE *to, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    put(to, buf_cstr(&text), text.len);
}

void say_text(const struct cli *cli, FILE *to, const char *text, size_t n)
{
    if (cli->utf8) {
        put(to, text, n);
        return;
    }
    AUTO_BUF ascii = {0};
    for (size_t i = 0; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            buf_char(&ascii, text[i] & 0x80 ? '?' : text[i]);
    put(to, buf_cstr(&ascii), ascii.len);
}

void say_json_line(const char *text, size_t n)
{
    AUTO_BUF clean = {0};
    printable_json(&clean, text, n);
    buf_char(&clean, '\n');
    fwrite(clean.data, 1, clean.len, stdout);
}

void say_json(const cJSON *tree, int indent)
{
    AUTO_BUF text = {0};
    if (indent)
        json_print_pretty(&text, tree, indent);
    else
        json_print(&text, tree);
    say_json_line(text.data, text.len);
}

void say_file(const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, stdout);
}

void say_tone(const struct cli *cli, enum tone t)
{
    static const char *const codes[] = {
        "\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m"};
    if (cli->colour)
        fputs(codes[t], stdout);
}

void say_redraw(FILE *to)
{
    fputs("\r\033[2K", to);
}

void say_program(const struct cli *cli)
{
    bool colour = cli->err_tty && !cli_getenv(cli, "NO_COLOR");
    fputs(colour ? "\033[31mfiresteel:\033[0m " : "firesteel: ", stderr);
}
