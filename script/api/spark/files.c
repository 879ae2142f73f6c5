// SPDX-License-Identifier: MIT
#include "script/api/spark/files.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/core/process.h"
#include "script/api/spark/command.h"

#include <string.h>

// Lists of files that go along; where option and setting are given, Spark takes the option.
static const struct {
    const char *option, *setting;
} lists[] = {{"--py-files", "spark.submit.pyFiles"}, {"--files", "spark.files"},
    {"--archives", "spark.archives"}, {"--jars", "spark.jars"}};

static const char *option_of(const cJSON *args, const char *option)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, json_get(args, "options"))
    {
        if (str_eq(cJSON_GetStringValue(word), option))
            return cJSON_GetStringValue(word->next);
    }
    return NULL;
}

// "file:/a" and "file:///a" are /a; an archive says how it is called there, "env.zip#env".
static void add_if_here(call *c, const char *name, cJSON *list)
{
    if (str_starts(name, "file:"))
        name += strlen(str_starts(name, "file:///") ? "file://" : "file:");
    AUTO_FREE char *file = mem_strndup(name, strcspn(name, "#"));
    AUTO_FREE char *path = path_join(call_cwd(c), file);
    if (*file && spark_is_here(file) && path_exists(path) && !path_is_dir(path))
        cJSON_AddItemToArray(list, cJSON_CreateString(file));
}

static void add_list(call *c, const char *names, cJSON *list)
{
    char **each = strv_split(names, ',');
    for (char **name = each; *name; name++) {
        AUTO_FREE char *trimmed = str_trim(*name, strlen(*name));
        add_if_here(c, trimmed, list);
    }
    strv_free(each);
}

cJSON *spark_files(call *c, const cJSON *args)
{
    cJSON *files = cJSON_CreateObject();
    AUTO_JSON *here = cJSON_CreateArray();
    const char *settings = option_of(args, "--properties-file");
    add_if_here(c, json_str_or(args, "app", ""), here);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const char *option = option_of(args, lists[i].option);
        const char *names = option ? option : json_str(json_get(args, "conf"), lists[i].setting);
        add_list(c, names ? names : "", here);
    }
    add_if_here(c, settings ? settings : "", here);
    process_hash_files(c, files, call_cwd(c), here);
    process_hash_files(c, files, call_cwd(c), json_get(args, "inputs"));
    process_record_inputs(c, NULL, files);
    return files;
}
