# SPDX-License-Identifier: GPL-2.0-only
# Completion for bash: perf-poke-ctl knows what there is.
_perf_poke_ctl() {
	local current=${COMP_WORDS[COMP_CWORD]} words=() word line

	# --option=value is three words here.
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $word == = ]] || words+=("$word")
	done
	[[ $current != = ]] || current=
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files | :folders)
			compopt -o filenames 2>/dev/null
			word=-f
			[[ $line == :files ]] || word=-d
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$word" -- "$current")
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${COMP_WORDS[0]}" complete "${words[@]}" "$current" 2>/dev/null)
}
complete -F _perf_poke_ctl perf-poke-ctl
