// SPDX-License-Identifier: MIT
// A tool of the build: embed ARRAY OUT FILE.lua… writes a C file with the files' texts as
// `const struct lua_source ARRAY[]` (script/embed.h), in the order given.
#include <stdio.h>
#include <string.h>

static int write_bytes(FILE *out, const char *path, size_t number)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return -1;
    }
    fprintf(out, "static const char text_%zu[] = {", number);
    for (int c, n = 0; (c = getc(in)) != EOF; n++)
        fprintf(out, "%s%d,", n % 24 ? "" : "\n", c < 128 ? c : c - 256);
    fputs("0};\n", out);
    return fclose(in);
}

static void write_entry(FILE *out, const char *path, size_t number)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int length = (int)strcspn(name, ".");
    fprintf(out, "    {\"%.*s\", text_%zu, sizeof text_%zu - 1},\n", length, name, number, number);
}

int main(int argc, char **argv)
{
    FILE *out = argc > 3 ? fopen(argv[2], "w") : NULL;
    if (!out) {
        fputs("usage: embed ARRAY OUT.c FILE.lua...\n", stderr);
        return 2;
    }
    fputs("#include \"script/embed.h\"\n", out);
    for (int i = 3; i < argc; i++) {
        if (write_bytes(out, argv[i], (size_t)i))
            return 1;
    }
    fprintf(out, "extern const struct lua_source %s[];\nconst struct lua_source %s[] = {\n",
        argv[1], argv[1]);
    for (int i = 3; i < argc; i++)
        write_entry(out, argv[i], (size_t)i);
    fputs("    {0},\n};\n", out);
    return fclose(out) ? 1 : 0;
}
