# SPDX-License-Identifier: MIT
# bash completion for kettle: the words come from the program's own command table.
_kettle()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
	local -a words=()
	local index
	COMPREPLY=()
	# The words so far, without the options before the command and their values.
	for ((index = 1; index < COMP_CWORD; index++)); do
		case ${COMP_WORDS[index]} in
		--config | --db | --user | --log-format | --log-level) ((index++)) ;;
		-*) ;;
		help) [ ${#words[@]} -eq 0 ] || words+=("${COMP_WORDS[index]}") ;;
		*) words+=("${COMP_WORDS[index]}") ;;
		esac
	done
	case $before in
	--config | --db | --task | --output | -o)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	--mode)
		mapfile -t COMPREPLY < <(compgen -W "test benchmark profile ranked" -- "$word")
		return
		;;
	--leaderboard | --device | --user | --limit | --offset | --deadline | --lang | --description | --per-hour | --count | --after)
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$("$program" help --words "${words[@]}" 2>/dev/null)" -- "$word")
	if [[ $word != -* && ${#COMPREPLY[@]} -eq 0 ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}
complete -o filenames -F _kettle kettle
