// SPDX-License-Identifier: MIT
#include "script/api/core/notes.h"

#include "base/data/digest.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static const char hidden_secret[] = "[secret]", hidden_output[] = "[output]";

static bool is_output(const cJSON *outputs, const char *value)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, outputs) if (str_eq(cJSON_GetStringValue(name), value)) return true;
    return false;
}

// An argument as it is told. hidden: it is the value of an option with a secret's name.
static char *shown_word(call *c, const char *word, bool hidden, const cJSON *outputs)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : 0;
    AUTO_FREE char *name = mem_strndup(word, n);
    const char *value = equals ? equals + 1 : word;
    if (hidden || call_is_secret(c, name))
        return mem_strdup(hidden_secret);
    const char *shown = (equals && secret_name(name)) || call_is_secret(c, value) ? hidden_secret
                        : is_output(outputs, value)                               ? hidden_output
                                                                                  : value;
    AUTO_FREE char *told = str_fmt("%s%s%s", name, equals ? "=" : "", shown);
    return mem_strdup(call_is_secret(c, told) ? hidden_secret : told);
}

static char *shown_args(call *c, const cJSON *words, const cJSON *outputs)
{
    AUTO_JSON *told = cJSON_CreateArray();
    bool hidden = false;
    const cJSON *word;
    cJSON_ArrayForEach(word, words)
    {
        const char *text = cJSON_IsString(word) ? word->valuestring : "";
        AUTO_FREE char *shown = shown_word(c, text, hidden && *text != '-', outputs);
        cJSON_AddItemToArray(told, cJSON_CreateString(shown));
        hidden = *text == '-' && !strchr(text, '=') && secret_name(text);
    }
    return json_to_str(told);
}

static void add_note(call *c, cJSON *all, const char *name, const char *text)
{
    if (text && !call_is_secret(c, text))
        json_set_str(all, name, text);
}

char *notes_of_trainer(call *c, const cJSON *args, const cJSON *files)
{
    const char *script = json_str(args, "script");
    AUTO_JSON *all = cJSON_CreateObject(), *inputs = cJSON_Duplicate(files, true);
    cJSON_DeleteItemFromObjectCaseSensitive(inputs, script);
    AUTO_FREE char *words = shown_args(c, json_get(args, "args"), json_get(args, "outputs"));
    AUTO_FREE char *digests = inputs && inputs->child ? json_to_str(inputs) : NULL;
    add_note(c, all, "firesteel.trainer", script);
    add_note(c, all, "firesteel.trainer.sha256", json_str(files, script));
    add_note(c, all, "firesteel.args", words);
    add_note(c, all, "firesteel.inputs", digests);
    return json_to_str(all);
}

char *notes_of_function(call *c, const char *packed)
{
    char digest[SHA256_HEX];
    if (call_is_secret(c, packed)) // short ones could be guessed by its digest
        return NULL;
    AUTO_JSON *all = cJSON_CreateObject();
    sha256_hex(packed, strlen(packed), digest);
    json_set_str(all, "firesteel.trainer", "hvd.run");
    json_set_str(all, "firesteel.trainer.sha256", digest);
    return json_to_str(all);
}
