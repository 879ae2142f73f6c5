// SPDX-License-Identifier: MIT
// The messages between a kernel and its clients as JSON trees with a "type". They are checked
// against the one table in message.def. A message is an ordinary cJSON tree, owned by whoever has
// it.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

enum { PROTOCOL_VERSION = 1 };
// The longest line in either direction; longer ones are a protocol error. Senders stay below it:
// stream texts are cut at 64 KiB, and a bigger display is replaced by a note.
enum { MESSAGE_LIMIT = 16 << 20 };

typedef enum message_type {
    MESSAGE_NONE, // not a message, or not one of ours
#define MESSAGE(name, direction, doc) MESSAGE_##name,
#define FIELD(message, name, type, need, doc)
#include "script/protocol/message.def"
#undef MESSAGE
#undef FIELD
} message_type;

typedef enum message_direction { MESSAGE_IN, MESSAGE_OUT, MESSAGE_EVENT } message_direction;

const char *message_type_name(message_type type);
message_direction message_direction_of(message_type type);
// The type of a tree; MESSAGE_NONE when it has no known type.
message_type message_type_of(const cJSON *message);

// {"type": name}; add the fields with json_set_*.
cJSON *message_new(message_type type);
// Checks that it has all required fields, each with the right JSON type. Unknown fields are allowed
// (from a newer peer); an unknown type is ERR_INVALID with the most similar known name.
int message_check(const cJSON *message, err *e);
// The table as Markdown, for doc/protocol.md.
void message_document(buf *out);
