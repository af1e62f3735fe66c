# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish: perf-poke-ctl knows what there is.
function __perf_poke_ctl
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] complete $words[2..] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $current
            case :folders
                __fish_complete_directories $current
            case '*'
                echo $line
        end
    end
end
complete -c perf-poke-ctl -f -a '(__perf_poke_ctl)'
