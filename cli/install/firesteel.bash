# SPDX-License-Identifier: MIT
# Completion for bash. Verbs and options come from the program's own help, runs from the journals.
_firesteel() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(firesteel --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')" -- "$word")
        return
    fi
    if [[ $before == --resume || $before == --from || ( $word != -* && $verb =~ ^(show|diff|lineage|export|clean|wait)$ && ! $before =~ ^(-o|--output|--to)$ ) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(firesteel runs 2>/dev/null | sed '1d; s/ .*//')" -- "$word")
    elif [[ ( $verb == stop || $verb == attach || $verb == vars ) && $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(firesteel ls 2>/dev/null | sed '1d; s/ .*//')" -- "$word")
    elif [[ $before == --allow ]]; then
        mapfile -t COMPREPLY < <(compgen -W "cluster destructive cluster,destructive" -- "$word")
    elif [[ $before == --to && $verb == convert ]]; then
        mapfile -t COMPREPLY < <(compgen -W "lua ipynb py md html" -- "$word")
    elif [[ $before == --to ]]; then
        mapfile -t COMPREPLY < <(compgen -W "ipynb md html junit json mlflow" -- "$word")
    elif [[ $verb == doctor && ( $before == -o || $before == --output || $before == --format ) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "plain json" -- "$word")
    elif [[ $verb == run && ( $before == -o || $before == --output ) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "plain json junit" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(firesteel "$verb" --help | grep -o -- '--[a-z-]*')" -- "$word")
    elif [[ $verb == sandbox ]]; then
        mapfile -t COMPREPLY < <(compgen -W "up down status" -- "$word")
    elif [[ $verb == kernelspec ]]; then
        mapfile -t COMPREPLY < <(compgen -W "install list remove" -- "$word")
    else
        compopt -o default
    fi
}
complete -F _firesteel firesteel
