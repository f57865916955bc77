# SPDX-License-Identifier: MIT
# Completion of kettle for fish: the program lists the completions of the word at the cursor.
function __kettle_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete $words "$word" 2>/dev/null)
        if test "$line" != ":files"
            echo -- $line
        else if string match -q -- '--*=*' "$word"
            set -l parts (string split -m 1 = -- "$word")
            string replace -r '^' -- "$parts[1]=" (__fish_complete_path "$parts[2]")
        else
            __fish_complete_path "$word"
        end
    end
end
complete -c kettle -f -k -a '(__kettle_complete)'
