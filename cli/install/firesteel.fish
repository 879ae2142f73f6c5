# SPDX-License-Identifier: MIT
# Completion for fish. Verbs and options come from the program's own help, runs from the journals.
function __firesteel_verb
    set -l words (commandline -opc)
    test (count $words) -ge 2; and echo $words[2]
end

function __firesteel_verbs
    firesteel --help | string replace -rf '^  ([a-z][a-z-]*) +(.*)' '$1\t$2'
end

# Those of the verb: "--name<tab>what it does".
function __firesteel_options
    firesteel (__firesteel_verb) --help 2>/dev/null |
        string replace -rf '^  (?:-[a-zA-Z],|   ) (--[a-z-]+)(?:\[=[^ ]+| [^ ]+)? +(.*)' '$1\t$2'
end

function __firesteel_runs
    firesteel runs 2>/dev/null | string replace -rf '^(\S+-\d{8}-\d{6}-\w{4}) +(\S+).*' '$1\t$2'
end

function __firesteel_kernels
    firesteel ls 2>/dev/null | tail -n +2 | string replace -r ' .*' ''
end

function __firesteel_is
    contains -- (__firesteel_verb) $argv
end

# Is the word before the one that is typed one of these options?
function __firesteel_after
    set -l words (commandline -opc)
    contains -- $words[-1] $argv
end

complete -c firesteel -n '__fish_is_first_arg' -a '(__firesteel_verbs)'
complete -c firesteel -n 'string match -q -- "-*" (commandline -ct)' -a '(__firesteel_options)'
complete -c firesteel -f -n '__firesteel_is show diff lineage export clean wait; and not __firesteel_after -o --output --to' -a '(__firesteel_runs)'
complete -c firesteel -f -n '__firesteel_after --resume --from' -a '(__firesteel_runs)'
complete -c firesteel -f -n '__firesteel_is stop attach vars' -a '(__firesteel_kernels)'
complete -c firesteel -f -n '__firesteel_is sandbox' -a 'up down status'
complete -c firesteel -f -n '__firesteel_is kernelspec' -a 'install list remove'
complete -c firesteel -f -n '__firesteel_after --allow' -a 'cluster destructive cluster,destructive'
complete -c firesteel -f -n '__firesteel_is convert; and __firesteel_after --to' -a 'lua ipynb py md html'
complete -c firesteel -f -n '__firesteel_is export; and __firesteel_after --to' -a 'ipynb md html junit json mlflow'
complete -c firesteel -f -n '__firesteel_is run; and __firesteel_after -o --output' -a 'plain json junit'
