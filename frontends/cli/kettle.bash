# SPDX-License-Identifier: MIT
# Completion of kettle for bash: the program lists the completions of the word at the cursor.
_kettle()
{
	local word about lead='' glued='' files='' index
	local -a words=()
	COMPREPLY=()
	# bash splits --mode=test into three words.
	for ((index = 1; index <= COMP_CWORD; index++)); do
		word=${COMP_WORDS[index]}
		if [[ $word == "=" && ${#words[@]} -gt 0 && ${words[${#words[@]} - 1]} == --* ]]; then
			words[${#words[@]} - 1]+="="
			glued=yes
		elif [[ $glued ]]; then
			words[${#words[@]} - 1]+=$word
			glued=
		else
			words+=("$word")
		fi
	done
	word=${words[${#words[@]} - 1]}
	if [[ $word == --*=* && ${COMP_WORDS[COMP_CWORD]} != --* ]]; then
		lead=${word%%=*}=
	fi
	while IFS=$'\t' read -r word about; do
		if [[ $word == ":files" ]]; then
			files=yes
		else
			COMPREPLY+=("${word#"$lead"}")
		fi
	done < <("${COMP_WORDS[0]/#\~\//$HOME/}" __complete "${words[@]}" 2>/dev/null)
	if [[ $files ]]; then
		word=${words[${#words[@]} - 1]}
		compopt -o filenames 2>/dev/null
		while IFS= read -r about; do
			COMPREPLY+=("$about")
		done < <(compgen -f -- "${word#"$lead"}")
	fi
}
complete -o nosort -F _kettle kettle 2>/dev/null || complete -F _kettle kettle
