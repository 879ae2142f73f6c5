// SPDX-License-Identifier: MIT
// Objects as text for the wire: whole, as metadata only, or as the rows of a Table.
#pragma once
#include "k8s/sandbox/store/store.h"

enum form { FORM_OBJECT, FORM_TABLE, FORM_METADATA, FORM_METADATA_LIST };
enum include { INCLUDE_METADATA, INCLUDE_NONE, INCLUDE_OBJECT }; // in a Table's rows

struct render {
    const struct kind *kind; // the kind in the request
    enum form form;
    enum include include;
    bool as_yaml;
    int64_t now; // to compute ages
};

// One object. With FORM_TABLE it is a Table of one row; headers false leaves its columns out (a
// watch sends them once).
void render_object(buf *out, const struct render *r, const snapshot *s, bool headers);
struct render_page {
    int64_t version;
    const char *next;  // continue token, NULL at the end
    int64_t remaining; // -1: unknown
};
void render_list(buf *out, const struct render *r, snapshot *const *items, size_t n,
    const struct render_page *page);
