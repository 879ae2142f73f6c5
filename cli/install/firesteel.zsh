#compdef firesteel
# SPDX-License-Identifier: MIT
# Completion for zsh. Verbs and options come from the program's own help, runs from the journals.
_firesteel() {
    local verb=${words[2]} before=${words[CURRENT-1]}
    local -a found
    if (( CURRENT == 2 )); then
        found=(${(f)"$(firesteel --help | sed -n 's/^  \([a-z][a-z-]*\)  *\(.*\)/\1:\2/p')"})
        _describe -t verbs verb found
        _files
    elif [[ $before == --resume || $before == --from ]] ||
         [[ ${words[CURRENT]} != -* && $verb == (show|diff|lineage|export|clean|wait) && $before != (-o|--output|--to) ]]; then
        found=(${(f)"$(firesteel runs 2>/dev/null | sed -n '1d; s/^\([^ ]*\) *\([^ ]*\).*/\1:\2/p')"})
        _describe -t runs run found
    elif [[ $verb == (stop|attach|vars) && ${words[CURRENT]} != -* ]]; then
        found=(${(f)"$(firesteel ls 2>/dev/null | sed '1d; s/ .*//')"})
        _describe -t kernels kernel found
    elif [[ $before == --allow ]]; then
        compadd cluster destructive cluster,destructive
    elif [[ $before == --to && $verb == convert ]]; then
        compadd lua ipynb py md html
    elif [[ $before == --to ]]; then
        compadd ipynb md html junit json mlflow
    elif [[ $verb == run && $before == (-o|--output) ]]; then
        compadd plain json junit
    elif [[ ${words[CURRENT]} == -* ]]; then
        found=(${(f)"$(firesteel $verb --help 2>/dev/null |
            sed -n 's/^  \(-[a-zA-Z],\|   \) \(--[a-z-]*\)\([[ ][^ ][^ ]*\)\{0,1\}  *\(.*\)/\2:\4/p')"})
        _describe -t options option found
    elif [[ $verb == sandbox ]]; then
        compadd up down status
    elif [[ $verb == kernelspec ]]; then
        compadd install list remove
    else
        _files
    fi
}
_firesteel "$@"
