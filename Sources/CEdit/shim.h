#ifndef SHEAF_EDIT_SHIM_H
#define SHEAF_EDIT_SHIM_H
#include <histedit.h>
#include <stdio.h>

// Swift cannot call functions with variable arguments: each function here is one form of el_set,
// el_get or history.

typedef unsigned char (*sheaf_edit_function)(EditLine *, int);

// Creates an editor of standard input that writes to `output`.
static inline EditLine *sheaf_edit_create(const char *program, FILE *output) {
    return el_init(program, stdin, output, stderr);
}
static inline int sheaf_edit_set_number(EditLine *editor, int option, int value) {
    return el_set(editor, option, value);
}
static inline int sheaf_edit_set_text(EditLine *editor, int option, const char *value) {
    return el_set(editor, option, value);
}
static inline int sheaf_edit_set_owner(EditLine *editor, void *owner) {
    return el_set(editor, EL_CLIENTDATA, owner);
}
static inline void *sheaf_edit_owner(EditLine *editor) {
    void *owner = NULL;
    return el_get(editor, EL_CLIENTDATA, &owner) == 0 ? owner : NULL;
}
static inline int sheaf_edit_set_prompt(EditLine *editor, char *(*prompt)(EditLine *)) {
    return el_set(editor, EL_PROMPT, prompt);
}
static inline int sheaf_edit_set_reader(EditLine *editor, el_rfunc_t reader) {
    return el_set(editor, EL_GETCFN, reader);
}
static inline int sheaf_edit_add_function(
    EditLine *editor, const char *name, const char *help, sheaf_edit_function function) {
    return el_set(editor, EL_ADDFN, name, help, function);
}
static inline int sheaf_edit_bind(EditLine *editor, const char *key, const char *function) {
    return el_set(editor, EL_BIND, key, function, NULL);
}
// Changes a setting of the terminal, such as -isig, while a line is edited.
static inline int sheaf_edit_set_terminal(EditLine *editor, const char *setting) {
    return el_set(editor, EL_SETTY, "-d", setting, NULL);
}
static inline int sheaf_edit_refresh(EditLine *editor) { return el_set(editor, EL_REFRESH); }
static inline int sheaf_edit_set_history(EditLine *editor, History *list) {
    return el_set(editor, EL_HIST, history, list);
}

static inline int sheaf_history_set_number(History *list, int option, int value) {
    HistEvent event;
    return history(list, &event, option, value);
}
static inline int sheaf_history_set_text(History *list, int option, const char *text) {
    HistEvent event;
    return history(list, &event, option, text);
}
static inline int sheaf_history_save(History *list, FILE *file) {
    HistEvent event;
    return history(list, &event, H_SAVE_FP, file);
}
static inline int sheaf_history_count(History *list) {
    HistEvent event;
    return history(list, &event, H_GETSIZE) < 0 ? 0 : event.num;
}
#endif
