#compdef kettle
# SPDX-License-Identifier: MIT
# Completion of kettle for zsh: the program lists the completions of the word at the cursor.
_kettle()
{
	local word about files=
	local -a given values
	given=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
	while IFS=$'\t' read -r word about; do
		if [[ $word == ":files" ]]; then
			files=yes
		else
			values+=("${word//:/\\:}${about:+:$about}")
		fi
	done < <("${(Q)words[1]/#\~\//$HOME/}" __complete "${given[@]}" 2>/dev/null)
	(( ! $#values )) || _describe -V kettle values
	[[ -z $files ]] || { compset -P '--*='; _files }
}
if [[ ${funcstack[1]} == _kettle ]]; then
	_kettle "$@"
else
	compdef _kettle kettle
fi
