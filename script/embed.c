// SPDX-License-Identifier: MIT
// A tool of the build: embed [-c] ARRAY OUT FILE.lua… writes a C file with the files' texts as
// `const struct lua_source ARRAY[]` (script/embed.h), in the order given. With -c it
// holds each file as Lua's compiler has compiled it, as the chunk firesteel/NAME.lua.
// embed -r SCRIPT.lua ARGUMENT… runs a Lua program of the build, with the arguments in `arg`.
#include <lauxlib.h>
#include <lualib.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct bytes {
    FILE *out;
    size_t n;
};

static int write_bytes(lua_State *L, const void *from, size_t n, void *arg)
{
    (void)L;
    struct bytes *b = arg;
    const signed char *at = from;
    for (size_t i = 0; i < n; i++, b->n++)
        fprintf(b->out, "%s%d,", b->n % 24 ? "" : "\n", at[i]);
    return 0;
}

static const char *name_of(const char *path, int *length)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *length = (int)strcspn(name, ".");
    return name;
}

static int write_chunk(lua_State *L, struct bytes *b, const char *path, const char *text, size_t n)
{
    int length;
    const char *name = name_of(path, &length);
    lua_pushlstring(L, name, (size_t)length);
    lua_pushfstring(L, "@firesteel/%s.lua", lua_tostring(L, -1));
    if (luaL_loadbufferx(L, text, n, lua_tostring(L, -1), "t") != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        return -1;
    }
    return lua_dump(L, write_bytes, b, 0);
}

static int write_file(lua_State *L, FILE *out, const char *path, int number, bool compile)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return -1;
    }
    luaL_Buffer text;
    lua_settop(L, 0);
    luaL_buffinit(L, &text);
    for (int c; (c = getc(in)) != EOF;)
        luaL_addchar(&text, (char)c);
    luaL_pushresult(&text);
    fclose(in);
    size_t n;
    const char *read = lua_tolstring(L, 1, &n);
    struct bytes b = {.out = out};
    fprintf(out, "static const char text_%d[] = {", number);
    int result = compile ? write_chunk(L, &b, path, read, n) : write_bytes(L, read, n, &b);
    fputs("0};\n", out);
    return result;
}

static void write_entry(FILE *out, const char *path, int number)
{
    int length;
    const char *name = name_of(path, &length);
    fprintf(out, "    {\"%.*s\", text_%d, sizeof text_%d - 1},\n", length, name, number, number);
}

static int run_script(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_newtable(L);
    for (int i = 1; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_setglobal(L, "arg");
    bool failed = luaL_dofile(L, argv[0]);
    if (failed)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "-r") == 0)
        return run_script(argc - 2, argv + 2);
    bool compile = argc > 1 && strcmp(argv[1], "-c") == 0;
    argv += compile;
    argc -= compile;
    FILE *out = argc > 3 ? fopen(argv[2], "w") : NULL;
    lua_State *L = luaL_newstate();
    if (!out || !L) {
        fputs(
            "usage: embed [-c] ARRAY OUT.c FILE.lua..., embed -r SCRIPT.lua ARGUMENT...\n", stderr);
        return 2;
    }
    fputs("#include \"script/embed.h\"\n", out);
    for (int i = 3; i < argc; i++) {
        if (write_file(L, out, argv[i], i, compile))
            return 1;
    }
    fprintf(out, "extern const struct lua_source %s[];\nconst struct lua_source %s[] = {\n",
        argv[1], argv[1]);
    for (int i = 3; i < argc; i++)
        write_entry(out, argv[i], i);
    fputs("    {0},\n};\n", out);
    lua_close(L);
    return fclose(out) ? 1 : 0;
}
