// SPDX-License-Identifier: MIT
// A list of everything that a person can do, with names for the palette and for tests, and with the
// help's text. Tables bind keys to actions (keymap.h); a view carries out those that it knows.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// X(symbol, name, help)
#define ACTIONS(X)                                                                                 \
    /* running */                                                                                  \
    X(RUN, "run", "run the cell")                                                                  \
    X(RUN_ADVANCE, "run-advance", "run the cell and go to the next")                               \
    X(RUN_INSERT, "run-insert", "run the cell and insert one below")                               \
    X(RUN_ALL, "run-all", "run all cells")                                                         \
    X(RUN_STALE, "run-stale", "run the cells that do not hold any more")                           \
    X(RUN_ABOVE, "run-above", "run the cells above")                                               \
    X(RUN_BELOW, "run-below", "run this cell and those below")                                     \
    X(RUN_SECTION, "run-section", "run the cells of the section")                                  \
    X(INTERRUPT, "interrupt", "interrupt the kernel")                                              \
    X(RESTART, "restart", "restart the kernel")                                                    \
    /* modes and moving among cells */                                                             \
    X(EDIT, "edit", "edit the cell")                                                               \
    X(COMMAND, "command", "leave the cell, to command mode")                                       \
    X(CELL_NEXT, "cell-next", "select the cell below")                                             \
    X(CELL_PREVIOUS, "cell-previous", "select the cell above")                                     \
    X(CELL_FIRST, "cell-first", "select the first cell")                                           \
    X(CELL_LAST, "cell-last", "select the last cell")                                              \
    X(GO_RUNNING, "go-running", "go to the cell that runs or asks, and follow what runs")          \
    X(GO_FAILED, "go-failed", "go to the next cell that failed")                                   \
    X(EXTEND_NEXT, "extend-next", "extend the selection down")                                     \
    X(EXTEND_PREVIOUS, "extend-previous", "extend the selection up")                               \
    X(EXTEND_FIRST, "extend-first", "extend the selection to the first cell")                      \
    X(EXTEND_LAST, "extend-last", "extend the selection to the last cell")                         \
    X(PAGE_UP, "page-up", "a screen up")                                                           \
    X(PAGE_DOWN, "page-down", "a screen down")                                                     \
    X(SCROLL_UP, "scroll-up", "scroll up")                                                         \
    X(SCROLL_DOWN, "scroll-down", "scroll down")                                                   \
    /* the notebook's structure */                                                                 \
    X(INSERT_ABOVE, "insert-above", "insert a cell above")                                         \
    X(INSERT_BELOW, "insert-below", "insert a cell below")                                         \
    X(CUT, "cut", "cut the selected cells")                                                        \
    X(COPY, "copy", "copy the selected cells")                                                     \
    X(PASTE_BELOW, "paste-below", "paste cells below")                                             \
    X(PASTE_ABOVE, "paste-above", "paste cells above")                                             \
    X(DELETE_CELL, "delete-cell", "delete the selected cells")                                     \
    X(UNDO_CELL, "undo-cell", "undo a change of cells")                                            \
    X(REDO_CELL, "redo-cell", "redo a change of cells")                                            \
    X(MOVE_UP, "move-up", "move the selected cells up")                                            \
    X(MOVE_DOWN, "move-down", "move the selected cells down")                                      \
    X(MERGE, "merge", "merge the selected cells, or with the one below")                           \
    X(SPLIT, "split", "split the cell at the cursor")                                              \
    X(TO_CODE, "to-code", "make it a code cell")                                                   \
    X(TO_MARKDOWN, "to-markdown", "make it a text cell")                                           \
    X(TO_RAW, "to-raw", "make it a raw cell")                                                      \
    X(HEADING_1, "heading-1", "make it a heading")                                                 \
    X(HEADING_2, "heading-2", "make it a heading of level 2")                                      \
    X(HEADING_3, "heading-3", "make it a heading of level 3")                                      \
    X(HEADING_4, "heading-4", "make it a heading of level 4")                                      \
    X(HEADING_5, "heading-5", "make it a heading of level 5")                                      \
    X(HEADING_6, "heading-6", "make it a heading of level 6")                                      \
    X(PROPERTIES, "properties", "title, kind, file, effects and tags of the cell")                 \
    X(FOLD_INPUT, "fold-input", "fold or unfold the input")                                        \
    X(FOLD_OUTPUT, "fold-output", "fold or unfold the output")                                     \
    X(CLEAR_OUTPUT, "clear-output", "clear the selected cells' output")                            \
    X(CLEAR_ALL, "clear-all", "clear all outputs")                                                 \
    X(LINE_NUMBERS, "line-numbers", "show or hide line numbers")                                   \
    /* finding one's way */                                                                        \
    X(OUTLINE, "outline", "headings and titles as a list, to go to one of them")                   \
    X(FOLD_SECTION, "fold-section", "fold or unfold the section, down to the next heading")        \
    X(FOLD_SECTIONS, "fold-sections", "fold all sections, or unfold them")                         \
    X(JUMP_BACK, "jump-back", "back to the cell where you were before")                            \
    X(JUMP_FORWARD, "jump-forward", "forward again, after going back")                             \
    X(SET_MARK, "set-mark", "give the cell a letter, by which you can go back to it")              \
    X(GO_MARK, "go-mark", "go to a cell that has a letter")                                        \
    X(GO_CHANGED, "go-changed", "go to the next cell that differs from git's HEAD")                \
    X(SOURCE, "source",                                                                            \
        "go to the cell's line that the line which was found names, else the last")                \
    X(DEFINITION, "definition", "go to where the name at the cursor is set")                       \
    X(PROBLEMS, "problems", "what is wrong in the cells, as a list")                               \
    X(PROBLEM_NEXT, "problem-next", "go to the next place where something is wrong")               \
    X(PROBLEM_PREVIOUS, "problem-previous", "go to the place before where something is wrong")     \
    X(PLACE_YES, "place-yes", "replace this place, and go to the next")                            \
    X(PLACE_NO, "place-no", "leave this place as it is, and go to the next")                       \
    X(PLACE_REST, "place-rest", "replace this place and all that follow")                          \
    X(PLACE_LAST, "place-last", "replace this place, and none of those that follow")               \
    /* editing text */                                                                             \
    X(INSERT_NEWLINE, "newline", "new line, indented as this one")                                 \
    X(INSERT_TAB, "tab", "complete, or indent")                                                    \
    X(INSPECT, "inspect", "documentation of the name at the cursor; else unindent")                \
    X(UNINDENT, "unindent", "unindent the lines, as Shift-Tab does where no name is")              \
    X(DELETE_BACK, "delete-back", "delete the character before")                                   \
    X(DELETE_FORWARD, "delete-forward", "delete the character after")                              \
    X(DELETE_WORD_BACK, "delete-word-back", "delete the word before")                              \
    X(DELETE_WORD_FORWARD, "delete-word-forward", "delete the word after")                         \
    X(KILL_LINE, "kill-line", "cut to the end of the line")                                        \
    X(KILL_LINE_BACK, "kill-line-back", "cut to the start of the line")                            \
    X(CUT_TEXT, "cut-text", "cut the selected text")                                               \
    X(COPY_TEXT, "copy-text", "copy the selected text")                                            \
    X(COPY_OR_INTERRUPT, "copy-or-interrupt",                                                      \
        "copy the selected text; without one interrupt the kernel, where another cell runs at "    \
        "the "                                                                                     \
        "second press")                                                                            \
    X(YANK, "yank", "insert what was cut last")                                                    \
    X(UNDO, "undo", "undo")                                                                        \
    X(REDO, "redo", "redo")                                                                        \
    X(SELECT_ALL, "select-all", "select all text of the cell")                                     \
    X(TOGGLE_COMMENT, "toggle-comment", "comment or uncomment the lines")                          \
    X(MARK, "mark", "start or drop a selection at the cursor")                                     \
    X(LEFT, "left", "a character left")                                                            \
    X(RIGHT, "right", "a character right")                                                         \
    X(UP, "up", "a line up, from the first to the cell above")                                     \
    X(DOWN, "down", "a line down, from the last to the cell below")                                \
    X(WORD_LEFT, "word-left", "a word left")                                                       \
    X(WORD_RIGHT, "word-right", "a word right")                                                    \
    X(LINE_START, "line-start", "to the start of the line")                                        \
    X(LINE_END, "line-end", "to the end of the line")                                              \
    X(TEXT_START, "text-start", "to the start of the cell")                                        \
    X(TEXT_END, "text-end", "to the end of the cell")                                              \
    X(SELECT_LEFT, "select-left", "select a character left")                                       \
    X(SELECT_RIGHT, "select-right", "select a character right")                                    \
    X(SELECT_UP, "select-up", "select a line up")                                                  \
    X(SELECT_DOWN, "select-down", "select a line down")                                            \
    X(SELECT_WORD_LEFT, "select-word-left", "select a word left")                                  \
    X(SELECT_WORD_RIGHT, "select-word-right", "select a word right")                               \
    X(SELECT_LINE_START, "select-line-start", "select to the start of the line")                   \
    X(SELECT_LINE_END, "select-line-end", "select to the end of the line")                         \
    /* the program */                                                                              \
    X(SAVE, "save", "save the notebook")                                                           \
    X(SAVE_AS, "save-as", "save under another name")                                               \
    X(OVERWRITE, "overwrite", "save over what is there")                                           \
    X(DIFFERENCE, "difference", "how the file differs from what is here")                          \
    X(RELOAD, "reload", "read the file again; what is unsaved is lost")                            \
    X(SEARCH, "search", "search")                                                                  \
    X(SEARCH_NEXT, "search-next", "next match")                                                    \
    X(SEARCH_PREVIOUS, "search-previous", "previous match")                                        \
    X(SEARCH_CLEAR, "search-clear", "hide what the search has marked")                             \
    X(EDITOR, "editor", "edit the cell in $EDITOR")                                                \
    X(OPEN_OUTPUT, "open-output", "the cell's output on the full screen")                          \
    X(PALETTE, "palette", "all actions by name")                                                   \
    X(HELP, "help", "keys that work here")                                                         \
    X(REDRAW, "redraw", "draw the screen anew")                                                    \
    X(CLIP, "clip", "to the terminal's clipboard: the cells' text, the row, the lines shown")      \
    X(CLIP_OUTPUT, "clip-output", "the cells' output to the terminal's clipboard")                 \
    X(MOUSE, "mouse", "leave the mouse to the terminal, for its selection, or take it")            \
    X(SUSPEND, "suspend", "suspend the program")                                                   \
    X(QUIT, "quit", "leave; what runs goes on")                                                    \
    X(ANSWER, "answer", "answer the open question")                                                \
    X(SAVE_QUIT, "save-quit", "save and leave")                                                    \
    X(DISCARD_QUIT, "discard-quit", "leave, and lose what is unsaved")                             \
    X(KEEP_QUIT, "keep-quit", "leave; what is unsaved stays in the kernel")                        \
    X(STOP, "stop", "stop the kernel and leave")                                                   \
    /* rows: tables, logs, lists */                                                                \
    X(BACK, "back", "go back; first from a filter")                                                \
    X(CLOSE, "close", "go back, also when a filter stands")                                        \
    X(ROW_NEXT, "row-next", "select the row below")                                                \
    X(ROW_PREVIOUS, "row-previous", "select the row above")                                        \
    X(ROW_FIRST, "row-first", "to the first row")                                                  \
    X(ROW_LAST, "row-last", "to the last row")                                                     \
    X(OPEN, "open", "open the selected row")                                                       \
    X(SHIFT_LEFT, "shift-left", "look further to the left")                                        \
    X(SHIFT_RIGHT, "shift-right", "look further to the right")                                     \
    X(FIELD_NEXT, "field-next", "complete, or go to the next field")                               \
    X(VIEW_NEXT, "view-next", "the cell's next output")                                            \
    X(VIEW_PREVIOUS, "view-previous", "the cell's previous output")                                \
    X(PART_NEXT, "part-next", "the next part of the help")                                         \
    X(PART_PREVIOUS, "part-previous", "the part of the help before")                               \
    X(FILTER, "filter", "show only the rows that match")                                           \
    X(SORT, "sort", "sort by the chosen column, or the next one")                                  \
    X(SORT_REVERSE, "sort-reverse", "sort the other way round")                                    \
    X(COLUMN_NEXT, "column-next", "choose the next column; the screen follows")                    \
    X(COLUMN_PREVIOUS, "column-previous", "choose the column before")                              \
    X(COLUMN_FIRST, "column-first", "choose the first column")                                     \
    X(COLUMN_LAST, "column-last", "choose the last column")                                        \
    X(COLUMN_LIST, "column-list", "all columns with what they hold; Enter chooses one")            \
    X(COLUMN_HIDE, "column-hide", "hide the chosen column")                                        \
    X(COLUMN_SHOW, "column-show", "show all columns again")                                        \
    X(COLUMN_FILTER, "column-filter", "filter by the chosen column: >20, ~^web, =''")              \
    X(FREQUENCY, "frequency", "how often each value of the chosen column is there")                \
    X(ROW_FORM, "row-form", "the row as a form, an entry on a line")                               \
    X(FORM_NEXT, "form-next", "the next row as a form")                                            \
    X(FORM_PREVIOUS, "form-previous", "the row before as a form")                                  \
    X(SAVE_CSV, "save-csv", "write the rows and columns that are shown to a CSV file")             \
    X(SICK_FIRST, "sick-first", "show what is wrong first, the worst on top")                      \
    X(MARK_ROW, "mark-row", "mark the row, or not: what changes objects is done to all marked")    \
    X(MARK_ALL, "mark-all", "mark all rows that are shown, or none")                               \
    X(ALL_NAMESPACES, "all-namespaces", "the rows of all namespaces, or of one; all variables")    \
    X(COPY_NAME, "copy-name", "the row's name to the terminal's clipboard")                        \
    X(TABLE_BACK, "table-back", "the table of the cluster that was looked at before")              \
    X(TABLE_FORWARD, "table-forward", "forward again, after going back")                           \
    X(DESCRIBE, "describe", "describe the object")                                                 \
    X(WHY, "why", "why the object does not go on: the cause, what shows it, the next step")        \
    X(LOGS, "logs", "the pod's log; the logs of all marked rows, merged by time")                  \
    X(YAML, "yaml", "the object as YAML")                                                          \
    X(TREE, "tree", "what it belongs to, and what belongs to it, as a live tree")                  \
    X(EDIT_OBJECT, "edit-object", "edit the object in $EDITOR, which asks; to a variable's cell")  \
    X(SHELL, "shell", "a shell in the pod, on the whole terminal, until it ends")                  \
    X(RESTART_OBJECT, "restart-object", "start its pods anew one after another, after a question") \
    X(DELETE_OBJECT, "delete-object", "delete the object, after a question")                       \
    X(FOLLOW, "follow", "follow the end of the log, or stop")                                      \
    X(WRAP, "wrap", "wrap long lines, or cut them")                                                \
    X(INSIDE, "inside", "containers of the pod; of a container: command, ports, env and volumes")  \
    X(HISTORY, "history", "revisions of the workload, each as a row to which it can go back")      \
    X(UNDO_ROLLOUT, "undo-rollout",                                                                \
        "back to the revision, or to the one before, after a question")                            \
    X(FORWARD, "forward", "forward ports of this machine to the pod or Service")                   \
    X(FORWARDS, "forwards", "the ports that are forwarded: to stop and open them")                 \
    X(DECODE, "decode", "the values of the Secret, after a question, on this screen alone")        \
    X(LOG_HEAD, "log-head", "the log from its beginning")                                          \
    X(LOG_TAIL, "log-tail", "the last 100 lines of the log, and what comes")                       \
    X(LOG_1M, "log-1m", "the log of the last minute")                                              \
    X(LOG_5M, "log-5m", "the log of the last 5 minutes")                                           \
    X(LOG_15M, "log-15m", "the log of the last 15 minutes")                                        \
    X(LOG_30M, "log-30m", "the log of the last 30 minutes")                                        \
    X(LOG_1H, "log-1h", "the log of the last hour")                                                \
    X(LOG_TIMES, "log-times", "when each line was written, or not")                                \
    X(LOG_PREVIOUS, "log-previous", "the log of the container before it was started again")        \
    X(SAVE_LINES, "save-lines", "write the lines that are shown to a file of the working folder")  \
    X(POINT_NEXT, "point-next", "read the values further to the right")                            \
    X(POINT_PREVIOUS, "point-previous", "read the values further to the left")                     \
    X(POINT_FIRST, "point-first", "read the first values")                                         \
    X(POINT_LAST, "point-last", "read the last values")                                            \
    X(ZOOM_IN, "zoom-in", "half of the width in all of it")                                        \
    X(ZOOM_OUT, "zoom-out", "twice as much in the width")                                          \
    X(LOG_SCALE, "log-scale", "logarithmic scale, or linear")                                      \
    X(METRIC, "metric", "the next curve alone, or all")                                            \
    X(RUNS, "runs", "the runs of this notebook")                                                   \
    X(ALL_RUNS, "all-runs", "the runs of all notebooks in this folder, or of this one")            \
    X(RUN_CHILDREN, "run-children", "show the run's trials and measurements below it, or not")     \
    X(REMOVE_RUN, "remove-run", "remove the run, after a question")                                \
    X(EXPORT_RUN, "export-run", "write the run as a page, RUN.html in its folder")                 \
    X(MARK_RUN, "mark-run", "mark a run to be compared, or not")                                   \
    X(COMPARE, "compare",                                                                          \
        "two runs side by side: the marked one and that at the cursor; of more marked a table")    \
    X(BEST, "best", "the best of the chosen metric: the smallest, the largest, or none")           \
    X(CHART, "chart", "metrics in a chart: of this run, of the marked ones, of a run's trials")    \
    X(CHOOSE_METRICS, "choose-metrics", "choose the metrics of the chart from a list")             \
    X(CHOOSE_RUNS, "choose-runs", "choose the runs and trials of the chart from a list")           \
    X(MARK_ONLY, "mark-only", "mark this row alone")                                               \
    X(ONE_CHART, "one-chart", "all chosen metrics in one chart, or each in its own")               \
    X(X_AXIS, "x-axis", "the x axis: step, epoch, time since it began, time of day")               \
    X(LOG_X, "log-x", "logarithmic x axis, or linear")                                             \
    X(SMOOTH_MORE, "smooth-more", "smooth the curves more")                                        \
    X(SMOOTH_LESS, "smooth-less", "smooth the curves less")                                        \
    X(OUTLIERS, "outliers", "the y range without outliers, or with all values")                    \
    X(BANDS, "bands", "repeats as their mean in a band: of the ends, of a deviation; or alone")    \
    X(RUNS_TABLE, "runs-table", "the chart's runs as a table of parameters and metrics")           \
    X(SAVE_PICTURE, "save-picture", "write the chart as a picture, SVG, to the working folder")    \
    X(EARLIER, "earlier", "back in time: before the output that came last")                        \
    X(LATER, "later", "on in time: to the next output")                                            \
    X(CELL_EARLIER, "cell-earlier", "back in time to where a cell began or ended")                 \
    X(CELL_LATER, "cell-later", "on in time to where a cell began or ended")                       \
    X(TIME_FIRST, "time-first", "to the beginning of the run")                                     \
    X(TIME_LAST, "time-last", "to the end of the run")                                             \
    X(PIN, "pin", "keep what is looked at as an output below the cell")                            \
    X(ACCEPT, "accept", "take what is typed or selected")                                          \
    X(YES, "yes", "yes, this once")                                                                \
    X(ALWAYS, "always", "yes, and always in this place")                                           \
    X(DENY, "deny", "no")

enum action {
    ACT_NONE,
#define X(symbol, name, help) ACT_##symbol,
    ACTIONS(X)
#undef X
        ACTION_COUNT,
};
const char *action_name(enum action a); // "" for ACT_NONE
const char *action_help(enum action a);
const char *action_group(enum action a); // the group in the help: "Running"
// Does it end, delete or overwrite something? Then a typed line must have its whole name.
bool action_ends(enum action a);
