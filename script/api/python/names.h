// SPDX-License-Identifier: MIT
// Names in the kernels of Jupyter, for clients: completion, help, and variables. As bindings.
#pragma once
#include "script/api/python/session.h"

// {what: complete | inspect, source, cursor, language, kernel, wish} → what hooks.complete and
// hooks.inspect give for cells in Lua: {matches, kinds, start, end}, {found, data}
int jupyter_names(call *c, const cJSON *args, cJSON **result, err *e);
// {} → {kernels: [{kernel, language, rows: [{name, type, shape, bytes, preview, hidden}], more}, or
// {kernel, language, why}]}; {kernel, name} → {kind, text}
int jupyter_variables(call *c, const cJSON *args, cJSON **result, err *e);

// Of jupyter.c.
int jupyter_spec_of(call *c, const cJSON *args, struct spec *spec, err *e);
struct hub *jupyter_hub(call *c);
