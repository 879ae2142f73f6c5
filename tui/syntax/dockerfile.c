// SPDX-License-Identifier: MIT
// Dockerfiles. state: 1 when an instruction continues on the next line.
#include "tui/syntax/scan.h"

static const char *const instructions[] = {"FROM", "RUN", "CMD", "LABEL", "MAINTAINER", "EXPOSE",
    "ENV", "ADD", "COPY", "ENTRYPOINT", "VOLUME", "USER", "WORKDIR", "ARG", "ONBUILD", "STOPSIGNAL",
    "HEALTHCHECK", "SHELL", "AS", NULL};

static void word(struct scan *sc, bool is_first)
{
    size_t n = scan_name(sc);
    bool is_instruction = scan_in(sc, n, instructions);
    scan_take(sc, n, is_instruction && (is_first || n == 2) ? CLASS_KEYWORD : CLASS_TEXT);
}

syntax_state syntax_dockerfile(struct scan *sc, syntax_state state)
{
    scan_skip_blanks(sc);
    if (scan_peek(sc, 0) == '#') { // a comment does not end an instruction that continues
        scan_rest(sc, CLASS_COMMENT);
        return state;
    }
    bool is_first = !state;
    while (sc->at < sc->n) {
        char c = scan_peek(sc, 0), quote[2] = {c, '\0'};
        if (c == '"' || c == '\'') {
            scan_take(sc, 1, CLASS_STRING);
            scan_string(sc, quote, c == '"');
        } else if (c == '\\' && sc->at + 1 == sc->n) {
            scan_take(sc, 1, CLASS_ESCAPE);
            return 1;
        } else if (scan_is(sc, "--")) {
            size_t n = 2;
            while (scan_is_name(scan_peek(sc, n)) || scan_peek(sc, n) == '-')
                n++;
            scan_take(sc, n, CLASS_CONSTANT);
        } else if (scan_is_name(c)) {
            word(sc, is_first);
        } else if (!scan_variable(sc)) {
            scan_take(sc, 1, scan_is_blank(c) ? CLASS_TEXT : CLASS_OPERATOR);
        }
        is_first = false;
    }
    return 0;
}
